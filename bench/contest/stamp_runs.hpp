// Suite stamp in the programs that run it: STAMP programs, whatever their transactions are.
#pragma once

#include <bench/contest/serve.hpp>
#include <bench/contest/awake_barrier.hpp>
#include <bench/contest/team.hpp>
#include <bench/contest/watched_access.hpp>

#include <workload/counted_access.hpp>
#include <workload/plain_access.hpp>
#include <workload/stamp/programs.hpp>

#include <algorithm>
#include <cstdint>
#include <string>
#include <vector>

namespace holdfast::bench {

/// One run of a program.
struct stamp_run {
    double ns = 0;
    std::uint64_t transactions = 0;
    std::uint64_t units = 0;  ///< 0 where the program has none
};

/// Roots in memory of the process, all zero at first. Whoever runs programs elsewhere has another class like this. It
/// may have add_seen(observations) as well, which is called after each batch.
struct stamp_roots {
    /// One for all runs, each of which leaves it all zero.
    template <class Root>
    Root* root() const {
        static Root one{};
        return &one;
    }
};

/// A program with its threads.
template <class Access, class Parameters>
class stamp_runs {
    using program_type = typename Parameters::template program<Access>;

public:
    /// Roots as stamp_roots.
    template <class Roots>
    stamp_runs(Access memory, const Roots& roots, const Parameters& given, std::string name, thread_team& team,
               unsigned threads)
        : name_(std::move(name)),
          team_(team),
          threads_(threads),
          program_(memory, roots.template root<typename program_type::root_type>(), given) {}

    /// body(thread, work) is run on each thread, where work() does the program's work.
    template <class F>
    stamp_run run(F&& body, bool checked) {
        if (!program_.begin(threads_)) child_failed(name_ + " could not be set up");
        awake_barrier all(threads_);
        std::vector<workload::stamp_thread<awake_barrier>> members;
        for (unsigned i = 0; i < threads_; ++i) members.emplace_back(i, threads_, all);
        stamp_run done;
        done.ns = team_.run([&](unsigned thread) { body(thread, [&] { program_.work(members[thread]); }); });
        for (const auto& me : members) {
            if (me.failed()) child_failed(name_ + ": a transaction failed");
            done.transactions += me.transactions();
        }
        if constexpr (has_units) done.units = program_.units();
        if (checked) check();
        if (!program_.end()) child_failed(name_ + " could not be taken away");
        return done;
    }

    static constexpr bool has_units = requires(program_type& program) { program.units(); };
    static std::string unit() {
        if constexpr (has_units) return program_type::unit;
        return {};
    }

private:
    void check() const {
        const workload::check_report found = program_.check();
        if (!found.ok())
            child_failed(name_ + ": " + found.problem + " after " + std::to_string(found.count) + " were right");
    }

