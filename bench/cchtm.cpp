// Suite cchtm: the evaluation of cc-HTM. What decoupling durability from concurrency control costs beside concurrency
// control alone, and what it saves beside those that make a commit durable while they hold its locks.
#include <bench/cchtm.hpp>
#include <bench/suites.hpp>
#include <tools/streams.hpp>

#include <holdfast/htm/rtm_instructions.hpp>

#include <fmt/format.h>

#include <utility>

namespace holdfast::bench {
namespace {

/// Each session's. Small, so that every batch pays for truncations.
constexpr std::uint64_t cchtm_log_bytes = 1u << 20;

cchtm_setting cchtm_setting_of(unsigned threads, std::uint64_t elements, std::uint32_t delay_ns) {
    cchtm_setting where;
    where.threads = threads;
    where.elements = elements;
    where.log_bytes = cchtm_log_bytes;
    where.delay_ns = delay_ns;
    return where;
}

/// Where the paper varies one thing, two threads take part here; it has four to eight, and more processors.
constexpr unsigned cchtm_sweep_threads = 2;

/// How large each case is. The paper's: 10^6 elements, 64 MiB of words, 2^20 vertices, vacation-low.
struct cchtm_sizes {
    std::uint64_t tree, words, vertices, relations;
};
constexpr cchtm_sizes cchtm_quick_sizes{50'000, 1u << 20, 1u << 14, 1u << 12};
constexpr cchtm_sizes cchtm_all_sizes{1'000'000, 8u << 20, 1u << 18, 1u << 14};

/// Plans the matches, each with what it varies.
class cchtm_plan {
public:
    cchtm_plan(const options& wanted, scratch& space)
        : wanted_(wanted), space_(space), sizes_(wanted.quick ? cchtm_quick_sizes : cchtm_all_sizes) {}

    /// Figures 3, 4, 8, 10 and 15: all cases, by the number of threads.
    void add_threads(unsigned threads) {
        add(make_cchtm_tree_match, setting_of(threads, sizes_.tree));
        add(make_cchtm_hash_match, hash_of(threads, usual_group, 100));
        add(make_cchtm_ssca2_match, setting_of(threads, sizes_.vertices));
        add(make_cchtm_vacation_match, setting_of(threads, sizes_.relations));
    }
    /// Figure 12. What add_threads has is not repeated.
    void add_groups(unsigned threads, const std::vector<std::uint64_t>& groups) {
        for (const std::uint64_t group : groups) add(make_cchtm_hash_match, hash_of(threads, group, 100));
    }
    /// Figure 13.
    void add_write_percents(const std::vector<std::uint64_t>& percents) {
        for (const std::uint64_t percent : percents)
            add(make_cchtm_hash_match, hash_of(cchtm_sweep_threads, usual_group, percent));
    }
    /// Figures 9 and 17.
    void add_delays(const std::vector<std::uint32_t>& delays_ns) {
        for (const std::uint32_t delay_ns : delays_ns) {
            cchtm_setting tree = setting_of(cchtm_sweep_threads, sizes_.tree);
            cchtm_setting vacation = setting_of(cchtm_sweep_threads, sizes_.relations);
            tree.delay_ns = vacation.delay_ns = delay_ns;
            add(make_cchtm_tree_match, tree);
            add(make_cchtm_vacation_match, vacation);
        }
    }
    /// Figure 14.
    void add_rates(const std::vector<std::uint64_t>& rates) {
        for (const std::uint64_t rate : rates) {
            cchtm_setting where = setting_of(cchtm_sweep_threads, sizes_.tree);
            where.rate = rate;
            add(make_cchtm_response_match, where);
        }
    }
    /// The paper has no file.
    void add_file(unsigned threads) { add(make_cchtm_file_match, setting_of(threads, sizes_.tree)); }
    /// Figure 6, whose lag is 512.
    void add_pending() {
        cchtm_setting where = setting_of(cchtm_sweep_threads, sizes_.vertices);
        where.lags = {512};
        add(make_cchtm_pending_match, where);
    }
    /// Figure 5.
    void add_aliases(const std::vector<std::uint64_t>& bytes) {
        cchtm_setting where = setting_of(cchtm_sweep_threads, sizes_.vertices);
        where.alias_sizes = bytes;
        add(make_cchtm_aliases_match, where);
    }
    /// Figures 7, 11 and 16. The usual lag and none are in every match.
    void add_lags(const std::vector<std::uint64_t>& lags) {
        cchtm_setting tree = setting_of(cchtm_sweep_threads, sizes_.tree);
        cchtm_setting hash = hash_of(cchtm_sweep_threads, usual_group, 100);
        cchtm_setting graph = setting_of(cchtm_sweep_threads, sizes_.vertices);
        tree.lags = hash.lags = graph.lags = lags;
        add(make_cchtm_tree_match, tree);
        add(make_cchtm_hash_match, hash);
        add(make_cchtm_ssca2_match, graph);
    }

    std::vector<planned_match> take() { return std::move(plan_); }

private:
    static constexpr std::uint64_t usual_group = 10;

    cchtm_setting setting_of(unsigned threads, std::uint64_t elements) const {
        return cchtm_setting_of(threads, elements, wanted_.delay_ns);
    }
    cchtm_setting hash_of(unsigned threads, std::uint64_t group, std::uint64_t write_percent) const {
        cchtm_setting where = setting_of(threads, sizes_.words);
        where.group = group;
        where.write_percent = write_percent;
        return where;
    }
    template <class Make>
    void add(Make make, const cchtm_setting& where) {
        const bool with_floor = plan_.empty();
        plan_.push_back([=, &wanted = wanted_, &space = space_] { return make(where, with_floor, wanted, space); });
    }

    const options& wanted_;
    scratch& space_;
    cchtm_sizes sizes_;
    std::vector<planned_match> plan_;
};

}  // namespace

std::vector<planned_match> plan_cchtm(const options& wanted, scratch& space) {
    using numbers = std::vector<std::uint64_t>;
    using delays = std::vector<std::uint32_t>;
    cchtm_plan plan(wanted, space);
    plan.add_threads(1);
    plan.add_groups(1, {2, 30});
    plan.add_threads(cchtm_sweep_threads);
    plan.add_groups(cchtm_sweep_threads, wanted.quick ? numbers{2, 30} : numbers{2, 5, 20, 30});
    plan.add_write_percents(wanted.quick ? numbers{10, 50} : numbers{10, 30, 50, 70});
    if (chosen(wanted, "cc_htm")) {
        plan.add_lags(wanted.quick ? numbers{8, 512} : numbers{8, 32, 256, 512});
        plan.add_pending();
        plan.add_aliases(wanted.quick ? numbers{64u << 10, 1u << 20, 64u << 20}
                                      : numbers{16u << 10, 256u << 10, 4u << 20, 64u << 20, 256u << 20});
    }
    plan.add_file(1);
    if (!wanted.quick) plan.add_file(cchtm_sweep_threads);
    plan.add_rates(wanted.quick ? numbers{100'000, 400'000}
                                : numbers{50'000, 100'000, 200'000, 400'000, 600'000, 800'000});
    // A delay of the caller's is everywhere already.
    if (wanted.delay_ns == 0) plan.add_delays(wanted.quick ? delays{1000} : delays{300, 1000});
    // More threads than this machine may have processors.
    if (!wanted.quick) plan.add_threads(4);
    return plan.take();
}

void conclude_cchtm(report&) {
    if (const char* const obstacle = htm::obstacle_here())
        tools::show(fmt::format("Nothing ran on hardware transactions. {}\n", obstacle));
}

}  // namespace holdfast::bench
