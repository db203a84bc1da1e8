#include <holdfast/powerfail/shadow_log.hpp>

#include <holdfast/format/log_record.hpp>
#include <holdfast/persist/seam.hpp>
#include <holdfast/powerfail/sites.hpp>

#include <cctype>
#include <cinttypes>
#include <cstdio>
#include <cstring>
#include <utility>

namespace holdfast::powerfail {
namespace {

namespace site = persist::site;
using format::shadow_header;
using format::superblock;

std::string name_for(const superblock& of) {
    char text[64];
    std::snprintf(text, sizeof text, "holdfast-%016" PRIx64 "-%08" PRIx32 "-", of.pool_id, of.file_mark);
    std::string name(text);
    for (const char each : of.boot_id)
        if (std::isalnum(static_cast<unsigned char>(each)) != 0) name.push_back(each);
    return name;
}

shadow_header header_for(const superblock& of) noexcept {
    shadow_header made{};
    std::memcpy(made.magic, format::shadow_magic, sizeof made.magic);
    made.version = format::shadow_version;
    made.pool_id = of.pool_id;
    made.file_mark = of.file_mark;
    made.log_offset = of.log_offset;
    made.log_bytes = of.log_bytes;
    made.segment_bytes = of.segment_bytes;
    return made;
}

bool is_of(const void* log, std::uint64_t bytes, const superblock& pool) noexcept {
    const shadow_header expected = header_for(pool);
    if (bytes < shadow_log::bytes_for(pool.log_bytes)) return false;
    const auto& found = *static_cast<const shadow_header*>(log);
    return std::memcmp(&found, &expected, offsetof(shadow_header, sealed)) == 0 && found.sealed <= 2;
}

}  // namespace

result<shadow_log> shadow_log::create(const superblock& of, const std::byte* pool, format::armed_life life,
                                      std::uintptr_t at) {
    if (of.file_mark == 0)
        return error{.code = errc::level_unavailable, .what = "the pool's file cannot be told from its copies"};
    auto memory = persist::named_memory::create(name_for(of), at, bytes_for(of.log_bytes));
    if (!memory) return std::move(memory).give_error();
    const shadow_header header = header_for(of);
    persist::copy(memory->data() + format::shadow_log_offset, pool + of.log_offset, format::log_header_bytes,
                  site::shadow);
    persist::copy(memory->data() + format::shadow_log_offset + format::armed_life_offset, &life, sizeof life,
                  site::shadow);
    persist::copy(memory->data(), &header, sizeof header, site::shadow);
    return shadow_log(std::move(*memory));
}

format::armed_life shadow_log::life() const noexcept {
    format::armed_life life;
    std::memcpy(&life, first_ + format::shadow_log_offset + format::armed_life_offset, sizeof life);
    return life;
}

result<shadow_log> shadow_log::find(const superblock& of) {
    auto memory = persist::named_memory::open(name_for(of));
    if (!memory) return std::move(memory).give_error();
    if (!is_of(memory->data(), memory->size(), of))
        return error{.code = errc::not_found, .what = "the named memory is not the log of this pool"};
    return shadow_log(std::move(*memory));
}

result<shadow_log> shadow_log::find_saved(const superblock& of, const save_name& name) {
    auto module = kernel_module::open();
    if (!module) return std::move(module).give_error();
    auto saved = module->saved(name);
    if (!saved) return std::move(saved).give_error();
    shadow_log found(std::move(*saved));
    const std::uint64_t bytes = found.saved_.size() * sizeof(kernel_module::line);
    const auto refuse = [](const char* why) { return error{.code = errc::not_found, .what = why}; };
    if (!is_of(found.first_, bytes, of)) return refuse("the save does not belong to this pool");
    const shadow_header& header = found.header();
    if (header.sealed == 0) return refuse("the save belongs to a session that left nothing to save");
    // A later life of the same boot has written superblocks of its own, which no seal of before follows.
    if (header.seals[header.sealed - 1].generation < of.generation)
        return refuse("the save belongs to an earlier session");
    return found;
}

void shadow_log::remove(const superblock& of) noexcept {
    try {
        persist::named_memory::remove(name_for(of));
    } catch (...) {
        // Without memory for the name it stays, and no opening believes it.
        return;
    }
}

void shadow_log::remove(const superblock& of, const format::armed_life& life) noexcept {
    try {
        const auto log = find(of);
        if (log && !is_same(log->life(), life)) return;
    } catch (...) {
        // Without memory nobody knows whose it is.
        return;
    }
    remove(of);
}

void shadow_log::publish(const superblock& seal) {
    shadow_header& shadow = header();
    const std::uint64_t next = shadow.sealed == 1 ? 2 : 1;
    persist::copy(&shadow.seals[next - 1], &seal, sizeof seal, site::shadow);
    // A handler looks at any moment: whole before it counts.
    persist::order_for_kill();
    persist::store_word(&shadow.sealed, next, 0xFF, site::shadow);
}

void shadow_log::withdraw() { persist::store_word(&header().sealed, 0, 0xFF, site::shadow); }

}  // namespace holdfast::powerfail
