// Static variables that a pool keeps: which there are, in the program and in the pool, and whether they are the same.
#pragma once

#include <holdfast/base/result.hpp>

#include <cstdint>
#include <span>
#include <string>
#include <string_view>
#include <vector>

namespace holdfast::dnv {

struct space;

/// One variable. Its type is known by its size alone.
struct static_variable {
    /// Between a name and its number, where there are several of one name.
    static constexpr char before_number = '#';
    std::string name;  ///< the linker's; a second one of the same name has "#2" behind it, and so on
    std::uintptr_t address = 0;
    std::uint64_t bytes = 0;
};

/// The program's, in order of their addresses, from its own symbols. Errors: misuse (the section is elsewhere: a
/// position-independent program, or one linked without the linker script; or the program has no symbols), io.
result<std::vector<static_variable>> list_program_statics();

/// What the pool says of them: a line for each, with address, bytes and name.
std::string write_names(const std::vector<static_variable>& variables);
std::vector<static_variable> read_names(std::string_view text);
/// A linker script that puts variables at their places, and others behind the first `bytes` of the section. Of several
/// with one name those behind the first are expected to follow it.
std::string linker_script(const std::vector<static_variable>& variables, std::uint64_t bytes);

/// Makes the program's variables those of the pool: with the values of the program's start for those that the pool does
/// not have yet. If the process dies inside, the pool has all of the new ones or none.
/// Errors: layout_mismatch (a variable of the pool is missing, elsewhere or of another size, or a new one lies before
/// the end of the old ones), out_of_space, and those of list_program_statics.
result<void> open_statics(space& open);
/// The variables have the values of the program's start again, for another pool.
void close_statics() noexcept;

/// The variable that an address is in; nullptr: none. Requires: statics are open. Safe in a signal handler.
const static_variable* find_static(const void* at) noexcept;

}  // namespace holdfast::dnv
