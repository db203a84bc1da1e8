// Case ssca2 of the suite cchtm: kernel 1 of SSCA#2, which constructs a graph of the scale that its elements say.
#include <bench/cchtm_contestants.hpp>

#include <holdfast/engine/cc_htm_sets.hpp>

#include <workload/ssca2.hpp>

#include <array>
#include <bit>
#include <string>

namespace holdfast::bench {
namespace {

/// The graph of a batch is taken apart behind it: every batch begins one.
template <class Memory>
class ssca2_case : public contestant {
public:
    static constexpr const char* name = "ssca2";

    ssca2_case(const cchtm_setting& where, scratch& space)
        : where_(where),
          edges_(1, scale_of(where)),
          memory_(where, space, where.elements * 256 + (24u << 20), [&](auto& filled) {
              const workload::ssca2_graph graph(filled.access(0), filled.template root<workload::ssca2_root>());
              if (!graph.create(scale_of(where))) fail(errc::no_space, "the graph could not be made");
          }) {}

    batch run(const std::string&, std::uint64_t transactions) override {
        return run_watched(transactions, [](unsigned, std::uint64_t, std::uint64_t) {});
    }

protected:
    /// watch(thread, i, count) sees the i-th transaction of a thread's `count`, before it runs.
    template <class Watch>
    batch run_watched(std::uint64_t transactions, Watch&& watch) {
        const std::uint64_t first = done_;
        done_ += transactions;
        batch done = memory_.measure(where_.threads, transactions, [&](unsigned thread, std::uint64_t count) {
            each_edge(first + transactions * thread / where_.threads, count, thread,
                      [&](const auto& graph, const workload::weighted_edge& edge, std::uint64_t i) {
                          graph.add_edge(edge, i);
                          return true;
                      },
                      [&](std::uint64_t i) { watch(thread, i, count); });
        });
        run_on_threads(where_.threads, transactions, [&](unsigned thread, std::uint64_t count) {
            each_edge(first + transactions * thread / where_.threads, count, thread,
                      [](const auto& graph, const workload::weighted_edge& edge, std::uint64_t) {
                          std::uint64_t value = 0;
                          return graph.remove_edge(edge, value);
                      },
                      [](std::uint64_t) {});
        });
        return done;
    }

    Memory& memory() noexcept { return memory_; }

private:
    static std::uint64_t scale_of(const setting& where) {
        return static_cast<std::uint64_t>(std::countr_zero(where.elements));
    }

    template <class F, class Watch>
    void each_edge(std::uint64_t first, std::uint64_t count, unsigned thread, F&& change, Watch&& watch) {
        const auto access = memory_.access(thread);
        const workload::ssca2_graph graph(access, memory_.template root<workload::ssca2_root>());
        for (std::uint64_t i = first; i < first + count; ++i) {
            watch(i - first);
            const workload::weighted_edge edge = edges_.edge(i);
            bool changed = false;
            const bool committed = access.atomically([&] { changed = change(graph, edge, i); });
            if (!committed || !changed) fail(errc::not_found, "an edge was not where it has to be, or had no room");
        }
    }

    cchtm_setting where_;
    workload::rmat_generator edges_;
    std::uint64_t done_ = 0;
    Memory memory_;
};

/// The same, and how many commits were pending at moments of a batch, as its first thread found them.
template <class Memory>
class pending_case final : public ssca2_case<Memory> {
public:
    static constexpr const char* name = "pending";
    using ssca2_case<Memory>::ssca2_case;

    batch run(const std::string&, std::uint64_t transactions) override {
        std::array<pending_commits, cchtm_moments> found{};
        batch done = this->run_watched(transactions, [&](unsigned thread, std::uint64_t i, std::uint64_t count) {
            if (thread != 0) return;
            const std::uint64_t moment = i * cchtm_moments / count;
            if (i == (moment * count + cchtm_moments - 1) / cchtm_moments) found[moment] = this->memory().pending();
        });
        for (std::size_t i = 0; i < found.size(); ++i) {
            const std::string percent = std::to_string(i * 100 / cchtm_moments);
            done.seen.push_back({"blue_at_" + percent, "1", static_cast<double>(found[i].blue)});
            done.seen.push_back({"red_at_" + percent, "1", static_cast<double>(found[i].red)});
        }
        return done;
    }
};

/// The same with alias sets of one size and associativity.
template <class Memory>
class aliases_case final : public ssca2_case<Memory> {
public:
    static constexpr const char* name = "aliases";
    using ssca2_case<Memory>::ssca2_case;
};

}  // namespace

match make_cchtm_aliases_match(const cchtm_setting& where, bool with_floor, const options& asked, scratch& space) {
    const auto add_all = [&](cchtm_field<aliases_case>& to) {
        constexpr std::uint64_t usual_lag = 128;
        to.add<pooled_memory<cc_htm>>("cc_htm", {"value", "lag", usual_lag, "pages", "cooperative"});
        for (const std::uint64_t bytes : where.alias_sizes)
            for (const std::uint64_t ways : {1u, 2u, 4u})
                to.add<pooled_memory<cc_htm_sets>>(
                    "cc_htm", {"value", "lag", usual_lag, "sets", "cooperative", bytes, ways});
    };
    return make_cchtm_match<aliases_case>(where, "edges of a graph, by alias table", with_floor, asked, space, add_all);
}

match make_cchtm_pending_match(const cchtm_setting& where, bool with_floor, const options& asked, scratch& space) {
    return make_cchtm_match<pending_case>(where, "commits pending over the edges of a graph", with_floor, asked, space,
                                          [&](cchtm_field<pending_case>& to) {
                                              for (const std::uint64_t lag : where.lags)
                                                  to.add<pooled_memory<cc_htm>>(
                                                      "cc_htm", {"value", "lag", lag, "pages", "cooperative"});
                                          });
}

match make_cchtm_ssca2_match(const cchtm_setting& where, bool with_floor, const options& asked, scratch& space) {
    return make_cchtm_match<ssca2_case>(where, "edges of a graph", with_floor, asked, space);
}

}  // namespace holdfast::bench
