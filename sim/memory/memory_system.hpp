// The memory behind the caches: DRAM and NVRAM, told apart by address.
#pragma once

#include <sim/memory/nvram_controller.hpp>

namespace holdfast::sim {

struct dram_counters {
    std::uint64_t reads = 0;
    std::uint64_t writes = 0;

    template <class Self, class Visitor>
    static void visit_fields(Self& self, Visitor&& visit) {
        visit("reads", self.reads);
        visit("writes", self.writes);
    }
};

class memory_system final : public memory_below {
public:
    /// Requires: check(config) finds nothing.
    memory_system(const memory_config& config, const port::ports& attached)
        : map_(config.map), dram_(config.dram), nvram_(config, attached) {}

    time read(address line, line_data& into, time at) override;
    time write(const line_write& what, write_origin origin, time at) override;
    time stream(hart_id hart, address where, std::span<const std::byte> bytes, time at) override;
    void await(hart_id hart, address line, time at) override;
    time fence(hart_id hart, time at) override { return nvram_.fence(hart, at); }
    void prefetch(address line) const override {
        (map_.is_nvram(line) ? nvram_.image() : dram_image_).prefetch(line);
    }
    void peek(address line, line_data& into) const override;
    void poke(const line_write& what) override;

    void settle(time now) { nvram_.settle(now); }
    void set_instant(bool instant);

    const memory_map& map() const noexcept { return map_; }
    nvram_controller& nvram() noexcept { return nvram_; }
    const nvram_controller& nvram() const noexcept { return nvram_; }
    const dram_counters& dram() const noexcept { return dram_counters_; }

private:
    memory_map map_;
    dram_config dram_;
    nvram_controller nvram_;
    memory_image dram_image_;
    dram_counters dram_counters_{};
    bool instant_ = false;
};

}  // namespace holdfast::sim
