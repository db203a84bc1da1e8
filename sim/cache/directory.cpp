// What L2 knows of the L1s and asks of them, and what lines go through on their way to memory.
#include <sim/base/planted.hpp>
#include <sim/cache/hierarchy.hpp>

namespace holdfast::sim {

time hierarchy::may_leave(port::level from, std::uint32_t cache, address line, const line_data& bytes,
                          port::reason why, time at) const {
    const time asked = at;
    if (attached_.on_write_back) {
        const port::permission leave = attached_.on_write_back->leave({from, cache, line, line_view(bytes), why, at});
        at = std::max(at, leave.not_before);
        if (leave.until_released) {
            // Whoever needs the place has to be told a time.
            const time released = attached_.on_write_back->press(line, at);
            if (released != never) at = std::max(at, released);
        }
    }
    if (attached_.on_cache) {
        attached_.on_cache->happened({port::cache_event::kind::write_back, from, cache, false, line, asked, at});
    }
    return at;
}

void hierarchy::store_in_l2(cache_array::place in_l2, const line_data& bytes, std::uint8_t spare) {
    // No use by the program, so the order of use stays as it is.
    l2_counters_.writes += 1;
    l2_.bytes(in_l2) = bytes;
    l2_.state(in_l2).dirty = true;
    // How long the line has been dirty goes with it.
    if (!is_planted(planted_fault::fwb_bit_lost)) l2_.state(in_l2).spare |= spare;
}

// The L1 that may have changed the line gives its bytes to L2, and keeps it without the right to write, or not at all.
void hierarchy::take_from_owner(cache_array::place in_l2, bool keep_shared, time& at) {
    line_state& shared = l2_.state(in_l2);
    const std::uint32_t owner = shared.owner;
    const address line = l2_.line_at(in_l2);
    cache_array& cache = cores_[owner].data;
    const cache_array::place place = cache.find(line);
    line_state& state = cache.state(place);
    at = in_flight(state, at, at) + config_.intervention;
    if (state.dirty) {
        at = may_leave(port::level::l1, owner, line, cache.bytes(place), port::reason::taken, at);
        store_in_l2(in_l2, cache.bytes(place), state.spare);
        state.dirty = false;
        state.spare = 0;
    }
    state.writable = false;
    shared.owner = line_state::no_owner;
    if (keep_shared) return;
    cache.remove(place);
    shared.data_sharers &= static_cast<std::uint8_t>(~(1u << owner));
    counters_[owner].data.recalled += 1;
}

void hierarchy::drop_sharers(cache_array::place in_l2, std::uint32_t but_core) {
    line_state& shared = l2_.state(in_l2);
    const address line = l2_.line_at(in_l2);
    const unsigned kept = but_core == no_core ? 0 : shared.data_sharers & 1u << but_core;
    for (unsigned rest = shared.data_sharers & ~kept; rest != 0; rest &= rest - 1) {
        const auto core = static_cast<std::uint32_t>(std::countr_zero(rest));
        cores_[core].data.remove(cores_[core].data.find(line));
        counters_[core].data.recalled += 1;
    }
    for (unsigned rest = shared.fetch_sharers; rest != 0; rest &= rest - 1) {
        const auto core = static_cast<std::uint32_t>(std::countr_zero(rest));
        cores_[core].instructions.remove(cores_[core].instructions.find(line));
        counters_[core].instructions.recalled += 1;
    }
    shared.data_sharers = static_cast<std::uint8_t>(kept);
    shared.fetch_sharers = 0;
}

time hierarchy::clean_owner(cache_array::place in_l2, port::reason why, time at) {
    const std::uint32_t owner = l2_.state(in_l2).owner;
    if (owner == line_state::no_owner) return at;
    const address line = l2_.line_at(in_l2);
    cache_array& cache = cores_[owner].data;
    const cache_array::place place = cache.find(line);
    line_state& state = cache.state(place);
    if (!state.dirty) return at;
    at = may_leave(port::level::l1, owner, line, cache.bytes(place), why, at);
    store_in_l2(in_l2, cache.bytes(place), state.spare);
    state.dirty = false;
    state.spare = 0;
    counters_[owner].data.lines_cleaned += 1;
    return at;
}

time hierarchy::clean(cache_array::place in_l2, write_origin origin, time at) {
    at = clean_owner(in_l2, origin.why, at);
    line_state& state = l2_.state(in_l2);
    if (!state.dirty) return at;
    const address line = l2_.line_at(in_l2);
    at = may_leave(port::level::l2, 0, line, l2_.bytes(in_l2), origin.why, at);
    at = below_.write({line, byte_mask::all(), l2_.bytes(in_l2)}, origin, at);
    state.dirty = false;
    state.spare = 0;
    l2_counters_.lines_cleaned += 1;
    return at;
}

time hierarchy::write_back(const store_source& who, address where, time at) {
    const address line = where.line();
    at += config_.dl1.latency + l2_.latency;
    const cache_array::place in_l2 = l2_.find(line);
    // An earlier write of the line may be on its way; the fence is to wait for it though the line is clean.
    if (in_l2 != cache_array::nowhere) at = clean(in_l2, {port::reason::instruction, hart_set::only(who.hart)}, at);
    below_.await(who.hart, line, at);
    return at;
}

time hierarchy::force_write_back(address line, time at) {
    const cache_array::place in_l2 = l2_.find(line.line());
    if (in_l2 == cache_array::nowhere) return at;
    if (is_planted(planted_fault::forced_into_l2) && l2_.state(in_l2).owner != line_state::no_owner) {
        const time there = clean_owner(in_l2, port::reason::forced, at + l2_.latency);
        l2_.state(in_l2).spare = 0;
        return there;
    }
    return clean(in_l2, {port::reason::forced, hart_set::none()}, at + l2_.latency);
}

void hierarchy::peek(address where, std::span<std::byte> into) const {
    while (!into.empty()) {
        const address line = where.line();
        line_data bytes;
        const cache_array::place in_l2 = l2_.find(line);
        if (in_l2 == cache_array::nowhere) {
            below_.peek(line, bytes);
        } else if (const std::uint32_t owner = l2_.state(in_l2).owner; owner != line_state::no_owner) {
            bytes = cores_[owner].data.bytes(cores_[owner].data.find(line));
        } else {
            bytes = l2_.bytes(in_l2);
        }
        const std::size_t count = std::min<std::size_t>(into.size(), line_bytes - where.offset_in_line());
        std::memcpy(into.data(), bytes.data() + where.offset_in_line(), count);
        into = into.subspan(count);
        where = where + count;
    }
}

void hierarchy::poke(address where, std::span<const std::byte> bytes) {
    while (!bytes.empty()) {
        const std::size_t count = std::min<std::size_t>(bytes.size(), line_bytes - where.offset_in_line());
        line_write part{where.line(), byte_mask{}, {}};
        part.add(where.offset_in_line(), bytes.first(count));
        below_.poke(part);
        if (const cache_array::place in_l2 = l2_.find(part.line); in_l2 != cache_array::nowhere) {
            part.apply_to(l2_.bytes(in_l2));
            for (core_caches& core : cores_) {
                for (cache_array* const cache : {&core.instructions, &core.data}) {
                    const cache_array::place place = cache->find(part.line);
                    if (place != cache_array::nowhere) part.apply_to(cache->bytes(place));
                }
            }
        }
        bytes = bytes.subspan(count);
        where = where + count;
    }
}

}  // namespace holdfast::sim
