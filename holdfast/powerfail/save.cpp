#include <holdfast/powerfail/save.hpp>

#include <holdfast/base/assertion.hpp>
#include <holdfast/format/log_record.hpp>
#include <holdfast/persist/seam.hpp>
#include <holdfast/powerfail/planted.hpp>
#include <holdfast/powerfail/sites.hpp>

#include <cstdint>
#include <cstring>

namespace holdfast::powerfail {
namespace {

namespace site = persist::site;
using format::superblock;

/// nullptr: none.
const superblock* seal_that_counts(const format::shadow_header& shadow) noexcept {
    const std::uint64_t which = __atomic_load_n(&shadow.sealed, __ATOMIC_ACQUIRE);
    if (which == 0) return nullptr;
    return &shadow.seals[(which - 1) ^ (is_planted(planted::seal_of_before) ? 1 : 0)];
}

bool was_begun(const std::byte* segment) noexcept {
    const auto* const words = reinterpret_cast<const std::uint64_t*>(segment);
    for (std::size_t i = 0; i < format::segment_header_bytes / sizeof *words; ++i)
        if (words[i] != 0) return true;
    return false;
}

void save_homes(const format::shadow_header& shadow, std::byte* pool, std::uint64_t bytes,
                const persist::line_path& lines) {
    const std::uint64_t log_end = shadow.log_offset + shadow.log_bytes;
    if (!is_planted(planted::saved_log_not_written_back))
        persist::write_back(lines, pool, log_end, site::save_log);
    if (!is_planted(planted::homes_not_saved))
        persist::write_back(lines, pool + log_end, bytes - log_end, site::save_homes);
}

std::byte* place_of(const superblock& seal, std::byte* pool) noexcept {
    return pool + format::superblock_offset[seal.generation % 2];
}

/// Of the other copy.
[[maybe_unused]] std::uint64_t generation_beside(const superblock& seal, const std::byte* pool) noexcept {
    superblock other;
    std::memcpy(&other, pool + format::superblock_offset[(seal.generation + 1) % 2], sizeof other);
    return other.generation;
}

void write_seal(format::shadow_header& shadow, const superblock& seal, std::byte* pool,
                const persist::line_path& lines) {
    std::byte* const place = place_of(seal, pool);
    HOLDFAST_ASSERT(generation_beside(seal, pool) + 1 == seal.generation,
                    "a seal leaves the superblock that it follows");
    persist::copy(&shadow.replaced, place, sizeof shadow.replaced, site::shadow);
    persist::copy(place, &seal, sizeof seal, site::save_seal);
    persist::write_back(lines, place, sizeof seal, site::save_seal);
    persist::fence(lines, site::save_seal_fence);
}

}  // namespace

void copy_log(const format::shadow_header& shadow, std::byte* pool) {
    const std::byte* const from = reinterpret_cast<const std::byte*>(&shadow) + format::shadow_log_offset;
    std::byte* const to = pool + shadow.log_offset;
    persist::copy(to, from, format::log_header_bytes, site::save_log);
    for (std::uint64_t at = format::log_header_bytes; at + shadow.segment_bytes <= shadow.log_bytes;
         at += shadow.segment_bytes)
        if (was_begun(from + at)) persist::copy(to + at, from + at, shadow.segment_bytes, site::save_log);
}

void save(format::shadow_header& shadow, std::byte* pool, const persist::line_path& lines, save_times* times) {
    const auto now = [] { return std::chrono::steady_clock::now(); };
    const superblock* const seal = seal_that_counts(shadow);        // 1
    if (seal == nullptr) return;
    if (is_planted(planted::sealed_before_saved)) write_seal(shadow, *seal, pool, lines);
    if (!is_planted(planted::log_not_saved)) copy_log(shadow, pool);  // 2
    if (times != nullptr) times->log_copied = now();
    save_homes(shadow, pool, seal->pool_bytes, lines);                // 3
    persist::fence(lines, site::save_fence);
    if (times != nullptr) times->written_back = now();
    write_seal(shadow, *seal, pool, lines);                           // 4
    if (times != nullptr) times->sealed = now();
}

void resume(format::shadow_header& shadow, std::byte* pool, const persist::line_path& lines) {
    const superblock* const seal = seal_that_counts(shadow);
    if (seal == nullptr || is_planted(planted::seal_not_taken_back)) return;
    std::byte* const place = place_of(*seal, pool);
    constexpr std::size_t magic_bytes = sizeof seal->magic;
    constexpr char no_magic[magic_bytes] = {};
    persist::copy(place, no_magic, magic_bytes, site::resume);  // 1
    persist::write_back(lines, place, magic_bytes, site::resume);
    persist::fence(lines, site::resume_fence);
    persist::copy(place + magic_bytes, reinterpret_cast<const std::byte*>(&shadow.replaced) + magic_bytes,
                  sizeof shadow.replaced - magic_bytes, site::resume);  // 2
    persist::write_back(lines, place, sizeof shadow.replaced, site::resume);
    persist::fence(lines, site::resume_fence);
    persist::copy(place, shadow.replaced.magic, magic_bytes, site::resume);
    persist::write_back(lines, place, magic_bytes, site::resume);
    persist::fence(lines, site::resume_fence);
}

}  // namespace holdfast::powerfail
