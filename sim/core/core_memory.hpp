// The memory as the cores' harts see it: a store queue for each, caches behind them. It is the interpreter's memory
// policy, and says the scoreboard how long accesses take.
//
// Total store order. A load has the youngest older store of its own hart, else what the caches have; both at the moment
// at which the interpreter executes it. A store takes effect when it drains: in program order for each hart, no earlier
// than its instruction commits. The order of the calls to the caches is the memory order of the machine.
//
// What has to wait for a drain (a store for a place in the queue, an atomic operation or fence for all older stores, a
// load for a store that has a part of it) is refused until the time of that drain. So the other harts get there first,
// and no drain happens before its time.
#pragma once

#include <sim/cache/hierarchy.hpp>
#include <sim/core/core_watch.hpp>
#include <sim/core/reservations.hpp>
#include <sim/core/slots.hpp>
#include <sim/core/store_queue.hpp>
#include <sim/front/memory_policy.hpp>

#include <cassert>
#include <vector>

namespace holdfast::sim {

/// How many harts each core has, and which: hart h runs on core h modulo cores.
struct hart_placement {
    std::uint32_t harts = 1;
    std::uint32_t cores = 4;

    std::uint32_t core_of(std::uint32_t hart) const noexcept { return hart % cores; }
    std::uint32_t sharing(std::uint32_t hart) const noexcept {
        const std::uint32_t core = core_of(hart);
        return harts <= core ? 1 : (harts - core + cores - 1) / cores;
    }
    /// A hart's part of a queue.
    std::uint32_t part_of(std::uint32_t length, std::uint32_t hart) const noexcept {
        return std::max(length / sharing(hart), 1u);
    }
};

struct core_memory_counters {
    std::uint64_t forwarded_loads = 0;     ///< answered by the store queue
    std::uint64_t partial_overlaps = 0;    ///< loads that waited for a store to drain
    std::uint64_t store_queue_full = 0;    ///< times that a store was refused
    std::uint64_t store_prefetches = 0;         ///< lines asked for ahead of their store's drain
    std::uint64_t drained_stores = 0;
    std::uint64_t transactions = 0;
    std::uint64_t line_write_backs = 0;
    std::uint64_t persist_fences = 0;

    template <class Self, class Visitor>
    static void visit_fields(Self& self, Visitor&& visit) {
        visit("forwarded_loads", self.forwarded_loads);
        visit("partial_overlaps", self.partial_overlaps);
        visit("store_queue_full", self.store_queue_full);
        visit("store_prefetches", self.store_prefetches);
        visit("drained_stores", self.drained_stores);
        visit("transactions", self.transactions);
        visit("line_write_backs", self.line_write_backs);
        visit("persist_fences", self.persist_fences);
    }
};

class core_memory {
public:
    /// `space` says what may be accessed; its bytes are not looked at. All outlive it.
    core_memory(const core_config& config, const hierarchy_config& caches, const hart_placement& placement,
                const address_space& space, hierarchy& below, port::control_registers& registers);

    /// Pauses the hart that commits the transaction of this number, counted from the beginning; and always at the end
    /// of the region of interest.
    void pause_behind_transaction(std::uint64_t number) noexcept { transactions_wanted_ = number; }

    /// Who is told of drains and accesses from now on; outlives this.
    void set_watch(core_watch& by) noexcept { watch_ = &by; }

    // The memory policy.
    template <unsigned Bytes>
    bool load(hart& at, std::uint64_t where, std::uint64_t& value) {
        if (space_.find<Bytes>(where, readable) == nullptr) [[unlikely]] {
            return refuse_access(at, space_, "load", where);
        }
        lane& mine = lanes_[at.id.value];
        mine.match = {};
        if (!mine.queue.empty()) {
            mine.match = mine.queue.find({where}, Bytes);
            if (mine.match.found == queue_match::kind::some_bytes) [[unlikely]] {
                if (!drain_overlapping(at, {where}, Bytes)) return false;
                mine.match = {};
            }
        }
        value = mine.match.found == queue_match::kind::all_bytes ? mine.match.value
                                                                  : newest_bytes(mine.core, {where}, Bytes);
        return true;
    }

    template <unsigned Bytes>
    bool store(hart& at, std::uint64_t where, std::uint64_t value) {
        if (space_.find<Bytes>(where, writable) == nullptr) [[unlikely]] {
            return refuse_access(at, space_, "store", where);
        }
        lane& mine = lanes_[at.id.value];
        const bool in_line = address{where}.offset_in_line() + Bytes <= line_bytes;
        const queued_kind kind = at.streams_next && in_line ? queued_kind::streamed_store : queued_kind::store;
        if (!push(at, {kind, Bytes, mine.transaction, mine.in_transaction, {where}, value, 0, 0})) return false;
        at.streams_next = false;
        // A system call is no instruction that could commit.
        if (mine.in_system_call) [[unlikely]] drain_at_once(at);
        return true;
    }

