// A logging design as one piece of hardware: the log, and the scans that free it.
#pragma once

#include <sim/logging/design.hpp>
#include <sim/logging/force_write_back.hpp>

namespace holdfast::sim {

class logging_hardware : public port::time_passing {
public:
    /// Gives itself a log at the NVRAM's end. All outlive it. Requires: `what` has logging hardware.
    logging_hardware(design what, log_config config, port::ports& attached, port::control_registers& registers,
                     memory_system& memory, hierarchy& caches)
        : what_(what), log_(with_values_of(what, config), attached, registers, memory), scans_(caches, memory, log_) {
        attached.on_time = this;
        const memory_map& map = memory.map();
        const std::uint64_t bytes = config.bytes / line_bytes * line_bytes;
        region_ = {map.nvram_begin + (map.nvram_bytes / line_bytes * line_bytes - bytes), bytes};
        registers.create_log({}, region_, time{});
    }

    void reached(time at) override {
        // While caches are warmed up the ring may wrap: nothing of it is needed later.
        if (is_measured_) log_.settle(at);
        if (has_scans()) is_measured_ ? scans_.reached(at) : scans_.reached_in_warm_up();
    }
    void measured_begin() override {
        // No record of the warm-up is needed any more. Lines stay as dirty as they are: they leave later, with these
        // bytes or newer ones.
        scans_.write_homes();
        log_.restart();
        scans_.restart();
        is_measured_ = true;
    }

    bool has_scans() const noexcept { return what_ == design::fwb; }
    const hardware_log& log() const noexcept { return log_; }
    scan_counters scans_until(time moment) const { return scans_.counters_until(moment); }
    bool scans_are_steady() const { return scans_.is_steady(); }
    const port::log_region& region() const noexcept { return region_; }

private:
    static log_config with_values_of(design what, log_config config) noexcept {
        if (what == design::hw_rlog) config.values = logged_values::redo;
        if (what == design::hw_ulog) config.values = logged_values::undo;
        // Their ring is overwritten without asking.
        if (what == design::hw_rlog || what == design::hw_ulog) config.safety = log_safety::faithful;
        return config;
    }

    design what_;
    hardware_log log_;
    force_write_back scans_;
    port::log_region region_{};
    bool is_measured_ = false;
};

}  // namespace holdfast::sim
