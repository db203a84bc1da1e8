// What happened in a window of a run, collected as a timeline: it listens to cores, caches and banks and keeps what
// touches the window.
#pragma once

#include <sim/core/core_memory.hpp>
#include <sim/machine/machine_config.hpp>
#include <sim/timeline/timeline.hpp>

#include <array>

namespace holdfast::sim {

/// Cycles of the detailed phase, the second one not included.
struct trace_window {
    cycle from = 0, to = 0;
    /// More would be no page that anyone can open.
    static constexpr cycle longest = 100'000;
};

class run_trace final : public core_watch, public port::cache_watch, public port::bank_watch, public port::log_watch {
public:
    /// `with_log`: there is logging hardware, which has lanes of its own. Requires: window.from < window.to.
    run_trace(const machine_config& config, const hart_placement& placement, trace_window window, bool with_log);

    void executed(const instruction_event& event) override;
    void drained(const drain_event& event) override;
    void accessed(const l1_event& event) override;
    void happened(const port::cache_event& event) override;
    void access(const port::bank_event& event) override;
    void happened(const port::log_event& event) override;

    /// Lanes: instructions and store queue of each hart, the L1s of each core that has one, L2, the controller's
    /// queues, banks; with logging hardware its buffer, scans, held lines, and the controller's queue of the log.
    /// Writes that wait in the controller when the run ends are not in it.
    timeline collected(std::string title) && {
        made_.title = std::move(title);
        return std::move(made_);
    }

private:
    /// Whether something with these ends is to be seen.
    bool is_seen(time begin, time end) const noexcept {
        return begin < made_.end && (end > made_.begin || begin >= made_.begin);
    }
    bool is_seen(cycle begin, cycle end) const noexcept { return is_seen(clock_.time_of(begin), clock_.time_of(end)); }

    std::size_t instructions_of(hart_id who) const noexcept { return 2 * std::size_t{who.value}; }
    std::size_t store_queue_of(hart_id who) const noexcept { return instructions_of(who) + 1; }
    std::size_t l1_of(std::uint32_t core, bool instructions) const noexcept {
        return first_l1_ + 2 * std::size_t{core} + (instructions ? 0 : 1);
    }

    core_clock clock_;
    time l1_latency_;
    std::size_t first_l1_, l2_, log_buffer_, held_lines_, scans_, read_queue_, write_queue_, log_queue_, first_bank_;
    /// How the last load of each core was answered, which is told before its instruction is.
    std::vector<answered_by> last_load_;
    timeline made_{};
};

}  // namespace holdfast::sim
