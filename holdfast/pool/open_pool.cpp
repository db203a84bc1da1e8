#include <holdfast/pool/mapped_pool.hpp>

#include <holdfast/base/threads.hpp>
#include <holdfast/format/roots.hpp>
#include <holdfast/log/replay.hpp>
#include <holdfast/persist/missing_device.hpp>
#include <holdfast/persist/sites.hpp>
#include <holdfast/pool/address.hpp>
#include <holdfast/pool/boot.hpp>
#include <holdfast/pool/opener.hpp>
#include <holdfast/pool/planted.hpp>
#include <holdfast/pool/registry.hpp>
#include <holdfast/pool/sites.hpp>
#include <holdfast/pool/superblock.hpp>

#include <unistd.h>

#include <algorithm>
#include <array>
#include <cstring>
#include <utility>

namespace holdfast {

std::string_view name_of(level promise) noexcept {
    switch (promise) {
        case level::process: return "process";
        case level::lag: return "lag";
        case level::on_power_fail: return "on_power_fail";
        case level::power: return "power";
    }
    return "unknown";
}

std::optional<level> level_named(std::string_view name) noexcept {
    for (const level each : {level::process, level::lag, level::on_power_fail, level::power})
        if (name_of(each) == name) return each;
    return std::nullopt;
}

namespace {

pool_info info_of(const std::string& path, const format::superblock& block, persist::storage storage) {
    pool_info info;
    info.path = path;
    info.layout = text_of(block.layout);
    info.engine = text_of(block.engine);
    info.version_major = block.version_major;
    info.version_minor = block.version_minor;
    info.pool_id = block.pool_id;
    info.base = block.base;
    info.reserved_bytes = block.reserved_bytes;
    info.bytes = block.pool_bytes;
    info.log_bytes = block.log_bytes;
    info.segment_bytes = block.segment_bytes;
    info.keeps_prefix = (block.required_features & format::feature_prefix) != 0;
    info.zones = block.zone_count;
    info.generation = block.generation;
    info.clean = block.state == format::pool_state::clean;
    info.last_level = static_cast<level>(block.level);
    info.last_boot_id = text_of(block.boot_id);
    info.same_boot = !info.last_boot_id.empty() && info.last_boot_id == current_boot_id().text();
    info.storage = std::move(storage);
    return info;
}

error invalid(const std::string& path, std::string what, std::string expected, std::string found) {
    return error{.code = errc::invalid_argument,
                 .what = std::move(what),
                 .path = path,
                 .expected = std::move(expected),
                 .found = std::move(found)};
}

/// Fills in defaults and refuses what cannot be.
result<create_options> settle(const std::string& path, create_options options) {
    constexpr std::uint64_t smallest_log = 64 << 10;
    // The whole of what random bases are drawn from.
    constexpr std::uint64_t largest_reserved_bytes = highest_base - lowest_base;
    // A pool lies in the addresses that it reserves.
    constexpr std::uint64_t largest_bytes = std::min(largest_reserved_bytes, format::offset_mask / 2);
    if (options.bytes < format::smallest_pool_bytes || options.bytes > largest_bytes)
        return invalid(path, "a pool cannot have that size",
                       std::to_string(format::smallest_pool_bytes) + " to " + std::to_string(largest_bytes) + " bytes",
                       std::to_string(options.bytes));
    options.bytes = (options.bytes + format::page_bytes - 1) / format::page_bytes * format::page_bytes;
    if (options.log_bytes == 0) options.log_bytes = std::clamp<std::uint64_t>(options.bytes / 8, smallest_log, 4 << 20);
    if (options.log_bytes < smallest_log || options.log_bytes > options.bytes / 2)
        return invalid(path, "a log cannot have that size", "65536 bytes to half of the pool",
                       std::to_string(options.log_bytes));
    if (options.layout.size() >= sizeof format::superblock::layout)
        return invalid(path, "the layout name is too long", "at most 63 bytes", std::to_string(options.layout.size()));
    if (options.reserved_bytes > largest_reserved_bytes)
        return invalid(path, "a pool cannot reserve that much address space",
                       "at most " + std::to_string(largest_reserved_bytes) + " bytes",
                       std::to_string(options.reserved_bytes));
    if (options.reserved_bytes == 0)
        options.reserved_bytes = std::clamp(options.bytes * 4, std::uint64_t{64} << 30, largest_reserved_bytes);
    options.reserved_bytes = std::max(options.reserved_bytes, options.bytes);
    options.reserved_bytes =
        (options.reserved_bytes + format::page_bytes - 1) / format::page_bytes * format::page_bytes;
    if (options.base != 0)
        if (auto checked = check_base(options.base, options.reserved_bytes); !checked) return checked.error();
    return options;
}

format::superblock new_superblock(const engine_description& engine, const create_options& options,
                                  const log_geometry& log) {
    format::superblock block{};
    std::memcpy(block.magic, format::magic, sizeof block.magic);
    block.version_major = format::version_major;
    block.version_minor = format::version_minor;
    block.superblock_bytes = sizeof block;
    block.required_features =
        format::features_of_new_pools | (engine.checkpoints ? format::feature_prefix : std::uint64_t{0});
    block.pool_id = random_seed();
    block.base = options.base != 0 ? options.base : random_base(options.reserved_bytes);
    block.reserved_bytes = options.reserved_bytes;
    block.pool_bytes = options.bytes;
    block.log_offset = log.offset;
    block.log_bytes = log.bytes;
    block.segment_bytes = log.segment_bytes;
    put_text(block.layout, options.layout);
    put_text(block.engine, engine.name);
    put_text(block.boot_id, current_boot_id().text());
    block.state = format::pool_state::clean;
    block.level = static_cast<std::uint32_t>(level::power);
    block.zone_count = 1;
    block.zones[0].offset = log.offset + log.bytes;
    block.zones[0].bytes = options.bytes - block.zones[0].offset;
    return block;
}

void format_roots(std::byte* pool) {
    const format::root_entry unused = format::unused_root();
    for (std::size_t index = 0; index < format::root_limit; ++index)
        persist::copy(pool + format::roots_offset + index * sizeof unused, &unused, sizeof unused,
                      persist::site::pool_format);
}

}  // namespace

result<void> pool_opener::clear_segments(persist::file& file, const log_geometry& log) {
    const std::vector<std::byte> zeros(log.segment_bytes);
    for (std::uint32_t index = 0; index < log.segment_count(); ++index)
        if (auto written = file.write_at(log.segment_offset(index), zeros.data(), zeros.size(),
                                         persist::site::pool_format);
            !written)
            return written;
    return {};
}

result<void> pool_opener::format(persist::file& file, const engine_description& engine, const create_options& options,
                                 const persist::storage& storage) {
    if (auto allocated = file.allocate(options.bytes); !allocated) return allocated;
    const log_geometry log = log_geometry::divide(format::log_offset, options.log_bytes);
    format::superblock block = new_superblock(engine, options, log);
    {
        auto mapped = persist::mapping::map(file, 0, options.bytes, options.bytes, persist::mapping::kind::shared);
        if (!mapped) return mapped.error();
        format_log(mapped->data(), log, false, {});
        format_roots(mapped->data());
        heap::format_zone(mapped->data(), {block.zones[0].offset, block.zones[0].bytes});
        mapped->note_stored(persist::site::pool_format);
    }
    // An opening takes a clean pool on a device for durable.
    if (file.is_device())
        if (auto synced = file.sync(persist::site::pool_format); !synced) return synced;
    // Written, not merely allocated: a first write to an allocated block journals its extent.
    if (storage.kind == persist::medium::file)
        if (auto cleared = clear_segments(file, log); !cleared) return cleared;
    // No sync yet: until the pool has been opened, which syncs, the file has no name.
    for (block.generation = 1; block.generation <= 2; ++block.generation)
        if (auto written = write_superblock(file, block); !written) return written;
    return {};
}

result<std::unique_ptr<mapped_pool>> pool_opener::create(const std::string& path, const engine_description& engine,
                                                         const create_options& options,
                                                       const persist::storage& storage) {
    auto file = persist::file::prepare(path, options.mode);
    if (!file) return file.error();
    if (auto locked = file->lock(); !locked) return locked.error();
    if (is_planted(planted::published_before_format)) static_cast<void>(file->publish());
    if (auto formatted = format(*file, engine, options, storage); !formatted) return formatted.error();
    auto opened = open_unready(std::move(*file), engine, options, storage);
    if (!opened) return opened;
    if (!is_planted(planted::published_before_format)) {
        // A handler that loses the pool writes superblocks, which must not meet their publication: not yet ready, it is
        // told to come again.
        if (auto published = (*opened)->file_->publish(); !published) {
            powerfail::shadow_log::remove((*opened)->superblock_);
            (*opened)->abandon();
            return published.error();
        }
    }
    (*opened)->become_ready();
    return opened;
}

result<std::unique_ptr<open_pool>> open_pool::create(const std::string& path, const engine_description& engine,
                                                     const create_options& wanted) {
    const cancellation_held uncancelled;
    auto options = settle(path, wanted);
    if (!options) return options.error();
    if (auto missing = persist::missing_device(path)) return *std::move(missing);
    auto storage = persist::discover_for_new(path, pool_opener::discovery_of(*options));
    if (!storage) {
        error reason = storage.error();
        if (reason.code == errc::not_found) return persist::no_directory_for(path);
        reason.path = path;
        return reason;
    }
    if (auto checked = pool_opener::check_level(path, engine, options->durability, *storage); !checked)
        return checked.error();
    if (auto checked = pool_opener::check_late_homes(path, engine, *options); !checked) return checked.error();
    // A random base may be taken by chance.
    constexpr int tries = 16;
    for (int attempt = 1;; ++attempt) {
        auto created = pool_opener::create(path, engine, *options, *storage);
        const bool again = !created && created.error().code == errc::address_taken && options->base == 0;
        if (!again || attempt == tries) return as_open_pool(std::move(created));
    }
}

result<std::unique_ptr<open_pool>> open_pool::open(const std::string& path, const engine_description& engine,
                                                   const open_options& options) {
    const cancellation_held uncancelled;
    auto file = persist::file::open_locked(path, persist::file::access::read_write);
    if (!file) return file.error();
    // A process killed while it created the pool may have left a name that is not durable yet. (Where the directory
    // may not be read there is nothing that could be done.)
    if (auto synced = persist::sync_directory(persist::directory_of(path));
        !synced && synced.error().code != errc::permission_denied)
        return synced.error();
    return as_open_pool(pool_opener::open(std::move(*file), engine, options));
}

result<pool_info> open_pool::info(const std::string& path) { return info(path, persist::discovery{}); }

result<pool_info> open_pool::info(const std::string& path, const persist::discovery& where) {
    for (;;) {
        auto file = persist::file::open(path, persist::file::access::read_only);
        if (!file) return file.error();
        auto block = read_superblock(*file);
        if (!block) return block.error();
        auto storage = persist::discover(path, where);
        if (!storage) return storage.error();
        // Of one file, not half of it of one that has been replaced.
        const auto current = file->is_at_path();
        if (!current) return current.error();
        if (*current) return info_of(path, *block, std::move(*storage));
    }
}

pool_info mapped_pool::info() const {
    const std::lock_guard lock(header_);
    pool_info info = info_of(path_, superblock_, storage_);
    if (persists_lines_) info.streamed_from_bytes = lines_.streamed_from_bytes;
    if (retiring_ && medium_mapping_) info.private_bytes = retiring_->pages_stored() * format::page_bytes;
    if (!pages_) return info;
    info.private_bytes = pages_->bytes();
    info.private_bytes_at_most = pages_->bytes_at_most();
    return info;
}

void mapped_pool::take_zones(std::span<const heap_zone> zones) noexcept {
    std::copy(zones.begin(), zones.end(), zones_.begin());
    zone_count_.store(zones.size(), std::memory_order_release);
}

open_pool::~open_pool() = default;

mapped_pool::~mapped_pool() {
    try {
        if (file_ && (lanes_ || groups_ || shared_)) static_cast<void>(close());
    } catch (...) {
        // Without memory it is left as a killed process leaves it, for the next opening to recover.
        abandon();
    }
    // An opening that failed.
    leave_shadow();
    // One that was only inspected has no log to close.
    unregister_pool(*this);
}

void mapped_pool::connect_heap() {
    heap_->begin(std::move(named_at_open_));
    const auto tell = [this](std::uint64_t sequence) { heap_->truncated_to(sequence); };
    // Where no record of an ended transaction is ever applied, every free block is clean.
    const std::uint64_t truncated = groups_ ? groups_->truncated() : recovery_.last_sequence;
    const bool is_told_all = is_planted(planted::all_taken_for_clean_at_open);
    tell(is_told_all || (lanes_ && lanes_->forgets_what_ended()) ? ~std::uint64_t{0} : truncated);
    if (lanes_) lanes_->on_truncated = tell;
    if (groups_) groups_->on_truncated = tell;
}

/// A write that is a sync: it takes the report of a write of the log that failed.
result<void> mapped_pool::put_superblock(const format::superblock& next) {
    const auto write = [&] { return holdfast::write_superblock(*file_, next); };
    return groups_ ? groups_->sync_alone(write) : write();
}

result<void> mapped_pool::write_superblock(format::pool_state state, level promise) {
    format::superblock next = superblock_;
    next.state = state;
    const bool opens = state == format::pool_state::dirty;
    if (!opens || !is_planted(planted::level_not_recorded_at_open)) next.level = static_cast<std::uint32_t>(promise);
    if (!opens || !is_planted(planted::boot_not_recorded)) put_text(next.boot_id, current_boot_id().text());
    if (opens) {
        const auto mark = mark_of(*file_);
        if (!mark) return mark.error();
        next.file_mark = *mark;
    }
    next.unsettled = state == format::pool_state::dirty && unsettled_ ? 1 : 0;
    next.required_features &= ~format::feature_shadow_log;
    if (promise == level::on_power_fail && state != format::pool_state::clean && !is_armed_on_file())
        next.required_features |= format::feature_shadow_log;
    if (!opens || !is_planted(planted::generation_not_raised)) ++next.generation;
    if (auto written = put_superblock(next); !written) return note_failed_sync(written.error());
    seal_next(next);
    const std::lock_guard lock(header_);
    superblock_ = next;
    return {};
}

/// Makes everything durable that the file holds, also what no sync would write again.
result<void> mapped_pool::strengthen(persist::site_id where) {
    if (unsettled_)
        if (auto written = file_->write_anew(0, superblock_.pool_bytes); !written) return written;
    return file_->sync(where, 0, superblock_.pool_bytes);
}

void mapped_pool::read(const void* home, void* to, std::size_t bytes) const noexcept {
    if (aliases_) return load_bytes(*aliases_, home, to, bytes);
    if (sets_) return load_bytes(*sets_, home, to, bytes);
    std::memcpy(to, home, bytes);
}

result<void> mapped_pool::checkpoint() {
    const cancellation_held uncancelled;
    if (auto here = check_here("empty its log"); !here) return here;
    if (groups_) return groups_->checkpoint();
    lanes_->truncate();
    return {};
}

result<void> mapped_pool::close() {
    const cancellation_held uncancelled;
    struct releaser {
        mapped_pool& pool;
        ~releaser() { pool.abandon(); }
    };
    if (shared_) {
        const releaser at_the_end{*this};
        return close_shared();
    }
    if (!lanes_ && !groups_) return {};
    const releaser at_the_end{*this};
    if (process_ != ::getpid()) {
        // A child has neither the mapping nor the lock; its parent may be in the middle of a commit.
        return error{.code = errc::misuse,
                     .what = "a forked child closed a pool of its parent; nothing was written",
                     .path = path_};
    }
    if (is_planted(planted::clean_before_checkpoint))
        static_cast<void>(write_superblock(format::pool_state::clean, level_));
    result<void> done = checkpoint();
    if (done && sync_failed_) done = poisoned_error();
    // A clean pool promises `power` whatever it ran at: nobody asks a clean pool which boot it saw.
    const bool needs_sync = !survives_power(level_) && storage_.kind != persist::medium::tmpfs;
    if (done && needs_sync) done = strengthen(persist::site::pool_strengthen);
    const bool was_armed = shadow_.has_value();
    if (done) done = close_charge();
    if (done) done = write_superblock(format::pool_state::clean, level_);
    // Neither copy asks for more than what is there now.
    if (done && was_armed) done = write_superblock(format::pool_state::clean, level_);
    return done;
}

void mapped_pool::abandon() noexcept {
    const cancellation_held uncancelled;
    unregister_pool(*this);
    const bool is_inherited = inherited_ || process_ != ::getpid();
    if (!is_inherited) end_all_charge();
    if (is_inherited) {
        // In a forked child there is no thread that could be waited for, and what the parent's threads were in the
        // middle of stays so for ever: a lock that is held, a condition that is waited for. It is left as it is.
        static_cast<void>(owned_aliases_.release());
        static_cast<void>(owned_retiring_.release());
        static_cast<void>(owned_pacing_.release());
        static_cast<void>(owned_heap_.release());
        static_cast<void>(owned_lanes_.release());
        static_cast<void>(owned_groups_.release());
    }
    alias_values_ = nullptr;
    own(owned_aliases_, aliases_, {});
    own(owned_sets_, sets_, {});
    own(owned_retiring_, retiring_, {});
    own(owned_lagging_, lagging_, {});
    own(owned_pacing_, pacing_, {});
    own(owned_heap_, heap_, {});
    own(owned_lanes_, lanes_, {});
    own(owned_groups_, groups_, {});
    own(owned_pages_, pages_, {});
    leave_shadow();
    mapping_.reset();
    medium_mapping_.reset();
    file_.reset();
    base_ = medium_ = nullptr;
    size_.store(0, std::memory_order_release);
}

}  // namespace holdfast
