#include <sim/cache/hierarchy.hpp>

namespace holdfast::sim {

hierarchy::hierarchy(const hierarchy_config& config, memory_below& below, const port::ports& attached)
    : configured_(config),
      config_(config),
      below_(below),
      attached_(attached),
      l2_(config.l2),
      counters_(config.cores) {
    cores_.reserve(config.cores);
    for (std::uint32_t core = 0; core < config.cores; ++core) {
        cores_.push_back({cache_array(config.il1), cache_array(config.dl1)});
    }
}

void hierarchy::set_instant(bool instant) noexcept {
    config_ = configured_;
    if (instant) {
        config_.intervention = time{};
        for (cache_config* const each : {&config_.il1, &config_.dl1, &config_.l2}) {
            each->latency = each->walk_set = time{};
        }
    }
    for (core_caches& each : cores_) {
        each.instructions.set_times(config_.il1);
        each.data.set_times(config_.dl1);
    }
    l2_.set_times(config_.l2);
}

time hierarchy::in_flight(line_state& state, time at, time done) noexcept {
    if (at < state.requested_at) {
        // Computed earlier but asked for later: in the order of time this one is the miss, and the other one waits.
        const time took = state.ready_at - state.requested_at;
        state.requested_at = at;
        state.ready_at = std::min(state.ready_at, at + took);
    }
    return std::max(done, state.ready_at);
}

load_result hierarchy::load_slowly(std::uint32_t core, address where, std::uint32_t size, time at) {
    if (where.offset_in_line() + size > line_bytes) {
        const auto in_first = static_cast<std::uint32_t>(line_bytes - where.offset_in_line());
        const load_result first = load(core, where, in_first, at);
        const load_result second = load(core, where.line() + line_bytes, size - in_first, at);
        return {first.value | second.value << (8 * in_first),
                {std::max(first.how.done, second.how.done), std::max(first.how.by, second.how.by)}};
    }
    counters_[core].data.reads += 1;
    counters_[core].data.read_misses += 1;
    load_result result{0, {at, answered_by::l1}};
    const cache_array::place place = fill_l1(core, side::data, where.line(), false, result.how);
    std::memcpy(&result.value, cores_[core].data.bytes(place).data() + where.offset_in_line(), size);
    return result;
}

access hierarchy::fetch_slowly(std::uint32_t core, address line, time at) {
    counters_[core].instructions.read_misses += 1;
    access how{at, answered_by::l1};
    fill_l1(core, side::instructions, line, false, how);
    return how;
}

hierarchy::own_line hierarchy::obtain(std::uint32_t core, address line, time at) {
    cache_array& data = cores_[core].data;
    counters_[core].data.writes += 1;
    const cache_array::place place = data.find(line);
    if (place == cache_array::nowhere || !data.state(place).writable) [[unlikely]] {
        return obtain_slowly(core, line, place, at);
    }
    data.touch(place);
    return {&data.bytes(place), &data.state(place), arrival(data, place, at), true};
}

hierarchy::own_line hierarchy::obtain_slowly(std::uint32_t core, address line, cache_array::place place, time at) {
    cache_array& data = cores_[core].data;
    access how{at, answered_by::l1};
    if (place == cache_array::nowhere) {
        counters_[core].data.write_misses += 1;
        place = fill_l1(core, side::data, line, true, how);
    } else {
        counters_[core].data.upgrades += 1;
        data.touch(place);
        how = arrival(data, place, at);
        how.done = std::max(how.done, l2_.tags_free(at + data.latency) + l2_.latency);
        how.by = std::max(how.by, answered_by::l2);
        const cache_array::place in_l2 = l2_.find(line);
        drop_sharers(in_l2, core);
        l2_.state(in_l2).owner = static_cast<std::uint8_t>(core);
        data.state(place).writable = true;
    }
    return {&data.bytes(place), &data.state(place), how, false};
}

access hierarchy::commit(const store_source& who, address where, std::span<const std::byte> bytes,
                         const own_line& own) {
    access how = own.how;
    const std::span<std::byte> target = std::span(*own.bytes).subspan(where.offset_in_line(), bytes.size());
    if (attached_.on_store) {
        how.done = std::max(how.done, attached_.on_store->commit(
                                          {who.hart, who.transaction, who.in_transaction, where, target, bytes,
                                           how.done, own.hit}));
    }
    std::memcpy(target.data(), bytes.data(), bytes.size());
    own.state->dirty = true;
    return how;
}

access hierarchy::store(const store_source& who, address where, std::span<const std::byte> bytes, time at) {
    if (where.offset_in_line() + bytes.size() > line_bytes) [[unlikely]] {
        const std::size_t in_first = line_bytes - where.offset_in_line();
        const access first = store(who, where, bytes.first(in_first), at);
        const access second = store(who, where.line() + line_bytes, bytes.subspan(in_first), at);
        return {std::max(first.done, second.done), std::max(first.by, second.by)};
    }
    return commit(who, where, bytes, obtain(who.core, where.line(), at));
}

// `how.done` comes in as the time of the miss's beginning and goes out as that of the line's arrival.
cache_array::place hierarchy::fill_l1(std::uint32_t core, side which, address line, bool to_write, access& how) {
    cache_array& cache = l1(core, which);
    const time asked = how.done;
    how.done = cache.tags_free(asked) + cache.latency;
    const time missed = how.done;
    const cache_array::place in_l2 = find_or_fill_l2(line, how);
    line_state& shared = l2_.state(in_l2);
    if (shared.owner != line_state::no_owner) {
        take_from_owner(in_l2, !to_write, how.done);
        how.by = std::max(how.by, answered_by::other_l1);
    }
    if (to_write) drop_sharers(in_l2, no_core);
    const bool alone = which == side::data && shared.data_sharers == 0 && shared.fetch_sharers == 0;

    const cache_array::place place = cache.victim(line);
    if (cache.occupied(place)) how.done = std::max(how.done, evict_from_l1(core, which, place, missed));
    cache.put(place, line);
    cache.bytes(place) = l2_.bytes(in_l2);
    line_state& state = cache.state(place);
    state.requested_at = asked;
    state.ready_at = how.done;
    state.writable = alone;
    const auto bit = static_cast<std::uint8_t>(1u << core);
    (which == side::data ? shared.data_sharers : shared.fetch_sharers) |= bit;
    if (alone) shared.owner = static_cast<std::uint8_t>(core);
    cache_counters& counters = which == side::data ? counters_[core].data : counters_[core].instructions;
    counters.fills += 1;
    return place;
}

time hierarchy::evict_from_l1(std::uint32_t core, side which, cache_array::place place, time at) {
    cache_array& cache = l1(core, which);
    cache_counters& counters = which == side::data ? counters_[core].data : counters_[core].instructions;
    const address line = cache.line_at(place);
    const cache_array::place in_l2 = l2_.find(line);
    line_state& shared = l2_.state(in_l2);
    counters.evictions += 1;
    if (attached_.on_cache) {
        attached_.on_cache->happened({port::cache_event::kind::eviction, port::level::l1, core,
                                      which == side::instructions, line, at, at});
    }
    if (cache.state(place).dirty) {
        counters.write_backs += 1;
        at = may_leave(port::level::l1, core, line, cache.bytes(place), port::reason::eviction, at);
        store_in_l2(in_l2, cache.bytes(place), cache.state(place).spare);
    }
    const auto others = static_cast<std::uint8_t>(~(1u << core));
    (which == side::data ? shared.data_sharers : shared.fetch_sharers) &= others;
    if (which == side::data && shared.owner == core) shared.owner = line_state::no_owner;
    return at;
}

cache_array::place hierarchy::find_or_fill_l2(address line, access& how) {
    const time asked = how.done;
    l2_counters_.reads += 1;
    cache_array::place in_l2 = l2_.find(line);
    if (in_l2 != cache_array::nowhere) {
        l2_.touch(in_l2);
        how = arrival(l2_, in_l2, asked);
        how.by = how.by == answered_by::l1 ? answered_by::l2 : how.by;
        tell_of_lookup(port::cache_event::kind::hit, line, asked, how.done);
        return in_l2;
    }
    // The host misses its caches, too; what is needed further down is asked for in time.
    below_.prefetch(line);
    in_l2 = l2_.victim(line);
    l2_.prefetch(in_l2);
    l2_counters_.read_misses += 1;
    l2_counters_.fills += 1;
    const time missed = l2_.tags_free(asked) + l2_.latency;
    const time room = l2_.occupied(in_l2) ? evict_from_l2(in_l2, missed) : missed;
    l2_.put(in_l2, line);
    how = {std::max(below_.read(line, l2_.bytes(in_l2), missed), room), answered_by::memory};
    l2_.state(in_l2).requested_at = asked;
    l2_.state(in_l2).ready_at = how.done;
    tell_of_lookup(port::cache_event::kind::miss, line, asked, how.done);
    return in_l2;
}

void hierarchy::tell_of_lookup(port::cache_event::kind what, address line, time begin, time end) const {
    if (attached_.on_cache) attached_.on_cache->happened({what, port::level::l2, 0, false, line, begin, end});
}

time hierarchy::evict_from_l2(cache_array::place in_l2, time at) {
    l2_counters_.evictions += 1;
    if (attached_.on_cache) {
        attached_.on_cache->happened({port::cache_event::kind::eviction, port::level::l2, 0, false,
                                      l2_.line_at(in_l2), at, at});
    }
    empty_l2(in_l2, at);
    if (l2_.state(in_l2).dirty) {
        l2_counters_.write_backs += 1;
        const address line = l2_.line_at(in_l2);
        at = may_leave(port::level::l2, 0, line, l2_.bytes(in_l2), port::reason::eviction, at);
        at = below_.write({line, byte_mask::all(), l2_.bytes(in_l2)}, {port::reason::eviction, {}}, at);
    }
    return at;
}

// Takes the line from all L1s; L2 has its newest bytes then.
void hierarchy::empty_l2(cache_array::place in_l2, time& at) {
    if (l2_.state(in_l2).owner != line_state::no_owner) take_from_owner(in_l2, false, at);
    drop_sharers(in_l2, no_core);
}

time hierarchy::stream(const store_source& who, address where, std::span<const std::byte> bytes, time at) {
    const address line = where.line();
    at += config_.dl1.latency;
    if (const cache_array::place in_l2 = l2_.find(line); in_l2 != cache_array::nowhere) {
        at += l2_.latency;
        empty_l2(in_l2, at);
        if (l2_.state(in_l2).dirty) {
            at = may_leave(port::level::l2, 0, line, l2_.bytes(in_l2), port::reason::taken, at);
            at = below_.write({line, byte_mask::all(), l2_.bytes(in_l2)}, {port::reason::taken, {}}, at);
        }
        l2_.remove(in_l2);
    }
    return below_.stream(who.hart, where, bytes, at);
}

}  // namespace holdfast::sim
