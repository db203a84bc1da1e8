// Numbers of the transactional-memory ABI between GCC's instrumented code and a runtime (Intel, "Transactional Memory
// Compiler and Runtime Application Binary Interface", version 1.1).
#pragma once

#include <cstddef>
#include <cstdint>

namespace holdfast::itm {

/// What the compiler says about a block when it begins.
namespace property {
inline constexpr std::uint32_t instrumented = 0x0001;      ///< there is code that calls barriers
inline constexpr std::uint32_t uninstrumented = 0x0002;    ///< there is code that does not
inline constexpr std::uint32_t no_abort = 0x0008;          ///< nothing in the block's own text cancels it
inline constexpr std::uint32_t goes_irrevocable = 0x0040;  ///< every path reaches something that cannot be undone
inline constexpr std::uint32_t read_only = 0x4000;         ///< no barrier that stores is on any path
}  // namespace property

/// What begin tells the block to do.
namespace action {
inline constexpr std::uint32_t run_instrumented = 0x01;
inline constexpr std::uint32_t run_uninstrumented = 0x02;
inline constexpr std::uint32_t save_live_variables = 0x04;
inline constexpr std::uint32_t restore_live_variables = 0x08;
inline constexpr std::uint32_t leave_block = 0x10;  ///< it was cancelled: go on behind it
}  // namespace action

/// Why the block is ended without commit.
namespace reason {
inline constexpr std::uint32_t user_cancel = 0x01;
inline constexpr std::uint32_t user_retry = 0x02;
inline constexpr std::uint32_t outer_cancel = 0x10;  ///< the outermost block, whatever is open within
}  // namespace reason

/// Identifies a transaction; 1 is none.
using transaction_id = std::uint64_t;
inline constexpr transaction_id no_transaction = 1;

/// Values of the barriers as the compiler passes them. The vectors of 32 bytes exist where the processor has them.
using vector_8 = float __attribute__((vector_size(8)));
using vector_16 = float __attribute__((vector_size(16)));
using vector_32 = float __attribute__((vector_size(32)));

/// A function and its instrumented clone, as the compiler lays them out in tables.
struct clone {
    void* original;
    void* instrumented;
};

}  // namespace holdfast::itm
