// Source lines of this process's instructions, from the line tables. They are read by addr2line, which comes with the
// compiler's binutils; without it everything still works, and lines are missing from reports.
#pragma once

#include <crash/cut/trace.hpp>

#include <string>
#include <vector>

namespace holdfast::crash {

struct source_line {
    std::string function;  ///< without arguments of templates and calls
    std::string file;      ///< inside the project relative to it
    unsigned line = 0;

    std::string text() const { return file + ":" + std::to_string(line); }
};

class source_lines {
public:
    /// Reads the lines of all of the trace's events at once.
    void read(const trace& recorded);
    void read(const std::vector<stack_id>& stacks);
    /// Who did it, innermost first, inlined calls included; without the seam and what records it. May be empty.
    std::vector<source_line> lines_of(const event& each) const { return lines_of(each.code, each.stack); }
    std::vector<source_line> lines_of(const void* code, stack_id stack) const;
};

/// Where one instruction comes from, of the program or of a library, the seam and the explorer not left out:
/// "accounts.cpp:31"; without line tables or addr2line the object and the offset in it, "accounts_test+0x1f30".
std::string source_line_of(const void* code);

}  // namespace holdfast::crash
