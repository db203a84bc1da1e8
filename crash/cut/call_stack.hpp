// Who caused an event: return addresses, noted only while somebody wants to tell a story. Noting costs
// microseconds for each event, too much for recordings that are only explored.
#pragma once

#include <cstdint>
#include <vector>

namespace holdfast::crash {

/// 0: not noted.
using stack_id = std::uint32_t;

class call_stacks {
public:
    /// Notes the calls that led here, if notes are wanted. Signal handlers may call it where the interrupted
    /// code does not allocate.
    static stack_id here() { return wanted_ ? note() : 0; }
    /// Return addresses, innermost first; empty for 0.
    static std::vector<const void*> frames_of(stack_id which);

    /// Notes are wanted while one lives.
    class noting {
    public:
        noting();
        ~noting() { wanted_ = before_; }
        noting(const noting&) = delete;
        noting& operator=(const noting&) = delete;

    private:
        bool before_ = wanted_;
    };

private:
    static stack_id note();
    static inline bool wanted_ = false;
};

}  // namespace holdfast::crash
