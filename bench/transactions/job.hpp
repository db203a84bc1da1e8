// What the parent asks of a program that runs transactions: its arguments.
//
//   PROGRAM intset STRUCTURE ELEMENTS UPDATES THREADS
//   PROGRAM itm
//   PROGRAM stamp NAME THREADS
#pragma once

#include <bench/contest/stamp_runs.hpp>
#include <bench/transactions/sets.hpp>
#include <bench/transactions/words.hpp>

#include <sys/prctl.h>

#include <csignal>
#include <cstdlib>
#include <string>
#include <vector>

namespace holdfast::bench {

/// Runs what the arguments say on `memory`. Returns the exit status.
template <class Access>
int serve_transactions(Access memory, const std::vector<std::string>& arguments) {
    // Goes with its parent, however that ends.
    ::prctl(PR_SET_PDEATHSIG, SIGKILL);
    const auto number = [&](std::size_t i) { return std::strtoull(arguments[i].c_str(), nullptr, 10); };
    if (arguments.size() == 2 && arguments[1] == "itm") return serve_words(memory);
    if (arguments.size() == 4 && arguments[1] == "stamp")
        return serve_stamp(memory, arguments[2], static_cast<unsigned>(number(3)));
    if (arguments.size() == 6 && arguments[1] == "intset")
        return serve_sets(memory, {arguments[2], number(3), number(4), static_cast<unsigned>(number(5))});
    child_failed("started by `holdfast bench` only");
}

}  // namespace holdfast::bench
