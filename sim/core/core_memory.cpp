#include <sim/core/core_memory.hpp>

#include <sim/core/log_operation.hpp>
#include <sim/front/refuse_transaction.hpp>

namespace holdfast::sim {

static_assert(memory_policy<core_memory>);

core_memory::core_memory(const core_config& config, const hierarchy_config& caches, const hart_placement& placement,
                         const address_space& space, hierarchy& below, port::control_registers& registers)
    : clock_(config.clock),
      store_prefetch_(config.store_prefetch),
      load_cycles_(clock_.at_or_after(caches.dl1.latency)),
      fetch_cycles_(clock_.at_or_after(caches.il1.latency)),
      write_back_cycles_(clock_.at_or_after(caches.dl1.latency + caches.l2.latency)),
      space_(space),
      below_(below),
      registers_(registers),
      load_ports_(placement.cores, slots(config.load_ports)),
      l1_misses_(placement.cores, miss_registers(config.l1_miss_registers)),
      l2_misses_(config.l2_miss_registers) {
    lanes_.reserve(placement.harts);
    for (std::uint32_t hart = 0; hart < placement.harts; ++hart) {
        lanes_.emplace_back(placement.core_of(hart), placement.part_of(config.store_queue, hart));
        // A transaction of the warm-up may be open.
        lanes_.back().transaction = registers.transaction({hart});
        lanes_.back().in_transaction = registers.in_transaction({hart});
    }
}

template <class Begin>
cycle core_memory::with_miss_registers(std::uint32_t core, address line, cycle at, Begin&& begin) {
    if (below_.data_cache(core).find(line) != cache_array::nowhere) [[likely]] return begin(at);
    const miss_registers::choice in_l1 = l1_misses_[core].choose(at);
    if (below_.l2().find(line) != cache_array::nowhere) {
        const cycle done = begin(in_l1.from);
        l1_misses_[core].hold(in_l1.which, done);
        return done;
    }
    const miss_registers::choice in_l2 = l2_misses_.choose(in_l1.from);
    const cycle done = begin(in_l2.from);
    l1_misses_[core].hold(in_l1.which, done);
    l2_misses_.hold(in_l2.which, done);
    return done;
}

cycle core_memory::finish_load(hart_id who, address where, std::uint32_t bytes, cycle from) {
    lane& mine = lanes_[who.value];
    from = load_ports_[mine.core].take(std::max(from, mine.loads_from));
    if (mine.match.found == queue_match::kind::all_bytes) {
        counters_.forwarded_loads += 1;
        return std::max(from, mine.match.data_ready) + load_cycles_;
    }
    return with_miss_registers(mine.core, where.line(), from, [&](cycle at) {
        const access how = below_.load(mine.core, where, bytes, clock_.time_of(at)).how;
        tell_of_access(who, l1_user::load, where, at, how);
        return how.by == answered_by::l1 ? at + load_cycles_ : clock_.at_or_after(how.done);
    });
}

void core_memory::tell_watch(hart_id who, l1_user by, address where, cycle at, const access& how) {
    watch_->accessed({who, lanes_[who.value].core, by, where, clock_.time_of(at), how});
}

void core_memory::prefetch_for(hart_id who, const queued_store& store, cycle at) {
    const std::uint32_t core = lanes_[who.value].core;
    const cache_array& l1 = below_.data_cache(core);
    const address last = (store.where + (store.bytes - 1)).line();
    for (address line = store.where.line(); line <= last; line = line + line_bytes) {
        const cache_array::place place = l1.find(line);
        if (place != cache_array::nowhere && l1.state(place).writable) continue;
        counters_.store_prefetches += 1;
        with_miss_registers(core, line, at, [&](cycle begin) {
            const access how = below_.prefetch_for_store(core, line, clock_.time_of(begin));
            tell_of_access(who, l1_user::store_prefetch, line, begin, how);
            return clock_.at_or_after(how.done);
        });
    }
}

cycle core_memory::drain_store(hart_id who, lane& of, cycle at) {
    const queued_store& store = of.queue.front();
    const std::span<const std::byte> bytes = std::as_bytes(std::span(&store.value, 1)).first(store.bytes);
    const store_source source{of.core, who, store.transaction, store.in_transaction};
    counters_.drained_stores += 1;
    reservations_.stored(who, store.where, store.bytes);
    if (store.kind == queued_kind::streamed_store) {
        const cycle done = clock_.at_or_after(below_.stream(source, store.where, bytes, clock_.time_of(at)));
        pass_delay_on(of, done, write_back_cycles_);
        return done;
    }
    return with_miss_registers(of.core, store.where.line(), at, [&](cycle begin) {
        const access how = below_.store(source, store.where, bytes, clock_.time_of(begin));
        tell_of_access(who, l1_user::store, store.where, begin, how);
        const cycle done = clock_.at_or_after(how.done);
        // Hits follow each other in each cycle; what delays one delays those behind it.
        of.next_drain = how.by == answered_by::l1 ? done - load_cycles_ + 1 : done;
        return done;
    });
}

cycle core_memory::drain_log_operation(hart_id who, custom_operation what, time now) {
    lane& mine = lanes_[who.value];
    const queued_store& oldest = mine.queue.front();
    const time done = operate_log(registers_, who, what, oldest.where.value, oldest.value, now);
    return mine.next_drain = clock_.at_or_after(done);
}

void core_memory::drain_oldest(hart_id who) {
    lane& mine = lanes_[who.value];
    const queued_store& oldest = mine.queue.front();
    const cycle at = drain_begins(mine);
    const time now = clock_.time_of(at);
    cycle done = at;
    mine.next_drain = at + 1;
    switch (oldest.kind) {
    case queued_kind::store:
    case queued_kind::streamed_store: done = drain_store(who, mine, at); break;
    case queued_kind::write_back:
        done = clock_.at_or_after(
            below_.write_back({mine.core, who, oldest.transaction, oldest.in_transaction}, oldest.where, now));
        pass_delay_on(mine, done, write_back_cycles_);
        break;
    case queued_kind::persist_fence:
        done = mine.next_drain = std::max(clock_.at_or_after(below_.fence(who, now)), mine.next_drain);
        break;
    case queued_kind::begin:
        if (registers_.may_begin(who)) {
            done = mine.next_drain = clock_.at_or_after(registers_.begin(who, oldest.transaction, now));
        } else if (waits_for_a_number(mine, at)) {
            return;
        }
        break;
    case queued_kind::commit:
        done = mine.next_drain = clock_.at_or_after(registers_.commit(who, now));
        break;
    case queued_kind::log_create: done = drain_log_operation(who, custom_operation::log_create, now); break;
    case queued_kind::log_truncate: done = drain_log_operation(who, custom_operation::log_truncate, now); break;
    case queued_kind::log_grow: done = drain_log_operation(who, custom_operation::log_grow, now); break;
    }
    mine.last_effect = std::max(mine.last_effect, done);
    if (watch_ != nullptr) [[unlikely]] watch_->drained({who, oldest, at, done});
    mine.queue.pop(done);
}

/// Asks again later, but not for ever: who waits may be the one that would have to commit.
bool core_memory::waits_for_a_number(lane& of, cycle at) {
    const cycle asked = std::max(of.last_effect, of.queue.front().may_drain);
    if (clock_.time_of(at) > clock_.time_of(asked) + number_wait_most) {
        stuck_ = true;
        return false;
    }
    of.next_drain = at + number_retry_cycles;
    return true;
}

bool core_memory::save_transaction(hart& at, std::uint64_t where) {
    if (space_.find<8>(where, writable) == nullptr) return refuse_access(at, space_, "saving a transaction", where);
    // The register has what the last begin or commit left once that has drained.
    if (!serialize(at)) return false;
    lane& mine = lanes_[at.id.value];
    const std::uint64_t saved = registers_.save(at.id);
    mine.in_transaction = false;
    return store<8>(at, where, saved);
}

bool core_memory::restore_transaction(hart& at, std::uint64_t saved) {
    if (!serialize(at)) return false;
    if (!registers_.restore(at.id, saved)) return refuse_restore(at, saved);
    lane& mine = lanes_[at.id.value];
    mine.transaction = registers_.transaction(at.id);
    mine.in_transaction = registers_.in_transaction(at.id);
    return true;
}

cycle core_memory::drain_everything() {
    cycle last = 0;
    while (true) {
        const lane* earliest = nullptr;
        for (const lane& each : lanes_) {
            if (each.queue.empty()) continue;
            if (earliest == nullptr || drain_begins(each) < drain_begins(*earliest)) earliest = &each;
        }
        if (earliest == nullptr) break;
        drain_oldest({static_cast<std::uint32_t>(earliest - lanes_.data())});
    }
    for (const lane& each : lanes_) last = std::max({last, each.last_effect, each.last_commit});
    return last;
}

bool core_memory::wait_until(hart& at, cycle when) {
    if (when <= at.local_time) return true;
    at.local_time = when;
    at.stop = hart_stop::refused;
    return false;
}

bool core_memory::wait_for_drain(hart& at) {
    if (!wait_until(at, drain_begins(lanes_[at.id.value]))) return false;
    drain_oldest(at.id);
    return true;
}

bool core_memory::drain_overlapping(hart& at, address where, std::uint32_t bytes) {
    lane& mine = lanes_[at.id.value];
    while (mine.queue.find(where, bytes).found == queue_match::kind::some_bytes) {
        if (!wait_for_drain(at)) return false;
    }
    mine.loads_from = std::max(mine.loads_from, mine.last_effect);
    counters_.partial_overlaps += 1;
    return true;
}

bool core_memory::serialize(hart& at) {
    lane& mine = lanes_[at.id.value];
    while (!mine.queue.empty()) {
        if (!wait_for_drain(at)) return false;
    }
    if (!wait_until(at, std::max(mine.last_effect, mine.last_commit))) return false;
    mine.loads_from = std::max(mine.loads_from, at.local_time);
    return true;
}

bool core_memory::push(hart& at, const queued_store& made) {
    lane& mine = lanes_[at.id.value];
    if (mine.queue.full()) {
        // Counted when it is refused, not when it comes again.
        if (!wait_for_drain(at)) {
            counters_.store_queue_full += 1;
            return false;
        }
    }
    mine.room_at = mine.queue.push(made);
    mine.entered = true;
    return true;
}

bool core_memory::custom(hart& at, custom_operation what, std::uint64_t first, std::uint64_t second) {
    lane& mine = lanes_[at.id.value];
    const auto enter = [&](queued_kind kind) {
        return push(at, {kind, 0, mine.transaction, mine.in_transaction, {first}, second, 0, 0});
    };
    switch (what) {
    case custom_operation::transaction_begin: {
        const transaction_id id{static_cast<std::uint16_t>(first)};
        if (!push(at, {queued_kind::begin, 0, id, true, {}, 0, 0, 0})) return false;
        mine.transaction = id;
        mine.in_transaction = true;
        return true;
    }
    case custom_operation::transaction_commit:
        if (!enter(queued_kind::commit)) return false;
        mine.in_transaction = false;
        counters_.transactions += 1;
        if (counters_.transactions == transactions_wanted_) at.stop = hart_stop::paused;
        return true;
    case custom_operation::line_write_back:
        if (space_.find<1>(first, readable) == nullptr) return refuse_access(at, space_, "line write-back", first);
        if (!enter(queued_kind::write_back)) return false;
        counters_.line_write_backs += 1;
        return true;
    case custom_operation::persist_fence:
        if (!enter(queued_kind::persist_fence)) return false;
        counters_.persist_fences += 1;
        return true;
    case custom_operation::non_temporal: at.streams_next = true; return true;
    case custom_operation::transaction_save: return save_transaction(at, first);
    case custom_operation::transaction_restore: return restore_transaction(at, first);
    case custom_operation::log_create: return enter(queued_kind::log_create);
    case custom_operation::log_truncate: return enter(queued_kind::log_truncate);
    case custom_operation::log_grow: return enter(queued_kind::log_grow);
    case custom_operation::region_of_interest_end: at.stop = hart_stop::paused; return true;
    default: return true;
    }
}

}  // namespace holdfast::sim
