// The other end of bench/child.hpp: what a program says to the parent that started it.
//
// "ready" once its data are there. Each line "run CASE TRANSACTIONS" is then answered with how many these were in the
// end and the nanoseconds they took; with 1, write-backs, fences and streamed bytes, or with 0 where nobody counted
// them; and with name, unit and value of whatever else was observed. Or with "error ...", and the program ends.
#pragma once

#include <bench/contest/contestant.hpp>

#include <functional>
#include <string>

namespace holdfast::bench {

/// Tells the parent and ends the process.
[[noreturn]] void child_failed(const std::string& what);

/// Answers until there is nothing more to read. Returns the exit status.
int serve(const std::function<batch(const std::string& name, std::uint64_t transactions)>& run);

}  // namespace holdfast::bench
