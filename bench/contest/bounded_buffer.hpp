// The scenarios of "Cache-Line Transactions: Building Blocks for Persistent Kernel Data Structures Enabled by
// AspectC++", section 5.2, on its bounded buffer. One source for all engines and for libpmemobj.
#pragma once

#include <bench/contest/contestant.hpp>
#include <bench/contest/cpu_clock.hpp>

#include <holdfast/persist/counters.hpp>

#include <workload/bounded_buffer.hpp>

#include <algorithm>
#include <array>
#include <cstdint>
#include <optional>
#include <string>

namespace holdfast::bench {

using workload::as_it_is;
using workload::bounded_buffer;
using workload::buffer_bytes;
using workload::plain_buffer;

/// This number of buffers lies side by side: a scenario is too short for a clock, so all are reset, and then it runs on
/// each. Their lines fit into the first-level cache: the paper measured one buffer, which stayed there.
inline constexpr unsigned buffers_at_once = 256;

/// The scenarios of section 5.2. `scenario1_full` is the first on a buffer that nobody empties: a benchmark that
/// repeats it without a reset measures transactions that find the buffer full.
enum class scenario : std::uint8_t { one, one_full, two, three };

inline constexpr std::array scenario_names{"scenario1", "scenario1-full", "scenario2", "scenario3"};

inline std::optional<scenario> scenario_named(const std::string& name) {
    for (std::size_t i = 0; i < scenario_names.size(); ++i)
        if (name == scenario_names[i]) return static_cast<scenario>(i);
    return std::nullopt;
}

/// Transactions of one repetition. The one that finds the buffer full is one of them.
constexpr unsigned transactions_of(scenario which) {
    constexpr std::array<unsigned, 4> each{buffer_bytes, buffer_bytes, 2 * buffer_bytes, 2};
    return each[static_cast<std::size_t>(which)];
}

/// What `Buffers` has: reset(), which empties all of them; add(i, byte), get(i), fill(i, from, count),
/// drain(i, to, count) on the i-th, one transaction each and not inline, as if compiled elsewhere.
template <class Buffers>
void repeat_scenario(Buffers& buffers, scenario which, unsigned buffer) {
    static constexpr char text[buffer_bytes + 1] = "The quick brown fox jumps ove";
    char drained[buffer_bytes];
    switch (which) {
        case scenario::one:
        case scenario::one_full:
            for (unsigned i = 0; i < buffer_bytes; ++i) buffers.add(buffer, text[i]);
            return;
        case scenario::two:
            for (unsigned i = 0; i < buffer_bytes; ++i) buffers.add(buffer, text[i]);
            for (unsigned i = 0; i < buffer_bytes; ++i) buffers.get(buffer);
            return;
        case scenario::three:
            buffers.fill(buffer, text, buffer_bytes);
            buffers.drain(buffer, drained, buffer_bytes);
            return;
    }
}

/// Runs whole repetitions with at least `transactions` transactions. Resets are neither timed nor counted.
template <class Buffers>
batch run_scenario(Buffers& buffers, scenario which, std::uint64_t transactions) {
    const unsigned each = transactions_of(which);
    const std::uint64_t wanted = (transactions + each - 1) / each;
    batch all{0, wanted * each, costs{}};
    for (std::uint64_t done = 0; done < wanted;) {
        const auto now = static_cast<unsigned>(std::min<std::uint64_t>(wanted - done, buffers_at_once));
        if (which != scenario::one_full) {
            buffers.reset();
        } else if (done == 0) {
            for (unsigned i = 0; i < now; ++i) repeat_scenario(buffers, which, i);
        }
        const persist::counters before = persist::thread_counters();
        const double begin_ns = thread_cpu_ns();
        for (unsigned i = 0; i < now; ++i) repeat_scenario(buffers, which, i);
        all.ns += thread_cpu_ns() - begin_ns;
        all.spent->medium = all.spent->medium + (persist::thread_counters() - before);
        done += now;
    }
    return all;
}

}  // namespace holdfast::bench
