// Requests to insert random elements into a tree of 20,000, as in the evaluation of SoftWrAP-LAT: one after another, or
// at times drawn beforehand. One source for our engines and for libpmemobj. Times are of the inserting thread's
// processor: a program that takes it away for milliseconds would make up all of the longest responses.
#pragma once

#include <bench/contest/contestant.hpp>
#include <bench/contest/cpu_clock.hpp>
#include <bench/contest/threads.hpp>

#include <workload/counted_access.hpp>
#include <workload/random.hpp>
#include <workload/stx_btree.hpp>

#include <holdfast/base/result.hpp>

#include <algorithm>
#include <cmath>
#include <cstdint>
#include <string>
#include <vector>

namespace holdfast::bench {

/// Elements in the tree when a batch is timed. The last ones were inserted as the timed ones are, each in a transaction
/// of its own, so that the log and the caches are as in the middle of a run; what these ask of memory is counted.
inline constexpr std::uint64_t tree_elements = 20'000;
inline constexpr std::uint64_t tree_elements_settling = 1000;
inline constexpr std::uint64_t tree_elements_filled = tree_elements - tree_elements_settling;
/// The most that wait in the paper's request buffer.
inline constexpr std::size_t request_places = 10;
/// Of the arrivals of a contestant's first batch; each further batch takes the next number.
inline constexpr std::uint64_t arrivals_seed = 1000;

/// When `count` requests arrive that come independently of each other, `rate` in a second, in ns from the begin.
/// Scaled to take exactly count / rate together: otherwise short runs would differ in the rate they offer.
inline std::vector<double> draw_arrivals(std::uint64_t rate, std::uint64_t count, std::uint64_t seed) {
    workload::random numbers(seed);
    std::vector<double> arrivals_ns;
    double at = 0;
    const auto gap = [&] { return -std::log1p(-static_cast<double>(numbers.next() >> 11) * 0x1p-53); };
    for (std::uint64_t i = 0; i < count; ++i) arrivals_ns.push_back(at += gap());
    at += gap();
    const double whole_ns = static_cast<double>(count) / static_cast<double>(rate) * 1e9;
    for (double& each : arrivals_ns) each *= whole_ns / at;
    return arrivals_ns;
}

/// What became of requests, in ns from the begin.
struct answered_requests {
    std::vector<double> arrived_ns;
    std::vector<double> taken_ns;  ///< out of the buffer
    std::vector<double> done_ns;

    /// A request that finds the buffer full enters it when the one `request_places` before it is taken out.
    double entered_ns(std::size_t i) const {
        return i < request_places ? arrived_ns[i] : std::max(arrived_ns[i], taken_ns[i - request_places]);
    }

    /// Responses count from the arrival; `mean_buffered_ns` from the entry into the buffer.
    std::vector<observation> observed() const {
        const auto count = static_cast<double>(done_ns.size());
        double sum = 0, buffered = 0, blocked = 0;
        std::vector<double> responses;
        for (std::size_t i = 0; i < done_ns.size(); ++i) {
            responses.push_back(done_ns[i] - arrived_ns[i]);
            sum += responses.back();
            buffered += done_ns[i] - entered_ns(i);
            blocked += entered_ns(i) > arrived_ns[i] ? 1 : 0;
        }
        const auto p99 = responses.begin() + static_cast<std::ptrdiff_t>(responses.size() * 99 / 100);
        std::nth_element(responses.begin(), p99, responses.end());
        return {{"mean_response_ns", "ns", sum / count},
                {"p99_response_ns", "ns", *p99},
                {"achieved_per_s", "1/s", count / done_ns.back() * 1e9},
                {"mean_buffered_ns", "ns", buffered / count},
                {"blocked_per_tx", "1", blocked / count}};
    }
};

/// Answers requests with insert(i), in order of arrival. One thread looks at the clock and at the arrivals: a request
/// is there from the moment its time has passed, which needs no other thread to put it there, or to be late. While
/// another program has the processor, no request arrives.
template <class Insert>
answered_requests answer_requests(std::vector<double> arrivals_ns, Insert&& insert) {
    answered_requests all{std::move(arrivals_ns), {}, {}};
    const std::size_t count = all.arrived_ns.size();
    all.taken_ns.resize(count);
    all.done_ns.resize(count);
    double now_ns = 0;
    undisturbed_clock time;
    for (std::size_t i = 0; i < count; ++i) {
        while (now_ns < all.arrived_ns[i]) now_ns = time.now_ns();
        all.taken_ns[i] = now_ns;
        insert(i);
        now_ns = time.now_ns();
        all.done_ns[i] = now_ns;
    }
    return all;
}

/// One batch: the `number`-th of its contestant, of `transactions` inserts, at `rate` in a second or, if that is 0,
/// one after another.
struct tree_batch {
    std::uint64_t number = 0;
    std::uint64_t transactions = 0;
    std::uint64_t rate = 0;
};

/// Inserts the scattered keys from `first` on that insert(i) asks for, one transaction each.
template <class Access>
class tree_inserter {
public:
    tree_inserter(Access access, workload::stx_root* root, std::uint64_t first)
        : access_(access), tree_(access, root), first_(first) {}

    void operator()(std::uint64_t i) const {
        const std::int64_t key = workload::scattered_key(first_ + i);
        bool inserted = false;
        if (!access_.atomically([&] { inserted = tree_.insert(key, key); }) || !inserted)
            fail(errc::io, "an element could not be inserted");
    }

private:
    Access access_;
    workload::stx_btree<Access> tree_;
    std::uint64_t first_;
};

/// Runs it on a tree of tree_elements_filled. measure(transactions, body) is run_on_threads with one thread, and
/// whatever its caller counts besides. Throws failure.
template <class Access, class Measure>
batch run_tree_batch(const tree_batch& wanted, const Access& access, workload::stx_root* root, Measure&& measure) {
    // No two batches insert the same keys.
    const std::uint64_t first = tree_elements + wanted.number * (tree_elements_settling + wanted.transactions);
    workload::access_counts counts;
    const tree_inserter settle(workload::counted_access(access, counts), root, first);
    for (std::uint64_t i = 0; i < tree_elements_settling; ++i) settle(i);

    const tree_inserter insert(access, root, first + tree_elements_settling);
    if (wanted.rate == 0) {
        double spent_ns = 0;
        const double process_begin_ns = process_cpu_ns();
        batch done = measure(wanted.transactions, [&](unsigned, std::uint64_t count) {
            const double begin_ns = thread_cpu_ns();
            for (std::uint64_t i = 0; i < count; ++i) insert(i);
            spent_ns = thread_cpu_ns() - begin_ns;
        });
        done.ns = spent_ns;
        constexpr auto settled = static_cast<double>(tree_elements_settling);
        const double others_ns = process_cpu_ns() - process_begin_ns - spent_ns;
        done.seen = {others_per_transaction(others_ns, wanted.transactions),
                     {"loads_per_tx", "1", static_cast<double>(counts.loads) / settled},
                     {"stores_per_tx", "1", static_cast<double>(counts.stores) / settled}};
        return done;
    }
    answered_requests answered;
    auto arrivals_ns = draw_arrivals(wanted.rate, wanted.transactions, arrivals_seed + wanted.number);
    batch done = measure(wanted.transactions,
                         [&](unsigned, std::uint64_t) { answered = answer_requests(std::move(arrivals_ns), insert); });
    done.ns = answered.done_ns.back();
    done.seen = answered.observed();
    return done;
}

}  // namespace holdfast::bench
