// From instruction words to operations. What RV64GC does not have becomes operation_code::illegal, which is an error
// only if it is executed: data may stand between functions.
#pragma once

#include <sim/front/operation.hpp>

namespace holdfast::sim {

/// Whether an instruction that begins with this parcel of 16 bits has only this one.
constexpr bool is_compressed(std::uint16_t parcel) noexcept { return (parcel & 3) != 3; }

/// Decodes an instruction of 32 bits that lies at `pc`.
operation decode(std::uint32_t word, std::uint64_t pc) noexcept;

/// Decodes an instruction of 16 bits.
operation decode_compressed(std::uint16_t parcel) noexcept;

/// An operation that stops with an error; `word` is what the error shows.
operation illegal_operation(std::uint32_t word, std::uint8_t parcels) noexcept;

}  // namespace holdfast::sim
