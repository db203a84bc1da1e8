// Case tree of the suite cchtm: inserts into a red-black tree that all threads share.
#include <bench/cchtm_aliases.hpp>
#include <bench/cchtm_contestants.hpp>
#include <bench/contest/tree_requests.hpp>
#include <bench/rivals/process.hpp>

#include <workload/random.hpp>
#include <workload/rbtree.hpp>

#include <memory>
#include <string>
#include <vector>

namespace holdfast::bench {
namespace {

using tree_root = workload::rbtree_uncounted_root;

/// What a batch inserts is removed again behind it: every batch finds as many elements.
template <class Memory>
class tree_case : public contestant {
public:
    static constexpr const char* name = "tree";

    tree_case(const cchtm_setting& where, scratch& space)
        : where_(where), memory_(where, space, bytes_for(where), [&](auto& filled) {
              const workload::rbtree tree(filled.access(0), filled.template root<tree_root>());
              if (!tree.prefill(0, where.elements, 16)) fail(errc::io, "the tree could not be filled");
          }) {}

    batch run(const std::string&, std::uint64_t transactions) override {
        return run_as(transactions, [](unsigned, std::uint64_t count, auto&& insert) {
            for (std::uint64_t i = 0; i < count; ++i) insert(i);
        });
    }

protected:
    const cchtm_setting& where() const noexcept { return where_; }

    /// call(thread, count, insert) is what each thread does: insert(i) for i below `count`, in ascending order.
    template <class Call>
    batch run_as(std::uint64_t transactions, Call&& call) {
        const std::uint64_t first = where_.elements + done_;
        done_ += transactions;
        batch done = memory_.measure(where_.threads, transactions, [&](unsigned thread, std::uint64_t count) {
            const std::uint64_t first_own = first + transactions * thread / where_.threads;
            call(thread, count, [&, first_own](std::uint64_t i) {
                change_key(first_own + i, thread,
                           [](const auto& tree, std::int64_t key) { return tree.insert(key, key); });
            });
        });
        run_on_threads(where_.threads, transactions, [&](unsigned thread, std::uint64_t count) {
            const std::uint64_t first_own = first + transactions * thread / where_.threads;
            for (std::uint64_t i = 0; i < count; ++i)
                change_key(first_own + i, thread, [](const auto& tree, std::int64_t key) { return tree.remove(key); });
        });
        return done;
    }

private:
    static std::uint64_t bytes_for(const cchtm_setting& where) { return where.elements * 96 + (24u << 20); }

    template <class F>
    void change_key(std::uint64_t number, unsigned thread, F&& change) {
        const auto access = memory_.access(thread);
        const workload::rbtree tree(access, memory_.template root<tree_root>());
        const std::int64_t key = workload::scattered_key(number);
        bool changed = false;
        const bool committed = access.atomically([&] { changed = change(tree, key); });
        if (!committed || !changed) fail(errc::not_found, "a key was not where it has to be, or there was no room");
    }

    cchtm_setting where_;
    std::uint64_t done_ = 0;
    Memory memory_;
};

/// A rival that runs the same inserts and removals.
class tree_rival final : public contestant {
public:
    tree_rival(const std::string& name, const setting& where, scratch& space)
        : rival_(start_rival(name, "cchtm", where, space)) {}

    batch run(const std::string&, std::uint64_t transactions) override {
        batch done = rival_->run("insert", transactions);
        rival_->run("remove", transactions);
        return done;
    }

private:
    std::unique_ptr<contestant> rival_;
};

/// Inserts that are asked for at times drawn beforehand: each thread has its own requests, and no other thread's.
template <class Memory>
class response_case final : public tree_case<Memory> {
public:
    static constexpr const char* name = "response";
    using tree_case<Memory>::tree_case;

    batch run(const std::string&, std::uint64_t transactions) override {
        const unsigned threads = this->where().threads;
        const std::uint64_t rate = this->where().rate / threads;
        std::vector<answered_requests> answered(threads);
        batch done = this->run_as(transactions, [&](unsigned thread, std::uint64_t count, auto&& insert) {
            answered[thread] = answer_requests(draw_arrivals(rate, count, arrivals_seed + thread), insert);
        });
        double responses_ns = 0, achieved_per_s = 0;
        for (const auto& each : answered) {
            const auto count = static_cast<double>(each.done_ns.size());
            for (std::size_t i = 0; i < each.done_ns.size(); ++i)
                responses_ns += (each.done_ns[i] - each.arrived_ns[i]) / count / threads;
            achieved_per_s += count / each.done_ns.back() * 1e9;
        }
        done.seen.push_back({"mean_response_ns", "ns", responses_ns});
        done.seen.push_back({"achieved_per_s", "1/s", achieved_per_s});
        return done;
    }
};

}  // namespace

match make_cchtm_response_match(const cchtm_setting& where, bool with_floor, const options& asked, scratch& space) {
    return make_cchtm_match<response_case>(where, "inserts that are asked for", with_floor, asked, space);
}

match make_cchtm_tree_match(const cchtm_setting& where, bool with_floor, const options& asked, scratch& space) {
    const auto add_all = [&](cchtm_field<tree_case>& to) {
        add_cchtm_contestants(to);
        if (where.delay_ns == asked.delay_ns) add_cchtm_aliases(to);
        // It does not isolate, and its transactions of several threads would measure a lock.
        if (where.threads != 1 || !where.lags.empty()) return;
        to.add("libpmemobj", {.concurrency = "lock"},
               [&](const cchtm_setting& its) { return std::make_unique<tree_rival>("libpmemobj", its, space); });
    };
    return make_cchtm_match<tree_case>(where, "inserts into a red-black tree", with_floor, asked, space, add_all);
}

match make_cchtm_file_match(cchtm_setting where, bool with_floor, const options& asked, scratch& space) {
    where.medium = "file";
    const auto add_all = [&](cchtm_field<tree_case>& to) {
        constexpr std::uint64_t usual_lag = 128;
        const auto add_levels = [&]<class Engine>(const char* concurrency) {
            to.template add<pooled_memory<Engine>>("cc_htm", {concurrency, "lag", usual_lag, "pages", "cooperative"});
            to.template add<pooled_memory<Engine>>("cc_htm", {concurrency, "power", 0, "pages", "cooperative"});
        };
        add_levels.operator()<cc_htm>("value");
        add_levels.operator()<cc_htm_versioned>("versioned");
        to.template add<pooled_memory<redo, std::mutex>>("redo", {.concurrency = "lock"});
    };
    return make_cchtm_match<tree_case>(where, "inserts into a red-black tree", with_floor, asked, space, add_all);
}

}  // namespace holdfast::bench
