#include <holdfast/ecc/repair.hpp>

#include <holdfast/ecc/repair_run.hpp>

#include <bit>

namespace holdfast::ecc {
namespace {

const bool has_popcount_instruction = detail::popcount_available();

}  // namespace

std::string_view name_of(repair_outcome outcome) noexcept {
    switch (outcome) {
    case repair_outcome::intact: return "intact";
    case repair_outcome::repaired: return "repaired";
    case repair_outcome::ambiguous: return "ambiguous";
    case repair_outcome::beyond_repair: return "beyond_repair";
    }
    return "unknown";
}

unsigned repair_result::flips() const noexcept {
    return static_cast<unsigned>(std::popcount(flipped.word) + std::popcount(flipped.code));
}

repair_result repair(coded_word found) noexcept {
    const std::uint64_t syndrome = encode(found.word) ^ found.code;
    return has_popcount_instruction ? detail::repair_hardware(found, syndrome)
                                    : detail::run_repair<detail::repair_rules{}>(found, syndrome);
}

}  // namespace holdfast::ecc
