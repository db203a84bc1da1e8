// At which calls of the seam an exploration crashed, right before and right after.
#pragma once

#include <crash/cut/trace.hpp>

#include <cstdint>
#include <map>
#include <string>
#include <utility>

namespace holdfast::crash {

/// "fence log_commit_fence", and so on: the calls that stream something, write it back or complete it.
std::string call_name(const event& each);
constexpr bool is_covered_call(const event& each) noexcept {
    return completes(each.kind) || each.kind == event_kind::write_back || each.kind == event_kind::stream ||
           each.kind == event_kind::order;
}

class coverage {
public:
    struct crashes {
        std::uint64_t before = 0;
        std::uint64_t after = 0;
    };

    /// The call was passed, whether it is crashed at or not.
    crashes& at(const event& each) { return calls_[{each.kind, each.where.value_or(persist::site_id{})}]; }
    std::map<std::string, crashes> by_name() const;
    void add(const coverage& other);
    /// The calls that were passed, crashed at or not.
    const std::map<std::pair<event_kind, persist::site_id>, crashes>& calls() const noexcept { return calls_; }

private:
    std::map<std::pair<event_kind, persist::site_id>, crashes> calls_;
};

}  // namespace holdfast::crash
