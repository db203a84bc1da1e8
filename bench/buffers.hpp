// The bounded buffers that are compared, as contestants.
#pragma once

#include <bench/contest/contestant.hpp>
#include <bench/contest/scratch.hpp>
#include <bench/contest/setting.hpp>

#include <memory>
#include <string>
#include <vector>

namespace holdfast::bench {

/// Our kinds of buffers, in the order of the table: plain (no transactions), woven where it was compiled in, line,
/// lines, redo.
std::vector<std::string> buffer_engines();

/// One of them under `where`, on nvram. Its cases are the scenarios' names.
std::unique_ptr<contestant> make_buffers(const std::string& engine, const setting& where, scratch& space);

/// Store, write-back and fence of one line after another, out of as many as there are buffers.
std::unique_ptr<contestant> make_buffer_floor(scratch& space);

}  // namespace holdfast::bench
