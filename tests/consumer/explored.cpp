// What a test outside this repository does with the installed explorer: the right queue of tickets is found
// right, the broken one is not, and the line is named.
#include <crash/exploration.hpp>

#include <holdfast/holdfast.hpp>

#include <cstdio>
#include <string>

using store = holdfast::redo;

template <class Counter>
struct tickets {
    store::field<long> sold;
    Counter checked;
};

// The compiler would refuse it where the counter is no field.
template <class Counter>
inline constexpr bool holdfast::lives_in_pool<tickets<Counter>> = true;

template <class Counter>
holdfast::crash::exploration_outcome explore() {
    holdfast::crash::exploration<store, tickets<Counter>> explore;
    explore.operation("sell", [](auto& all) {
        ++all.sold;
        ++all.checked;  // broken where it is no field
    });
    explore.invariant("each was checked", [](const auto& all) { return all.sold == all.checked; });
    return explore.run(2);
}

int main() {
    const auto right = explore<store::field<long>>();
    const auto broken = explore<long>();
    std::fputs((right.text() + broken.text()).c_str(), stdout);
    if (!right.clean()) return 1;
    for (const auto& each : broken.rows)
        if (each.violation.find("not stored by the library: explored.cpp:27") == std::string::npos) return 1;
    return 0;
}