    template <unsigned Bytes>
    bool load_reserved(hart& at, std::uint64_t where, std::uint64_t& value) {
        return load_and_reserve<Bytes>(*this, reservations_, at, where, value);
    }

    template <unsigned Bytes>
    bool store_conditional(hart& at, std::uint64_t where, std::uint64_t value, bool& done) {
        if (!may_update<Bytes>(at, where)) return false;
        lanes_[at.id.value].atomic_done = at.local_time + 1;
        return store_if_reserved(reservations_, at, where, done, [&] {
            update_now(at, where, Bytes, [&](std::uint64_t) { return std::optional(value); });
            return true;
        });
    }

    template <unsigned Bytes>
    bool update(hart& at, std::uint64_t where, atomic_update how, std::uint64_t operand, std::uint64_t& old) {
        if (!may_update<Bytes>(at, where)) return false;
        old = update_now(at, where, Bytes, [&](std::uint64_t was) {
            return std::optional(updated(how, was, operand, Bytes));
        });
        return true;
    }

    bool fence(hart& at, fence_order orders) { return orders != fence_order::all || serialize(at); }
    bool synchronize(hart& at) { return serialize(at); }
    bool custom(hart& at, custom_operation what, std::uint64_t first, std::uint64_t second);
    bool read(hart& at, std::uint64_t where, std::span<std::byte> bytes) {
        return read_newest(below_, at, space_, where, bytes);
    }

    // For the scoreboard.

    /// When the value of the load that the hart executed last can be used. `from`: its address is known.
    cycle finish_load(hart_id who, address where, std::uint32_t bytes, cycle from);
    /// When the atomic operation that the hart executed last has its result.
    cycle finish_atomic(hart_id who) noexcept {
        lane& mine = lanes_[who.value];
        mine.loads_from = mine.atomic_done;
        return mine.atomic_done;
    }
    /// Whether the hart's last instruction entered the queue, and from when on it has a place there.
    bool entered(hart_id who) const noexcept { return lanes_[who.value].entered; }
    cycle room_at(hart_id who) const noexcept { return lanes_[who.value].room_at; }
    /// The last instruction has its result and commits.
    void committed(hart_id who, cycle result, cycle commit) {
        lane& mine = lanes_[who.value];
        mine.last_commit = commit;
        if (!mine.entered) return;
        mine.entered = false;
        queued_store& last = mine.queue.back();
        last.data_ready = result;
        last.may_drain = commit;
        if (store_prefetch_ && last.kind == queued_kind::store) prefetch_for(who, last, commit);
    }
    void in_system_call(hart_id who, bool is_one) noexcept { lanes_[who.value].in_system_call = is_one; }
    /// Drains what begins to drain no later than `now`.
    void drain_until(hart_id who, cycle now) {
        lane& mine = lanes_[who.value];
        while (!mine.queue.empty() && drain_begins(mine) <= now) drain_oldest(who);
    }
    /// All queues, in the order of time. Returns when the last store took effect.
    cycle drain_everything();

    /// A tx_begin waited longer than any commit can take: 256 transactions are active, and none of them commits. It
    /// was left out, and the run is void.
    bool is_stuck() const noexcept { return stuck_; }

    std::size_t queued(hart_id who) const noexcept { return lanes_[who.value].queue.size(); }
    const core_memory_counters& counters() const noexcept { return counters_; }
    const core_clock& clock() const noexcept { return clock_; }
    /// An access of the hart's instruction cache; when the bytes are there, besides what every fetch takes.
    cycle fetch(hart_id who, address line, cycle at) {
        const std::uint32_t core = lanes_[who.value].core;
        const access how = below_.fetch(core, line, clock_.time_of(at));
        tell_of_access(who, l1_user::fetch, line, at, how);
        return how.by == answered_by::l1 ? at : clock_.at_or_after(how.done) - fetch_cycles_;
    }

private:
    struct lane {
        lane(std::uint32_t of_core, std::uint32_t length) : core(of_core), queue(length) {}

        std::uint32_t core;
        store_queue queue;
        queue_match match{};       ///< of the last load
        transaction_id transaction{};  ///< of what is executed next
        bool in_transaction = false;
        bool entered = false;
        bool in_system_call = false;
        cycle room_at = 0;
        cycle next_drain = 0;      ///< when the next drain may begin
        cycle last_effect = 0;     ///< when the last one was done
        cycle last_commit = 0;
        cycle loads_from = 0;      ///< no load before: an atomic operation or a fence
        cycle atomic_done = 0;
    };

