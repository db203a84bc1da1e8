// Cores that execute out of order, in one pass: an instruction that has been executed is given its times at once, from
// those of its operands and of the units that it needs, and nothing is looked at again.
//
// A hart's local time is the cycle at which its last instruction entered the reorder buffer. In order: entering, at
// most `issue_width` a cycle for all harts of a core; leaving (commit). Out of order: execution, as soon as operands, a
// slot and the unit are there. With a reorder buffer of n entries an instruction enters when the n-th one before it has
// committed; loads and stores need a place in their queues besides.
//
// Only what is executed is seen: behind a mispredicted branch nothing enters before the branch has its result and the
// penalty is over. A load waits for no older store but one that has its bytes, as if addresses were always predicted
// right. Atomic operations and full fences begin when all that is older is done, and let no younger load pass.
#pragma once

#include <sim/core/branch_predictor.hpp>
#include <sim/core/core_memory.hpp>
#include <sim/front/harts.hpp>
#include <sim/memory/memory_system.hpp>

#include <functional>

namespace holdfast::sim {

struct scoreboard_counters {
    std::uint64_t instructions = 0;
    std::uint64_t branches = 0;  ///< and jumps
    std::uint64_t mispredictions = 0;
    std::uint64_t loads = 0;
    std::uint64_t stores = 0;
    std::uint64_t atomics = 0;

    template <class Self, class Visitor>
    static void visit_fields(Self& self, Visitor&& visit) {
        visit("instructions", self.instructions);
        visit("branches", self.branches);
        visit("mispredictions", self.mispredictions);
        visit("loads", self.loads);
        visit("stores", self.stores);
        visit("atomics", self.atomics);
    }
};

class scoreboard {
public:
    /// `settle` is called often with a time before which nothing will be asked of the memory any more.
    scoreboard(const core_config& config, const hart_placement& placement, core_memory& memory, const harts& all,
               std::function<void(time)> settle)
        : config_(config), memory_(memory), all_(all), settle_(std::move(settle)) {
        for (std::uint32_t each = 0; each < placement.cores; ++each) cores_.emplace_back(config);
        for (std::uint32_t hart = 0; hart < placement.harts; ++hart) {
            threads_.emplace_back(config, placement.core_of(hart), placement.part_of(config.reorder_buffer, hart),
                                  placement.part_of(config.load_queue, hart));
        }
    }

    /// Who is told of instructions from now on; outlives this.
    void set_watch(core_watch& by) noexcept { watch_ = &by; }

    /// The observer of the interpreter.
    void retired(hart& at, const retired_instruction& what) {
        thread& mine = threads_[at.id.value];
        core& on = cores_[mine.core];
        const cycle entered = enter(at, mine, on, what);
        const cycle operands = std::max({mine.ready[what.source1], mine.ready[what.source2], mine.ready[what.source3]});
        const cycle issued = on.executing.take(std::max(entered + 1, operands));
        const cycle result = execute(at.id, mine, on, what, issued);
        mine.ready[what.destination] = result;
        const cycle commit = std::max({result, mine.last_commit, mine.commits.room_at() + 1});
        mine.last_commit = commit;
        mine.commits.enter(commit);
        mine.reorder_buffer.enter(commit);
        if (what.group == operation_class::load) mine.load_queue.enter(commit);
        mine.counters.instructions += 1;
        // Others may have instructions before this one entered: they are not to see what drains until then.
        const cycle drained_until = std::exchange(at.local_time, entered);
        if (watch_ != nullptr) [[unlikely]] watch_->executed({at.id, what, entered, issued, result, commit});
        memory_.committed(at.id, result, commit);
        memory_.drain_until(at.id, drained_until);
        memory_.in_system_call(at.id, what.code == operation_code::ecall);
        if (--until_settling_ == 0) settle_now();
    }

    const scoreboard_counters& counters(hart_id who) const noexcept { return threads_[who.value].counters; }
    cycle last_commit(hart_id who) const noexcept { return threads_[who.value].last_commit; }

private:
    struct core {
        explicit core(const core_config& config)
            : entering(config.issue_width), executing(config.issue_width), predictor(config.history_bits) {}