    std::string name_;
    thread_team& team_;
    unsigned threads_;
    program_type program_;
};

/// What a program asks of memory in a transaction: the same for every runtime, so counted without one.
template <class Parameters>
void count_words(const Parameters& given, const std::string& name, std::vector<observation>& to) {
    workload::access_counts counts;
    thread_team alone(1);
    stamp_runs<workload::counted_access<workload::plain_access>, Parameters> runs(
        {workload::plain_access(), counts}, stamp_roots(), given, name, alone, 1);
    workload::access_counts before;
    const stamp_run done = runs.run([&](unsigned, auto work) {
        before = counts;
        work();
        before = counts - before;
    }, false);
    const auto transactions = static_cast<double>(done.transactions);
    to.push_back({"reads_per_tx", "1", static_cast<double>(before.loads_inside) / transactions});
    to.push_back({"writes_per_tx", "1", static_cast<double>(before.stores_inside) / transactions});
}

/// What a thread saw of its transactions in a run, which took `ns`.
struct thread_seen {
    transactions_seen transactions;
    double ns = 0;
};

/// The share of the time of all threads that was in transactions, without what the clock took.
inline double share_inside(const std::vector<thread_seen>& seen, double reading_ns) {
    double inside_ns = 0, all_ns = 0;
    for (const auto& [transactions, ns] : seen) {
        const auto times = static_cast<double>(transactions.ended);
        inside_ns += transactions.inside_ns - times * reading_ns;
        all_ns += ns - 2 * times * reading_ns;
    }
    return std::clamp(inside_ns / all_ns, 0.0, 1.0);
}

/// How often transactions of this runtime begin in vain, and their share of all threads' time, in runs that are not
/// measured otherwise. The share is a median: in any run a thread may lose its processor in a transaction.
template <class Access, class Roots, class Parameters>
void watch(Access memory, const Roots& roots, const Parameters& given, const std::string& name, thread_team& team,
           unsigned threads, std::vector<observation>& to) {
    constexpr std::size_t watched_runs = 9;
    constexpr double longest_ns = 2e9;
    const double reading_ns = clock_reading_ns();
    stamp_runs<watched_access<Access>, Parameters> runs(watched_access<Access>(memory), roots, given, name, team,
                                                           threads);
    std::vector<thread_seen> seen(threads);
    const auto body = [&](unsigned thread, auto work) {
        seen_by_this_thread = {};
        const auto begin = clock::now();
        work();
        seen[thread] = {seen_by_this_thread, ns_since(begin)};
    };
    runs.run(body, true);  // the first transactions of the runtime
    std::uint64_t begun = 0, ended = 0;
    std::vector<double> shares;
    const auto first = clock::now();
    while (shares.empty() || (shares.size() < watched_runs && ns_since(first) < longest_ns)) {
        runs.run(body, false);
        for (const thread_seen& each : seen) {
            begun += each.transactions.begun;
            ended += each.transactions.ended;
        }
        shares.push_back(share_inside(seen, reading_ns));
    }
    std::sort(shares.begin(), shares.end());
    to.push_back({"aborts_per_tx", "1", static_cast<double>(begun - ended) / static_cast<double>(ended)});
    to.push_back({"share_inside", "1", shares[shares.size() / 2]});
}

/// Answers the parent until it has no more batches: each is of whole runs, until it has at least as many transactions.
template <class Access, class Roots, class Parameters>
int serve_stamp_program(Access memory, const Roots& roots, const Parameters& given, const std::string& name,
                        unsigned threads) {
    thread_team team(threads);
    std::vector<observation> observed;
    count_words(given, name, observed);
    watch(memory, roots, given, name, team, threads, observed);
    using runs_type = stamp_runs<Access, Parameters>;
    runs_type runs(memory, roots, given, name, team, threads);
    return serve([&](const std::string&, std::uint64_t transactions) {
        batch done;
        double count = 0, units = 0;
        while (done.transactions < transactions) {
            const stamp_run one = runs.run([](unsigned, auto work) { work(); }, count == 0);
            done.ns += one.ns;
            done.transactions += one.transactions;
            units += static_cast<double>(one.units);
            ++count;
        }
        done.seen = observed;
        done.seen.push_back({"ns_per_run", "ns", done.ns / count});
        if constexpr (requires { roots.add_seen(done.seen); }) roots.add_seen(done.seen);
        if (runs_type::has_units) done.seen.push_back({"ns_per_" + runs_type::unit(), "ns", done.ns / units});
        return done;
    });
}

/// `name`: as workload::with_stamp_set has it. `roots`: where programs have theirs.
template <class Access, class Roots = stamp_roots>
int serve_stamp(Access memory, const std::string& name, unsigned threads, const Roots& roots = {}) {
    int status = 1;
    const bool found = workload::with_stamp_set(
        name, [&](const auto& set) { status = serve_stamp_program(memory, roots, set.parameters, name, threads); });
    if (!found) child_failed("there is no STAMP program '" + name + "'");
    return status;
}

}  // namespace holdfast::bench
