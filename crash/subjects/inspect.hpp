// What all subjects share: the pool that is recorded, and a look at what a recovery left.
#pragma once

#include <crash/cut/lazy_memory.hpp>
#include <crash/cut/model.hpp>
#include <crash/subjects/subject.hpp>

#include <holdfast/format/superblock.hpp>
#include <holdfast/handle/roots.hpp>
#include <holdfast/heap/heap.hpp>
#include <holdfast/heap/zone.hpp>
#include <holdfast/pool/open_pool.hpp>
#include <holdfast/pool/options.hpp>
#include <holdfast/pool/stand_ins.hpp>

#include <cstddef>
#include <cstdint>
#include <optional>
#include <span>
#include <string>
#include <string_view>
#include <vector>

#include <unistd.h>

namespace holdfast::crash {

inline constexpr std::uint64_t explored_base = std::uint64_t{0x3000} << 32;
inline constexpr std::size_t explored_bytes = 256 << 10;
inline constexpr std::size_t explored_log_bytes = 64 << 10;
inline constexpr std::string_view explored_root = "explored";

/// Where a recorded pool stands for a moment; nothing is there.
inline std::string recorded_path() {
    const std::string path = "/dev/shm/holdfast-crash-" + std::to_string(::getpid());
    ::unlink(path.c_str());
    return path;
}

/// A small pool at the level and on the medium that the model stands for.
inline create_options recorded_pool_options(const model& how) {
    // A mark of the file that is recorded into would make every recording another image.
    stand_ins_now.file_mark = 1;
    stand_ins_now.medium_distance = medium_distance;
    stand_ins_now.pace_share = 0;
    create_options options;
    options.durability = how.is_saved                              ? level::on_power_fail
                         : how.is_file || !how.streams_are_durable ? level::power
                                                                   : level::process;
    options.tmpfs_is_nvram = !how.is_file;
    options.where.tmpfs_is_file = how.is_file;
    options.bytes = explored_bytes;
    options.log_bytes = explored_log_bytes;
    options.reserved_bytes = explored_bytes;
    options.base = explored_base;
    // In a workload of three wraps nothing else would be trimmed.
    options.wraps.trim_batch = 1;
    options.wraps.lines_kept = 0;
    // One wrap or a few fill a table; larger ones are retired alone. The thread that fills a table retires it, in turn.
    options.wraps.alias_words = 16;
    options.wraps.retires_in_background = false;
    // A step after each commit, by its thread.
    options.pace = {.percent = 0, .write_back = retiring::cooperative};
    return options;
}

/// The explored root's object, nullptr where there is none yet.
inline std::byte* object_of(const open_pool& pool, const std::vector<root_listing>& roots) {
    for (const root_listing& each : roots)
        if (each.name == explored_root) return pool.base() + each.offset;
    return nullptr;
}

/// The pool's bytes, and which of them are its own or in an allocated block.
inline recovered_pool recovered_of(std::span<const std::byte> pool, const std::vector<heap_zone>& zones) {
    recovered_pool made{{pool.begin(), pool.end()}, {}};
    struct visitor {
        recovered_pool& made;
        void block(std::uint64_t offset, std::uint64_t bytes) { made.owned.push_back({offset, offset + bytes}); }
        void slab(std::uint64_t) {}
        void large(std::uint64_t) {}
        void free(std::uint64_t) {}
        void bad(std::uint64_t, const char*) {}
    } owned{made};
    made.owned.push_back({format::roots_offset, format::log_offset});
    for (const heap_zone& zone : zones) {
        const auto header = heap_format::header_for(zone.offset, zone.bytes);
        made.owned.push_back({zone.offset, header.data_offset});
        detail::zone_walk(pool.data(), zone, owned).run();
    }
    return made;
}

/// Every block that is owned is there, and, with `says_owners`, each has an owner. Returns what is wrong.
inline std::optional<std::string> wrong_in_heap(const open_pool& pool, const std::vector<const void*>& owned,
                                                bool says_owners) {
    const heap_audit found = heap::audit(pool.base(), pool.zones(), owned, says_owners);
    if (found.clean()) return {};
    return found.problems.empty() ? "the heap's audit is not clean" : found.problems.front();
}

/// The same of roots, and of a container that owns the rest.
template <class Container>
std::optional<std::string> audit_heap(const open_pool& pool, const std::vector<root_listing>& roots,
                                      const Container& container) {
    std::vector<const void*> owned;
    for (const root_listing& each : roots) owned.push_back(pool.base() + each.offset);
    container.visit_blocks([&](const void* block) { owned.push_back(block); });
    return wrong_in_heap(pool, owned, true);
}

}  // namespace holdfast::crash
