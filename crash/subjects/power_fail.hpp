// What a subject needs whose pool is at `on_power_fail`: a handler that is always armed, and its save, recorded. The
// log in memory is mapped behind the pool, and counts as the last part of an image.
#pragma once

#include <crash/record/seam_recorder.hpp>
#include <crash/subjects/recorded_file.hpp>
#include <crash/subjects/subject.hpp>

#include <holdfast/persist/file.hpp>
#include <holdfast/pool/superblock.hpp>
#include <holdfast/powerfail/handler.hpp>
#include <holdfast/powerfail/save.hpp>
#include <holdfast/powerfail/shadow_log.hpp>

#include <algorithm>
#include <cstddef>
#include <cstdint>
#include <cstring>
#include <string>
#include <utility>
#include <vector>

namespace holdfast::crash {

class armed_for_all final : public powerfail::handler {
public:
    bool arm(powerfail::charge&) override { return true; }
    void disarm(powerfail::charge&) noexcept override {}
};

/// From here on the pools of this process are armed, or none.
inline void arm_pools(bool all) {
    static armed_for_all handler;
    powerfail::use_handler(all ? &handler : nullptr);
}

/// What the log in memory adds to an image.
inline std::size_t shadow_bytes(const open_pool& pool) {
    return powerfail::shadow_log::bytes_for(pool.info().log_bytes);
}

/// The power fails while the image is what all see: what the handler does. Its end is an operation's. The log in memory
/// lies behind `most_bytes` of the image.
inline trace record_save(const std::string& path, std::byte* base, std::size_t most_bytes, const lazy_memory& image) {
    auto file = persist::file::open(path, persist::file::access::read_write).value();
    const auto mapped = persist::mapping::map(file, reinterpret_cast<std::uintptr_t>(base), most_bytes,
                                              std::min<std::uint64_t>(file.size().value(), most_bytes),
                                              persist::mapping::kind::shared).value();
    std::vector<std::uint64_t> shadow((image.bytes().size() - most_bytes) / sizeof(std::uint64_t));
    std::memcpy(shadow.data(), image.bytes().data() + most_bytes, shadow.size() * sizeof(std::uint64_t));
    seam_recorder seen(base, image.bytes());
    seen.operation_begins(thread_afterwards);
    powerfail::save(*reinterpret_cast<format::shadow_header*>(shadow.data()), base, {});
    seen.operation_done(thread_afterwards);
    return std::move(seen.recorded());
}

/// The machine went down: its memory is empty.
inline void forget_shadow_of(const std::string& path) {
    const auto file = persist::file::open(path, persist::file::access::read_only);
    if (!file) return;
    if (const auto block = read_superblock(*file)) powerfail::shadow_log::remove(*block);
}

}  // namespace holdfast::crash
