#include <crash/cut/call_stack.hpp>

#include <array>
#include <deque>

#include <execinfo.h>

namespace holdfast::crash {
namespace {

struct noted_stack {
    std::array<void*, 24> frames;
    int count;
};

std::deque<noted_stack>& all() {
    static std::deque<noted_stack> stacks;
    return stacks;
}

}  // namespace

call_stacks::noting::noting() {
    // Its first call loads a library, which a signal handler had better not.
    std::array<void*, 2> ignored;
    ::backtrace(ignored.data(), static_cast<int>(ignored.size()));
    wanted_ = true;
}

stack_id call_stacks::note() {
    noted_stack& made = all().emplace_back();
    made.count = ::backtrace(made.frames.data(), static_cast<int>(made.frames.size()));
    return static_cast<stack_id>(all().size());
}

std::vector<const void*> call_stacks::frames_of(stack_id which) {
    if (which == 0) return {};
    const noted_stack& found = all()[which - 1];
    std::vector<const void*> frames(found.frames.begin(), found.frames.begin() + found.count);
    return frames;
}

}  // namespace holdfast::crash
