#include <holdfast/pool/superblock.hpp>

#include <holdfast/base/assertion.hpp>
#include <holdfast/base/checksum.hpp>
#include <holdfast/heap/heap.hpp>
#include <holdfast/pool/boot.hpp>
#include <holdfast/pool/options.hpp>
#include <holdfast/pool/planted.hpp>
#include <holdfast/pool/sites.hpp>
#include <holdfast/pool/stand_ins.hpp>
#include <holdfast/powerfail/shadow_log.hpp>

#include <array>
#include <cstring>
#include <string>

namespace holdfast {
namespace {

using format::superblock;

std::uint32_t checksum_of(const superblock& block) noexcept {
    return ~crc32c(&block, offsetof(superblock, checksum), ~0u);
}

error at_copy(const persist::file& from, unsigned copy, errc code, std::string what) {
    return error{.code = code, .what = std::move(what), .path = from.path(), .offset = format::superblock_offset[copy]};
}

/// Everything that must hold before a byte of the block is believed.
result<void> check_identity(const persist::file& from, unsigned copy, const superblock& block) {
    if (std::memcmp(block.magic, format::magic, sizeof block.magic) != 0) {
        error reason = at_copy(from, copy, errc::not_a_pool, "the file is not a Holdfast pool");
        reason.expected = "magic \"HOLDFAST\"";
        reason.found = "other bytes";
        return reason;
    }
    // Before the checksum: another major version may keep it elsewhere.
    if (block.version_major != format::version_major) {
        error reason =
            at_copy(from, copy, errc::version_unsupported, "the pool's format is not one this library knows");
        reason.expected = "format " + std::to_string(format::version_major) + ".x";
        reason.found = std::to_string(block.version_major) + "." + std::to_string(block.version_minor);
        return reason;
    }
    if (block.superblock_bytes != sizeof(superblock) || block.checksum != checksum_of(block)) {
        error reason = at_copy(from, copy, errc::corrupt, "superblock copy fails its checksum");
        reason.expected = std::to_string(checksum_of(block));
        reason.found = std::to_string(block.checksum);
        return reason;
    }
    if ((block.required_features & ~format::known_required_features) != 0) {
        error reason = at_copy(from, copy, errc::feature_unsupported, "the pool needs features this library lacks");
        reason.expected = "feature bits within " + std::to_string(format::known_required_features);
        reason.found = std::to_string(block.required_features);
        return reason;
    }
    return {};
}

bool ranges_hold(const superblock& block) {
    const std::uint64_t bytes = block.pool_bytes;
    if (bytes < format::smallest_pool_bytes || bytes % format::page_bytes != 0 || bytes > format::offset_mask)
        return false;
    if (block.reserved_bytes < bytes || block.base == 0 || block.base % format::page_bytes != 0 ||
        block.base + block.reserved_bytes < block.base)
        return false;
    if (block.log_offset != format::log_offset || !log_of(block).valid(bytes)) return false;
    if (block.zone_count == 0 || block.zone_count > format::zone_limit) return false;
    std::uint64_t at = block.log_offset + block.log_bytes;
    for (std::uint32_t i = 0; i < block.zone_count; ++i) {
        const auto& zone = block.zones[i];
        if (zone.offset < at || zone.offset % format::page_bytes != 0 || zone.bytes % format::page_bytes != 0 ||
            zone.offset > bytes || zone.bytes > bytes - zone.offset)
            return false;
        // Nor one in which no heap could ever have been.
        if (!heap::zone_header({zone.offset, zone.bytes})) return false;
        at = zone.offset + zone.bytes;
    }
    return block.state == format::pool_state::clean || block.state == format::pool_state::dirty ||
           block.state == format::pool_state::saved;
}

/// Whether the copy was read, and is not what it should be.
bool is_about_contents(const error& reason) noexcept {
    return reason.code == errc::not_a_pool || reason.code == errc::version_unsupported ||
           reason.code == errc::feature_unsupported || reason.code == errc::corrupt ||
           reason.code == errc::truncated;
}

}  // namespace

result<superblock> read_superblock_copy(const persist::file& from, unsigned copy) {
    superblock block;
    if (auto read = from.read_at(format::superblock_offset[copy], &block, sizeof block); !read) return read.error();
    if (auto checked = check_identity(from, copy, block); !checked) return checked.error();
    if (!ranges_hold(block)) return at_copy(from, copy, errc::corrupt, "the superblock names impossible ranges");
    if (block.generation % 2 != copy) {
        error reason = at_copy(from, copy, errc::corrupt, "the superblock copy is in the place of the other");
        reason.expected = copy == 0 ? "an even generation" : "an odd generation";
        reason.found = std::to_string(block.generation);
        return reason;
    }
    return block;
}

superblock saved_after(superblock now) noexcept {
    now.state = format::pool_state::saved;
    now.level = static_cast<std::uint32_t>(level::on_power_fail);
    now.required_features |= format::feature_shadow_log;
    now.unsettled = 0;
    ++now.generation;
    return with_checksum(now);
}

namespace {

bool is_in_use_on_power_fail(const superblock& block) noexcept {
    return block.state == format::pool_state::dirty &&
           block.level == static_cast<std::uint32_t>(level::on_power_fail);
}
bool has_shadow(const superblock& block) noexcept {
    return (block.required_features & format::feature_shadow_log) != 0;
}

}  // namespace

bool is_armed(const superblock& block) noexcept { return is_in_use_on_power_fail(block) && has_shadow(block); }
bool is_armed_on_file(const superblock& block) noexcept { return is_in_use_on_power_fail(block) && !has_shadow(block); }

namespace {

/// Nobody has such a log, which is an answer.
bool is_none(const error& reason) noexcept {
    return reason.code == errc::not_found || reason.code == errc::not_durable || reason.code == errc::corrupt ||
           reason.code == errc::permission_denied;
}

/// FNV-1a: the words of a session need no more than to differ.
std::uint64_t number_of(const void* bytes, std::size_t count) noexcept {
    std::uint64_t number = 0xcbf29ce484222325;
    for (std::size_t i = 0; i < count; ++i)
        number = (number ^ static_cast<const unsigned char*>(bytes)[i]) * 0x100000001b3;
    return number;
}

result<format::armed_life> armed_life_of(const superblock& block, const persist::file& in) {
    format::armed_life life;
    if (auto read = in.read_at(block.log_offset + format::armed_life_offset, &life, sizeof life); !read)
        return read.error();
    return life;
}

result<std::optional<powerfail::shadow_log>> log_in_memory(const superblock& block, const persist::file& in) {
    std::optional<powerfail::shadow_log> none;
    const boot_id boot = current_boot_id();
    if (boot.text().empty() || text_of(block.boot_id) != boot.text()) return none;
    const auto mark = mark_of(in);
    if (!mark) return mark.error();
    if (block.file_mark != *mark) return none;
    auto shadow = powerfail::shadow_log::find(block);
    if (!shadow && shadow.error().code == errc::not_found) return none;
    if (!shadow) return std::move(shadow).give_error();
    if (shadow->header().sealed == 0) return none;
    const auto life = armed_life_of(block, in);
    if (!life) return life.error();
    // An older state of the file was put back over it, by whoever kept a copy.
    if (!is_same(shadow->life(), *life)) return none;
    return std::optional(std::move(*shadow));
}

}  // namespace

result<powerfail::save_name> save_name_of(const superblock& block, const persist::file& in) {
    auto place = in.place();
    if (!place && place.error().code == errc::permission_denied) return powerfail::save_name{};
    if (!place) return place.error();
    // The same device may have another number in the next boot. A test's other file is told by its mark.
    place->device = stand_ins_now.file_mark;
    powerfail::save_name name;
    name.session[0] = block.pool_id;
    name.session[1] = number_of(&*place, sizeof *place);
    name.session[2] = number_of(block.boot_id, sizeof block.boot_id);
    // Of this file, in whatever boot. Neither 0 nor the highest numbers, which are the module's own.
    name.key = number_of(name.session, 2 * sizeof name.session[0]) >> 1 | 1;
    return name;
}

result<powerfail::shadow_log> log_saved_by_module(const superblock& block, const persist::file& in) {
    const auto name = save_name_of(block, in);
    if (!name) return name.error();
    auto saved = powerfail::shadow_log::find_saved(block, *name);
    if (!saved) return saved;
    const auto life = armed_life_of(block, in);
    if (!life) return life.error();
    if (!is_same(saved->life(), *life))
        return error{.code = errc::not_found, .what = "the save belongs to another version of this file"};
    return saved;
}

result<std::optional<powerfail::shadow_log>> log_outside_pool(const superblock& block, const persist::file& in) {
    std::optional<powerfail::shadow_log> none;
    if ((block.required_features & format::feature_shadow_log) == 0) return none;
    // Also of a pool that says `saved`: the seal of a process that was killed may only have been stored.
    auto in_memory = log_in_memory(block, in);
    if (!in_memory || *in_memory || !is_armed(block)) return in_memory;
    auto saved = log_saved_by_module(block, in);
    if (saved) return std::optional(std::move(*saved));
    if (!is_none(saved.error())) return std::move(saved).give_error();
    return none;
}

result<bool> may_be_torn(const superblock& block, const persist::file& in) {
    if (block.state != format::pool_state::dirty || survives_power(static_cast<level>(block.level))) return false;
    if (is_planted(planted::boot_ignored)) return false;
    if (is_armed(block)) {
        const auto outside = log_outside_pool(block, in);
        if (!outside) return outside.error();
        return !*outside;
    }
    const boot_id boot = current_boot_id();
    if (boot.text().empty() || text_of(block.boot_id) != boot.text()) return true;
    if (block.file_mark == 0) return false;
    const auto mark = mark_of(in);
    if (!mark) return mark.error();
    return block.file_mark != *mark;
}

result<superblock> read_superblock(const persist::file& from) {
    // Whoever reads one compares its boot, or writes one with this boot.
    if (auto learnt = learn_boot_id(); !learnt) return learnt.error();
    auto size = from.size();
    if (!size) return size.error();
    if (*size < format::superblock_offset[1] + sizeof(superblock)) {
        error reason = at_copy(from, 0, errc::truncated, "the file is too short for a pool");
        reason.expected = "at least " + std::to_string(format::smallest_pool_bytes) + " bytes";
        reason.found = std::to_string(*size) + " bytes";
        char magic[sizeof format::magic] = {};
        const bool readable = *size >= sizeof magic && from.read_at(0, magic, sizeof magic).has_value();
        if (!readable || std::memcmp(magic, format::magic, sizeof magic) != 0) reason.code = errc::not_a_pool;
        return reason;
    }
    auto first = read_superblock_copy(from, 0);
    auto second = read_superblock_copy(from, 1);
    // One that could not be read may be the newer one, which says that the pool is unclean.
    for (const auto* copy : {&first, &second})
        if (!*copy && !is_about_contents(copy->error())) return copy->error();
    // The first copy's complaint is the one to report, unless only it looks foreign.
    if (!first && !second) return first.error().code == errc::not_a_pool ? second.error() : first.error();
    // A sound copy that this library does not understand may be the newer one.
    for (const auto* copy : {&first, &second})
        if (!*copy && copy->error().code == errc::feature_unsupported) return copy->error();
    const bool use_second = !first || (second && (second->generation > first->generation) !=
                                                 is_planted(planted::older_superblock_believed));
    superblock block = use_second ? *second : *first;
    if (block.pool_bytes > *size) {
        error reason = at_copy(from, use_second ? 1 : 0, errc::truncated, "the file is shorter than its pool");
        reason.expected = std::to_string(block.pool_bytes) + " bytes";
        reason.found = std::to_string(*size) + " bytes";
        return reason;
    }
    return block;
}

superblock with_checksum(superblock block) noexcept {
    block.checksum = checksum_of(block);
    return block;
}

result<void> write_superblock(persist::file& to, superblock next) {
    HOLDFAST_ASSERT_ALWAYS(ranges_hold(next), "a superblock names what can be");
    next = with_checksum(next);
    const iovec piece{&next, sizeof next};
    const unsigned copy = is_planted(planted::superblock_in_one_place) ? 0 : next.generation % 2;
    return to.write_durable(format::superblock_offset[copy], {&piece, 1}, persist::site::superblock);
}

result<void> rewrite_superblock(persist::file& to, const superblock& read) {
    return to.write_at(format::superblock_offset[read.generation % 2], &read, sizeof read, persist::site::pool_settle);
}

}  // namespace holdfast
