// Source lines of this program's instructions, from its line tables. They are read by addr2line, which comes with
// the compiler's binutils; without it everything still works, and lines are missing from reports.
#pragma once

#include <crash/trace.hpp>

#include <map>
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
    std::vector<source_line> of(const event& each) const { return of(each.code, each.stack); }
    std::vector<source_line> of(const void* code, stack_id stack) const;

private:
    void read_addresses(std::vector<std::uintptr_t> addresses);

    /// Of the whole process: its instructions do not change.
    static inline std::map<std::uintptr_t, std::vector<source_line>> known_;
};

}  // namespace holdfast::crash
