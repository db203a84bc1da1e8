#include <holdfast/pool/opener.hpp>

#include <holdfast/base/threads.hpp>
#include <holdfast/log/planted.hpp>
#include <holdfast/log/sites.hpp>
#include <holdfast/persist/record_way.hpp>
#include <holdfast/pool/boot.hpp>
#include <holdfast/pool/planted.hpp>
#include <holdfast/pool/registry.hpp>
#include <holdfast/pool/sites.hpp>
#include <holdfast/pool/stand_ins.hpp>
#include <holdfast/pool/superblock.hpp>
#include <holdfast/powerfail/planted.hpp>

#include <atomic>
#include <cstring>

namespace holdfast {
namespace {

using format::pool_state;
using persist::medium;
namespace site = persist::site;

/// Appends rather than adds: g++ 12 takes operator+ on a literal for an overlapping copy.
std::string quoted(std::string_view text) {
    std::string line(1, '"');
    line.append(text).push_back('"');
    return line;
}

/// Where a commit leaves its record or its homes in memory, and nothing else anywhere.
bool can_be_saved(const engine_description& engine) noexcept {
    return engine.recovers && engine.logs_new_values && !engine.writes_homes_back && !engine.stores_homes_late &&
           !engine.stores_itself && !engine.checkpoints && !engine.paces;
}

std::string engine_cannot(const engine_description& engine, std::string_view rest) {
    std::string line("engine ");
    line.append(engine.name).append(rest);
    return line;
}

/// The pages that records name.
named_pages pages_named(std::uint64_t up_to, const home_stores& stored) {
    named_pages named{up_to, {}};
    stored.for_each_run([&](std::uint64_t first, std::uint64_t count) {
        constexpr std::uint64_t lines_of_page = format::page_bytes / 64;
        const std::uint64_t end = (first + count - 1) / lines_of_page + 1;
        for (std::uint64_t page = first / lines_of_page; page < end; ++page)
            if (named.pages.empty() || named.pages.back() != page)
                named.pages.push_back(static_cast<std::uint32_t>(page));
    });
    return named;
}

persist::mapping::kind mapping_kind(const persist::storage& storage, level promise) noexcept {
    if (storage.kind == medium::dax) return persist::mapping::kind::shared_sync;
    if (storage.kind == medium::file && promise != level::process) return persist::mapping::kind::private_copy;
    return persist::mapping::kind::shared;
}

}  // namespace

std::unique_ptr<open_pool> pool_opener::over(std::span<std::byte> bytes, const pool_info& info,
                                             std::vector<heap_zone> zones) {
    std::unique_ptr<mapped_pool> pool(new mapped_pool);
    pool->path_ = info.path;
    pool->engine_name_ = info.engine;
    pool->base_ = pool->medium_ = bytes.data();
    pool->size_ = bytes.size();
    pool->take_zones(zones);
    register_pool(*pool);
    return pool;
}

persist::discovery pool_opener::discovery_of(const open_options& options) {
    persist::discovery where = options.where;
    where.tmpfs_is_nvram |= options.tmpfs_is_nvram;
    return where;
}

namespace {

/// What an engine offers where the medium does, as text.
std::string levels_of(const engine_description& engine) {
    std::vector<level> offered{level::process};
    if (engine.checkpoints) offered.push_back(level::lag);
    if (can_be_saved(engine)) offered.push_back(level::on_power_fail);
    if (engine.recovers) offered.push_back(level::power);
    std::string text;
    for (std::size_t i = 0; i < offered.size(); ++i)
        text += (i == 0 ? "" : i + 1 == offered.size() ? " or " : ", ") + std::string(name_of(offered[i]));
    return text;
}

}  // namespace

result<void> pool_opener::check_level(const std::string& path, const engine_description& engine, level promise,
                                      const persist::storage& storage) {
    const auto refuse = [&](std::string what, std::string expected) {
        error reason = about(path, errc::level_unavailable, std::move(what));
        reason.expected = std::move(expected);
        reason.found = std::string(name_of(promise));
        return reason;
    };
    if (promise == level::process) return {};
    if ((promise == level::on_power_fail && !can_be_saved(engine)) || (promise == level::lag && !engine.checkpoints)) {
        error reason = refuse(engine_cannot(engine, " does not offer this level"), levels_of(engine));
        reason.remedy = promise == level::lag ? "the engine cc_htm offers lag" : "the engines redo and dnv offer it";
        return reason;
    }
    if (!engine.recovers)
        return refuse("volatile_only survives no crash and cannot promise power", "process");
    if (storage.kind == medium::tmpfs)
        return refuse("tmpfs is memory: it survives the process, not power loss", "process");
    if (storage.kind == medium::file && !engine.power_on_files)
        return refuse(engine_cannot(engine, " cannot keep power on an ordinary file; redo can"), "process");
    return {};
}

result<void> pool_opener::check_header(const mapped_pool& pool, const engine_description& engine,
                                       const open_options& options) {
    const auto& block = pool.superblock_;
    if (text_of(block.engine) != engine.name) {
        error reason = about(pool.path_, errc::engine_mismatch, "the pool belongs to another engine");
        reason.expected = engine.name;
        reason.found = text_of(block.engine);
        return reason;
    }
    if (!options.layout.empty() && text_of(block.layout) != options.layout) {
        error reason = about(pool.path_, errc::layout_mismatch, "the pool belongs to another application layout");
        reason.expected = quoted(options.layout);
        reason.found = quoted(text_of(block.layout));
        return reason;
    }
    return {};
}

namespace {

/// Why the pool of an armed life is not saved. Requires: it is not.
std::string why_not_saved(const format::superblock& block, const persist::file& in) {
    const auto saved = log_saved_by_module(block, in);
    switch (saved ? errc::not_found : saved.error().code) {
    case errc::not_durable: return "the kernel module's save belongs to another boot or file";
    case errc::corrupt: return "the kernel module's save of it is damaged";
    case errc::permission_denied: return "the kernel module's save belongs to another user";
    default: return "no save of it was sealed";
    }
}

}  // namespace

result<void> pool_opener::check_durable(const mapped_pool& pool, const engine_description& engine,
                                        const open_options& options) {
    const auto& block = pool.superblock_;
    if (block.state == pool_state::clean || options.accept_not_durable) return {};
    if (!engine.recovers)
        return about(pool.path_, errc::not_durable,
                     "a volatile_only pool was not closed; its contents may be torn (accept_not_durable opens it)");
    const auto torn = may_be_torn(block, *pool.file_);
    if (!torn) return torn.error();
    if (!*torn) return {};
    const bool same_boot = text_of(block.boot_id) == current_boot_id().text() && block.boot_id[0] != '\0';
    const auto mark = mark_of(*pool.file_);
    if (same_boot && is_armed(block) && mark && *mark == block.file_mark)
        return about(pool.path_, errc::not_durable,
                     "the pool was in use at on_power_fail, and the log of its last commits, which was in /dev/shm, is "
                     "gone, or an older copy of the pool was restored: the last commits may be lost or torn "
                     "(accept_not_durable opens it)");
    if (same_boot)
        return about(pool.path_, errc::not_durable,
                     "the pool was in use below level power, and in another file: this is a copy, which may be torn "
                     "(accept_not_durable opens it)");
    error reason = about(pool.path_, errc::not_durable,
                         is_armed_on_file(block)
                             ? "the pool was in use at on_power_fail, and its latest commits were not synced, or a "
                               "sync failed: they may be lost or torn (accept_not_durable opens it)"
                         : is_armed(block)
                             ? "the pool was in use at on_power_fail when the machine went down, and " +
                                   why_not_saved(block, *pool.file_) +
                                   "; its latest changes may be lost or torn (accept_not_durable opens it)"
                             : "the pool was in use below level power when the machine went down; its latest changes "
                               "may be lost or torn (accept_not_durable opens it)");
    reason.expected = "boot " + std::string(current_boot_id().text());
    reason.found = "boot " + std::string(text_of(block.boot_id));
    return reason;
}

/// The same bytes once more, where stores reach the medium.
result<void> pool_opener::map_medium(mapped_pool& pool, persist::mapping::kind how, bool populates) {
    const auto& block = pool.superblock_;
    const std::uint64_t distance = stand_ins_now.medium_distance;
    const std::uint64_t at = distance != 0 ? block.base + distance : 0;
    auto mapped = persist::mapping::map(*pool.file_, at, block.reserved_bytes, block.pool_bytes, how);
    if (!mapped) return mapped.error();
    pool.medium_mapping_ = std::move(*mapped);
    pool.medium_ = pool.medium_mapping_->data();
    return populates ? pool.medium_mapping_->populate() : result<void>{};
}

result<void> pool_opener::map(mapped_pool& pool, const engine_description& engine, const open_options& options) {
    const auto& block = pool.superblock_;
    const auto shared = mapping_kind(pool.storage_, pool.level_);
    // What is committed must not reach the medium before it is retired.
    const bool is_apart = engine.checkpoints && engine.aliases == aliases_in::pages &&
                          shared != persist::mapping::kind::private_copy;
    auto mapped = persist::mapping::map(*pool.file_, block.base, block.reserved_bytes, block.pool_bytes,
                                        is_apart ? persist::mapping::kind::private_copy : shared);
    if (!mapped) return mapped.error();
    pool.mapping_ = std::move(*mapped);
    pool.base_ = pool.mapping_->data();
    pool.size_ = block.pool_bytes;
    pool.lines_ = pool.storage_.lines(options.delay_ns);
    pool.persists_lines_ = survives_power(pool.level_) && pool.storage_.byte_addressable();
    pool.medium_ = pool.base_;
    pool.take_zones(zones_of(block));
    if (options.populate)
        if (auto populated = pool.mapping_->populate(); !populated) return populated;
    return is_apart ? map_medium(pool, shared, options.populate) : result<void>{};
}

result<void> pool_opener::write_recovered_homes(mapped_pool& pool, const home_stores& stored) {
    result<void> written;
    stored.for_each_run([&](std::uint64_t first, std::uint64_t count) {
        if (!written) return;
        written = pool.file_->write_at(first * 64, pool.base_ + first * 64, count * 64, site::recovery_home);
    });
    if (!written) return written;
    return pool.file_->sync(site::recovery_home_fence);
}

bool pool_opener::keeps_log(const mapped_pool& pool, const log_replay& replay) {
    // Nor where a torn record has left its number missing: the next recovery would stop there.
    return survives_power(static_cast<level>(pool.superblock_.level)) && replay.all_whole() &&
           !log_of(pool.superblock_).keeps_prefix;
}

result<void> pool_opener::recover(mapped_pool& pool, log_replay& replay) {
    const log_geometry geometry = log_of(pool.superblock_);
    const std::span<std::byte> bytes(pool.medium_, pool.size_);
    storing how;
    how.threads_at_most = threads_of_recovery();
    if (mapping_kind(pool.storage_, pool.level_) != persist::mapping::kind::private_copy) {
        how.persists = pool.persists_lines_;
        how.lines = pool.lines_;
        how.maps_around = pool.storage_.kind == medium::tmpfs || pool.storage_.kind == medium::nvram;
        finish_in_place(replay, bytes, geometry, how);
        pool.recovery_ = replay.report();
        if (pool.medium_mapping_)
            if (auto copied = pool.mapping_->copy_anew(*pool.file_); !copied) return copied;
#ifdef HOLDFAST_OBSERVED
        // What the explorer makes up when it is read, it makes up in both mappings, as no kernel does.
        if (pool.medium_mapping_) pool.mapping_->give_back(0, pool.size_);
#endif
        return {};
    }
    const home_stores stored = replay.apply(bytes, how);
    pool.recovery_ = replay.report();
    if (keeps_log(pool, replay)) {
        if (!is_planted(planted::kept_log_overwritten)) pool.kept_segments_ = replay.used_segments();
        if (!is_planted(planted::named_pages_taken_for_clean))
            pool.named_at_open_ = pages_named(pool.recovery_.last_sequence, stored);
        return {};
    }
    if (!is_planted(planted::recovered_homes_forgotten))
        if (auto written = write_recovered_homes(pool, stored); !written) return written;
    if (is_planted(planted::log_kept_after_recovery)) return {};
    return group_log::reset(*pool.file_, geometry, pool.recovery_.last_sequence);
}

void pool_opener::bound_memory(mapped_pool& pool, const engine_description& engine) {
    if (engine.stores_itself || !private_pages::can_be_kept()) return;
    const std::uint64_t most = pool.private_bytes_ != 0 ? pool.private_bytes_ : persist::memory_bytes() / 4;
    mapped_pool::own(pool.owned_pages_, pool.pages_,
                     std::make_unique<private_pages>(*pool.mapping_, *pool.file_, most));
    // Recovery has stored to the pages that the records name which it kept.
    for (const std::uint32_t page : pool.named_at_open_.pages)
        pool.pages_->found(page, pool.named_at_open_.up_to);
    pool.groups_->bound(*pool.pages_);
}

void pool_opener::choose_record_way(mapped_pool& pool, persist::record_way wanted) {
    // The segments hold no record above the truncation point, and nobody sends one yet.
    const log_geometry geometry = log_of(pool.superblock_);
    const std::span<std::byte> segments(pool.medium_ + geometry.segment_offset(0),
                                        geometry.segment_count() * geometry.segment_bytes);
    pool.lines_.streamed_from_bytes = persist::choose_streamed_from(wanted, pool.lines_, segments);
}

void pool_opener::start_log(mapped_pool& pool, const engine_description& engine, persist::record_way records) {
    const log_geometry geometry = pool.geometry_of_log();
    const std::uint64_t last = pool.recovery_.last_sequence;
    if (mapping_kind(pool.storage_, pool.level_) == persist::mapping::kind::private_copy) {
        const bool kept = !pool.kept_segments_.empty() && !is_planted(planted::kept_log_taken_for_home);
        const std::uint64_t truncated = kept ? pool.recovery_.truncated : last;
        mapped_pool::own(pool.owned_groups_, pool.groups_,
                         std::make_unique<group_log>(*pool.file_, geometry, last, truncated, pool.kept_segments_));
        if (pool.level_ == level::on_power_fail) {
            pool.groups_->defer_syncs();
            pool.groups_->on_deferred_lost = [&pool] { pool.disown_boot(); };
        }
        bound_memory(pool, engine);
        if (engine.checkpoints)
            mapped_pool::own(pool.owned_lagging_, pool.lagging_, std::make_unique<group_lag>(lag_of(pool)));
    } else {
        // Armed, it may have to go on at `power` one day.
        if ((pool.persists_lines_ || pool.shadow_) && !engine.stores_itself) choose_record_way(pool, records);
        lane_log_options options;
        options.persists = pool.persists_lines_;
        options.lines = pool.lines_;
        options.logs_new_values = engine.logs_new_values;
        options.last_sequence = last;
        options.path = pool.path_;
        options.stores_homes_late = engine.stores_homes_late || engine.checkpoints || paces(pool, engine);
        if (engine.writes_homes_back) options.trim_batch = pool.wraps_.trim_batch;
        mapped_pool::own(pool.owned_lanes_, pool.lanes_,
                         std::make_unique<lane_log>(pool.medium_, pool.size_, geometry, options));
        start_late_homes(pool, engine);
    }
}

result<std::unique_ptr<mapped_pool>> pool_opener::open(persist::file file, const engine_description& engine,
                                                       const open_options& options) {
    auto pool = open_unready(std::move(file), engine, options, {});
    if (pool) (*pool)->become_ready();
    return pool;
}

result<std::unique_ptr<mapped_pool>> pool_opener::open_unready(persist::file file, const engine_description& engine,
                                                               const open_options& options,
                                                               std::optional<persist::storage> storage) {
    static std::atomic<std::uint64_t> instances{0};
    std::unique_ptr<mapped_pool> pool(new mapped_pool);
    pool->file_ = std::move(file);
    pool->path_ = pool->file_->path();
    pool->engine_name_ = engine.name;
    pool->isolation_ = engine.isolation;
    pool->where_aliases_are_ = engine.aliases;
    // Until a handler has charge of it.
    pool->level_ = options.durability == level::on_power_fail ? level::power : options.durability;
    pool->wraps_ = options.wraps;
    pool->lag_ = options.lag;
    pool->pace_ = options.pace;
    pool->private_bytes_ = options.private_bytes;
    pool->instance_ = ++instances;

    auto block = read_superblock(*pool->file_);
    if (!block) return block.error();
    pool->superblock_ = *block;
    if (auto checked = check_header(*pool, engine, options); !checked) return checked.error();
    if (auto checked = check_durable(*pool, engine, options); !checked) return checked.error();
    if (!storage) {
        auto found = persist::discover(*pool->file_, discovery_of(options));
        if (!found) return found.error();
        storage = std::move(*found);
    }
    pool->storage_ = *std::move(storage);
    if (auto checked = check_level(pool->path_, engine, options.durability, pool->storage_); !checked)
        return checked.error();
    if (auto checked = check_late_homes(pool->path_, engine, options); !checked) return checked.error();
    if (auto mapped = map(*pool, engine, options); !mapped) return mapped.error();
    if (auto adopted = pool->adopt_log_outside_pool(); !adopted) return adopted.error();
    // It was there a moment ago: the kernel module may have lost its region meanwhile.
    if (is_armed(pool->superblock_) && !options.accept_not_durable && !is_planted(planted::boot_ignored))
        return about(pool->path_, errc::not_durable, "the saved log of the pool disappeared during the opening");

    auto heap = heap::open(pool->base_, pool->zones(), pool->superblock_.reserved_bytes);
    if (!heap) {
        error reason = heap.error();
        reason.path = pool->path_;
        return reason;
    }
    mapped_pool::own(pool->owned_heap_, pool->heap_, std::move(*heap));
    auto replay = read_log(*pool);
    if (!replay) return replay.error();
    // A clean pool has no records above its truncation point. Where there are some, the copy of the
    // superblock that said dirty is damaged, and the older one that says clean is not to be believed.
    const bool was_clean = is_planted(planted::recovery_skipped) ||
                           (pool->superblock_.state == pool_state::clean && replay->report().records == 0);
    if (auto settled = settle(*pool, was_clean, *replay); !settled) return settled.error();
    pool->recovery_ = replay->report();
    const bool arms = options.durability == level::on_power_fail;
    if (auto ready = recover_and_mark(*pool, engine, was_clean, arms, *replay); !ready) return ready.error();
    pool->forget_shadow_of(*block);
    start_log(*pool, engine, options.records);
    pool->connect_heap();
    register_pool(*pool);
    return pool;
}

result<log_replay> pool_opener::read_log(const mapped_pool& pool) {
    const auto reading = log_reading_of(pool.superblock_, *pool.file_);
    if (!reading) return reading.error();
    auto replay = log_replay::read({pool.base_, pool.size_}, log_of(pool.superblock_), *reading);
    if (replay) return replay;
    error reason = replay.error();
    reason.path = pool.path_;
    return reason;
}

/// A killed process may have left a superblock, a record or, below `power`, whatever it stored that no sync has
/// covered. What is written on top must not be durable before they are: the other copy, or a commit, would be all that
/// a cut leaves. (On media that are mapped directly the kernel writes back what any process stored.) And after a write
/// that failed the page cache holds pages that are not on the device, and that no sync would write again. So on an
/// ordinary file nothing that an unclean end left is taken for durable: it is written anew. On a device nobody but the
/// library writes lines back. After an unclean end all are: a line object that was stored in the last moment is seen by
/// whoever reads it from now on, and no log has it.
result<void> pool_opener::settle(mapped_pool& pool, bool was_clean, log_replay& replay) {
    if (is_planted(planted::nothing_settled)) return {};
    const bool is_cached = pool.storage_.kind == medium::file;
    const bool was_at_power = pool.superblock_.state == pool_state::dirty &&
                              survives_power(static_cast<level>(pool.superblock_.level));
    pool.unsettled_ = is_cached && !was_clean && !survives_power(pool.level_);
    result<void> written;
    if (is_cached) written = rewrite_superblock(*pool.file_, pool.superblock_);
    const bool writes_anew = is_cached && !was_clean && survives_power(pool.level_);
    if (written && writes_anew)
        written = was_at_power ? write_log_anew(pool, replay) : pool.file_->write_anew(0, pool.size_);
    const std::uint64_t end = was_clean ? heap_begin(pool.superblock_) : pool.size_.load();
    if (written) {
        written = pool.file_->sync(site::pool_open_sync, 0, end);
        // The next opening's sync may pass, and the page cache alone had what commits have promised.
        if (!written && is_armed_on_file(pool.superblock_)) pool.disown_boot();
    }
    if (!written || !writes_anew) return written;
    // What is applied is what is durable by now, and not what a page showed that has been dropped since.
    auto durable = read_log(pool);
    if (!durable) return durable.error();
    replay = std::move(*durable);
    return {};
}

/// What a life at `power` wrote is durable, since it was acknowledged, or it is in the log, or it is in blocks that are
/// free. Of a segment without records its header counts, too.
result<void> pool_opener::write_log_anew(mapped_pool& pool, const log_replay& replay) {
    const log_geometry log = log_of(pool.superblock_);
    std::vector<std::uint64_t> used(log.segment_count(), format::segment_header_bytes);
    for (const used_segment& each : replay.used_segments()) used[each.index] = each.used_bytes;
    auto written = pool.file_->write_anew(log.offset, format::log_header_bytes);
    for (std::uint32_t index = 0; written && index < used.size(); ++index)
        written = pool.file_->write_anew(log.segment_offset(index), used[index]);
    return written;
}

/// Below `power` the promise is recorded first: from here on the media may be torn by a power cut. At `power` it is
/// recorded last: until recovery is through, the weaker record holds.
result<void> pool_opener::recover_and_mark(mapped_pool& pool, const engine_description& engine, bool was_clean,
                                           bool arms, log_replay& replay) {
    if (is_planted(planted::left_clean_at_open) && was_clean) return {};
    const bool marks_first = !survives_power(pool.level_) ? !is_planted(planted::weaker_level_recorded_late)
                                                        : is_planted(planted::stronger_level_recorded_early);
    if (marks_first)
        if (auto marked = pool.write_superblock(pool_state::dirty, pool.level_); !marked) return marked;
    if (arms && is_planted(planted::armed_before_recovered))
        if (auto marked = pool.write_superblock(pool_state::dirty, level::on_power_fail); !marked) return marked;
    if (!was_clean && engine.recovers)
        if (auto recovered = recover(pool, replay); !recovered) return recovered;
    if (marks_first) return {};
    if (arms) pool.arm();
    return pool.write_superblock(pool_state::dirty, pool.level_);
}

}  // namespace holdfast