        slots entering, executing;
        branch_predictor predictor;
        cycle divider_free = 0;
        cycle fp_divider_free = 0;
    };
    struct thread {
        thread(const core_config& config, std::uint32_t of_core, std::uint32_t buffer, std::uint32_t loads)
            : core(of_core), reorder_buffer(buffer), load_queue(loads), commits(config.issue_width),
              history(config.return_stack) {}

        std::uint32_t core;
        window reorder_buffer, load_queue, commits;
        branch_history history;
        std::array<cycle, register_count> ready{};
        cycle last_commit = 0;
        cycle fetched_from = 0;  ///< nothing enters before: misprediction, or a miss of the instruction cache
        std::uint64_t fetched_line = ~std::uint64_t{0};
        scoreboard_counters counters{};
    };

    static constexpr std::uint32_t settling_interval = 64;

    /// The cycle at which the instruction enters the reorder buffer.
    cycle enter(const hart& at, thread& mine, core& on, const retired_instruction& what) {
        cycle from = std::max({at.local_time, mine.fetched_from, mine.reorder_buffer.room_at()});
        const std::uint64_t line = address{what.pc}.line().value;
        if (line != mine.fetched_line) {
            mine.fetched_line = line;
            from = memory_.fetch(at.id, {line}, from);
        }
        if (what.group == operation_class::load) from = std::max(from, mine.load_queue.room_at());
        if (memory_.entered(at.id)) from = std::max(from, memory_.room_at(at.id));
        return on.entering.take(from);
    }

    /// When the instruction has its result. `from`: its operands and a slot are there.
    cycle execute(hart_id who, thread& mine, core& on, const retired_instruction& what, cycle from) {
        switch (what.group) {
        case operation_class::load:
            mine.counters.loads += 1;
            return memory_.finish_load(who, {what.address}, what.memory_bytes, from);
        case operation_class::store: mine.counters.stores += 1; return from + 1;
        case operation_class::branch:
        case operation_class::jump: return resolve(mine, on, what, from + 1);
        case operation_class::multiply: return from + config_.multiply_cycles;
        case operation_class::divide: return divide(on.divider_free, config_.divide_cycles, from);
        case operation_class::fp_add: return from + config_.fp_add_cycles;
        case operation_class::fp_multiply: return from + config_.fp_multiply_cycles;
        case operation_class::fp_divide: return divide(on.fp_divider_free, config_.fp_divide_cycles, from);
        case operation_class::atomic: return finish_atomic(who, mine, what, from);
        default: return from + 1;
        }
    }

    cycle finish_atomic(hart_id who, thread& mine, const retired_instruction& what, cycle from) {
        mine.counters.atomics += 1;
        if (is_load_reserved(what.code)) return memory_.finish_load(who, {what.address}, what.memory_bytes, from);
        return std::max(from, memory_.finish_atomic(who));
    }

    /// Not pipelined.
    static cycle divide(cycle& free, cycle takes, cycle from) {
        free = std::max(from, free) + takes;
        return free;
    }

    cycle resolve(thread& mine, core& on, const retired_instruction& what, cycle result) {
        mine.counters.branches += 1;
        if (!on.predictor.predicts(what, mine.history)) {
            mine.counters.mispredictions += 1;
            mine.fetched_from = result + config_.misprediction_cycles;
        }
        return result;
    }

    void settle_now() {
        until_settling_ = settling_interval;
        cycle least = ~cycle{0};
        for (const hart& each : all_.all()) {
            const bool sleeps = each.stop == hart_stop::waiting || each.stop == hart_stop::exited;
            if (!sleeps) least = std::min(least, each.local_time);
        }
        settle_(memory_.clock().time_of(least));
    }

    core_config config_;
    core_memory& memory_;
    const harts& all_;
    std::function<void(time)> settle_;
    core_watch* watch_ = nullptr;
    std::vector<core> cores_{};
    std::vector<thread> threads_{};
    std::uint32_t until_settling_ = settling_interval;
};

}  // namespace holdfast::sim
