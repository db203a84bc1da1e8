// From the root of a dnv pool to what of it lies where, for openings and checks. Trusts nothing that it reads.
#pragma once

#include <holdfast/base/result.hpp>
#include <holdfast/dnv/layout.hpp>

#include <cstdint>
#include <string>

namespace holdfast::dnv {

/// Finds header, directory and chunks of the_space.pool. Errors: corrupt, io.
result<void> attach(root* in_pool, std::uint64_t reserved_bytes);
/// The word of the Chunk Table, corrected in memory if need be. Errors: corrupt.
result<std::uint64_t> table_word(unsigned slot);
/// What the pool says of its static variables, as text. Errors: corrupt.
result<std::string> names_of_statics();
/// Nothing is attached any more. The pool stays as it is.
void detach() noexcept;

}  // namespace holdfast::dnv
