// The DIMM: banks, the bus in front of them, and which address lies where. Timing and counts only; the bytes are in
// the memory image.
#pragma once

#include <sim/memory/calendar.hpp>
#include <sim/memory/memory_config.hpp>
#include <sim/memory/nvram_bank.hpp>

namespace holdfast::sim {

struct nvram_place {
    std::uint32_t bank = 0;
    std::uint64_t row = 0;
    std::uint32_t line_in_row = 0;
};

class nvram_dimm {
public:
    nvram_dimm(const nvram_config& config, address begin);
    nvram_dimm(const nvram_dimm&) = delete;
    nvram_dimm& operator=(const nvram_dimm&) = delete;

    nvram_place place_of(address line) const noexcept;

    /// The first chance not before `from` at which bank and bus are free; nothing is reserved yet.
    nvram_bank::plan find(const nvram_place& place, access_kind kind, time from) const noexcept;
    void take(const nvram_bank::plan& chance, const nvram_place& place, access_kind kind);

    const nvram_bank& bank(std::uint32_t number) const noexcept { return banks_[number]; }
    std::uint32_t banks() const noexcept { return config_.banks; }
    const nvram_config& config() const noexcept { return config_; }

    const nvram_counters& counters() const noexcept { return counters_; }
    /// Lines that are dirty in the row buffers and not yet counted as programmed.
    std::uint64_t dirty_lines() const noexcept;

private:
    /// The burst is the end of a read and the beginning of a write.
    time burst_of(const nvram_bank::plan& chance, access_kind kind) const noexcept {
        return kind == access_kind::read ? chance.end() - config_.bus_burst : chance.begin;
    }

    nvram_config config_;
    address begin_;
    std::vector<nvram_bank> banks_;
    calendar bus_;
    nvram_counters counters_{};
};

}  // namespace holdfast::sim