    std::uint64_t newest_bytes(std::uint32_t core, address where, std::uint32_t bytes) const {
        const cache_array& l1 = below_.data_cache(core);
        const cache_array::place place = l1.find(where.line());
        std::uint64_t value = 0;
        if (place != cache_array::nowhere && where.offset_in_line() + bytes <= line_bytes) [[likely]] {
            std::memcpy(&value, l1.bytes(place).data() + where.offset_in_line(), bytes);
        } else {
            below_.peek(where, std::as_writable_bytes(std::span(&value, 1)).first(bytes));
        }
        return value;
    }

    /// When the oldest entry would drain. Requires: there is one.
    static cycle drain_begins(const lane& of) noexcept { return std::max(of.next_drain, of.queue.front().may_drain); }
    void drain_oldest(hart_id who);
    cycle drain_store(hart_id who, lane& of, cycle at);
    void drain_at_once(const hart& at) {
        committed(at.id, at.local_time, at.local_time);
        while (!lanes_[at.id.value].queue.empty()) drain_oldest(at.id);
    }
    /// What takes longer than any such operation does holds those behind it up.
    static void pass_delay_on(lane& of, cycle done, cycle usual) noexcept {
        of.next_drain = std::max(of.next_drain, done - std::min(done, usual));
    }
    void tell_of_access(hart_id who, l1_user by, address where, cycle at, const access& how) {
        if (watch_ != nullptr) [[unlikely]] tell_watch(who, by, where, at, how);
    }
    // Out of the way of those whom nobody watches.
    [[gnu::cold, gnu::noinline]] void tell_watch(hart_id who, l1_user by, address where, cycle at, const access& how);
    void prefetch_for(hart_id who, const queued_store& store, cycle at);
    cycle drain_log_operation(hart_id who, custom_operation what, time now);
    bool wait_until(hart& at, cycle when);
    bool wait_for_drain(hart& at);
    bool drain_overlapping(hart& at, address where, std::uint32_t bytes);
    bool serialize(hart& at);
    bool push(hart& at, const queued_store& made);
    bool waits_for_a_number(lane& of, cycle at);
    bool save_transaction(hart& at, std::uint64_t where);
    bool restore_transaction(hart& at, std::uint64_t saved);

    template <unsigned Bytes>
    bool may_update(hart& at, std::uint64_t where) {
        if (!is_aligned(at, where, Bytes)) return false;
        if (space_.find<Bytes>(where, writable) == nullptr) [[unlikely]] {
            return refuse_access(at, space_, "atomic operation", where);
        }
        return serialize(at);
    }
    template <class NewValue>
    std::uint64_t update_now(hart& at, std::uint64_t where, std::uint32_t bytes, NewValue&& new_value) {
        lane& mine = lanes_[at.id.value];
        const store_source who{mine.core, at.id, mine.transaction, mine.in_transaction};
        const load_result result = below_.update(who, {where}, bytes, clock_.time_of(at.local_time), new_value);
        tell_of_access(at.id, l1_user::store, {where}, at.local_time, result.how);
        reservations_.stored(at.id, {where}, bytes);
        mine.atomic_done = clock_.at_or_after(result.how.done);
        mine.next_drain = std::max(mine.next_drain, mine.atomic_done);
        mine.last_effect = std::max(mine.last_effect, mine.atomic_done);
        return result.value;
    }

    /// A miss begins when there are registers for it, and keeps them: begin(at) makes the access, and returns when it
    /// is done.
    template <class Begin>
    cycle with_miss_registers(std::uint32_t core, address line, cycle at, Begin&& begin);

    static constexpr cycle number_retry_cycles = 100;
    static constexpr time number_wait_most = ns(10'000'000);

    core_clock clock_;
    bool store_prefetch_;
    cycle load_cycles_;   ///< a hit
    cycle fetch_cycles_;
    cycle write_back_cycles_;
    const address_space& space_;
    hierarchy& below_;
    port::control_registers& registers_;
    core_watch* watch_ = nullptr;
    reservations reservations_{};
    std::vector<lane> lanes_;
    std::vector<slots> load_ports_;
    std::vector<miss_registers> l1_misses_;
    miss_registers l2_misses_;
    std::uint64_t transactions_wanted_ = ~std::uint64_t{0};
    bool stuck_ = false;
    core_memory_counters counters_{};
};

}  // namespace holdfast::sim
