#include <sim/memory/nvram_dimm.hpp>

namespace holdfast::sim {

nvram_dimm::nvram_dimm(const nvram_config& config, address begin) : config_(config), begin_(begin) {
    banks_.reserve(config_.banks);
    for (std::uint32_t number = 0; number < config_.banks; ++number) banks_.emplace_back(config_);
}

nvram_place nvram_dimm::place_of(address line) const noexcept {
    const std::uint64_t offset = line.value - begin_.value;
    const std::uint64_t block = offset / config_.interleave_bytes;
    const std::uint64_t in_bank =
        block / config_.banks * config_.interleave_bytes + offset % config_.interleave_bytes;
    return {static_cast<std::uint32_t>(block % config_.banks), in_bank / config_.row_bytes,
            static_cast<std::uint32_t>(in_bank % config_.row_bytes / line_bytes)};
}

nvram_bank::plan nvram_dimm::find(const nvram_place& place, access_kind kind, time from) const noexcept {
    while (true) {
        const nvram_bank::plan chance = banks_[place.bank].find(place.row, kind, from);
        const time wanted = burst_of(chance, kind);
        const time possible = bus_.first_gap(wanted, config_.bus_burst);
        if (possible == wanted) return chance;
        from = chance.begin + (possible - wanted);
    }
}

void nvram_dimm::take(const nvram_bank::plan& chance, const nvram_place& place, access_kind kind) {
    banks_[place.bank].take(chance, place.row, kind, place.line_in_row, counters_);
    bus_.take(burst_of(chance, kind), config_.bus_burst);
}

std::uint64_t nvram_dimm::dirty_lines() const noexcept {
    std::uint64_t lines = 0;
    for (const nvram_bank& bank : banks_) lines += bank.dirty_lines();
    return lines;
}

}  // namespace holdfast::sim
