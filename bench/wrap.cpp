// Suite wrap: the evaluation of SoftWrAP-LAT, inserts into a B+ tree of 20,000 elements. How many a second, and how
// long a request for one takes at a given rate of arrivals; and what a table of aliases costs.
#include <bench/alias_table.hpp>
#include <bench/contest/tree_requests.hpp>
#include <bench/hot_node.hpp>
#include <bench/pools.hpp>
#include <bench/rivals/process.hpp>
#include <bench/suites.hpp>

#include <holdfast/engine/redo.hpp>
#include <holdfast/engine/softwrap.hpp>
#include <holdfast/engine/softwrap_lat.hpp>
#include <holdfast/engine/steal_no_force.hpp>
#include <holdfast/engine/undo.hpp>
#include <holdfast/engine/volatile_only.hpp>

#include <map>

namespace holdfast::bench {
namespace {

/// Small, so that every batch pays for truncations.
constexpr std::uint64_t wrap_log_bytes = 512u << 10;
constexpr std::uint64_t wrap_pool_bytes = 16u << 20;
/// Wraps between two trimmings.
constexpr std::uint64_t largest_batch = 64;
/// Of a batch: at most a fifth of the tree, and enough to fill the log.
constexpr std::uint64_t most_inserts = 4000, fewest_inserts = 2000;

/// One tree in one pool, made anew for each batch, so that every batch finds as many elements.
template <class Engine>
class tree_contestant final : public contestant {
public:
    tree_contestant(setting where, scratch& space)
        : where_(std::move(where)), path_(space.path(where_.medium, std::string(Engine::description.name))) {}

    batch run(const std::string&, std::uint64_t transactions) override {
        bench_pool<Engine> pool(path_, where_, wrap_pool_bytes, [](basic_pool<Engine>& filled) {
            const workload::stx_btree tree(pool_access<Engine>(filled.core()), root_of(filled));
            if (!tree.prefill(0, tree_elements_filled, 16)) fail(errc::io, "the tree could not be filled");
        });
        return run_tree_batch({batches_++, transactions, where_.rate}, pool.access(), root_of(pool.pool()),
                              [&](std::uint64_t count, auto&& body) { return pool.measure(1, count, body); });
    }

private:
    static workload::stx_root* root_of(basic_pool<Engine>& pool) {
        return pool.template plain_root<workload::stx_root>("tree").value();
    }

    setting where_;
    std::string path_;
    std::uint64_t batches_ = 0;
};

/// Which contestants still keep up: one that answers fewer than 95 of 100 requests in the time in which they arrive is
/// not asked to at higher rates. Its responses would grow with the length of the run.
class keeping_up {
public:
    /// From now on its batches are of another rate.
    void begin(const std::string& who) { parts_[who].clear(); }
    /// It answered this part of the requests of a batch in time.
    void note(const std::string& who, double part) { parts_[who].push_back(part); }
    /// In half of its batches at the last rate.
    bool at_last(const std::string& who) const {
        const auto found = parts_.find(who);
        if (found == parts_.end()) return true;
        auto parts = found->second;
        const auto middle = parts.begin() + static_cast<std::ptrdiff_t>(parts.size() / 2);
        std::nth_element(parts.begin(), middle, parts.end());
        return *middle >= least_part;
    }

private:
    static constexpr double least_part = 0.95;

    std::map<std::string, std::vector<double>> parts_;
};

/// A contestant whose batches at a rate are noted.
class watched final : public contestant {
public:
    watched(std::unique_ptr<contestant> inner, std::string who, std::uint64_t rate, keeping_up& notes)
        : inner_(std::move(inner)), who_(std::move(who)), rate_(static_cast<double>(rate)), notes_(notes) {
        notes_.begin(who_);
    }

    batch run(const std::string& name, std::uint64_t transactions) override {
        batch done = inner_->run(name, transactions);
        notes_.note(who_, static_cast<double>(done.transactions) / done.ns * 1e9 / rate_);
        return done;
    }

private:
    std::unique_ptr<contestant> inner_;
    std::string who_;
    double rate_;
    keeping_up& notes_;
};

/// Adds those who take part in one match, at one delay and rate.
class tree_field {
public:
    tree_field(match& to, setting where, const options& asked, scratch& space, keeping_up& notes)
        : to_(to), where_(std::move(where)), asked_(asked), space_(space), notes_(notes) {}

    /// All of them: the engines of the suite stand here and nowhere else.
    void add_all() {
        add_engine<volatile_only>();
        add_engine<undo_paper>();
        add_engine<undo>();
        add_engine<redo>();
        add_engine<steal_no_force>();
        add_engine<softwrap_lat>({1, 8, largest_batch});
        add_engine<softwrap>();
        add_variant<steal_no_force>("by_commits");
        if (where_.rate == 0) {
            add_variant<softwrap_lat>("early");
            add_variant<softwrap_lat>("word_by_word");
            add_variant<softwrap>("by_commits");
        }
        for (const std::string rival : {"libpmemobj", "libpmemobj_best"})
            add(rival, where_, [&] { return start_rival(rival, "wrap", where_, space_); });
    }

    /// Where a killed process is all that is feared: what wraps cost beside their write-backs and fences, and what
    /// aliasing alone does.
    void add_at_process() {
        add_engine<volatile_only>();
        add_engine<redo>();
        add_engine<softwrap_lat>();
        add_engine<softwrap>();
        add_variant<softwrap_lat>("no_log");
    }

private:
    template <class Engine>
    void add_variant(const std::string& name) {
        setting where = where_;
        where.batch = where.level == "power" && Engine::description.writes_homes_back ? largest_batch : 0;
        where.variant = name;
        add(std::string(Engine::description.name), where,
            [&] { return std::make_unique<tree_contestant<Engine>>(where, space_); });
    }
    /// With each of these batches; 0 for an engine that gathers none.
    template <class Engine>
    void add_engine(std::vector<std::uint64_t> batches = {0}) {
        for (const std::uint64_t each : batches) {
            setting where = where_;
            where.batch = each;
            add(std::string(Engine::description.name), where,
                [&] { return std::make_unique<tree_contestant<Engine>>(where, space_); });
        }
    }
    template <class Make>
    void add(const std::string& engine, const setting& where, Make&& make) {
        const std::string who = engine + " " + where.variant + " " + std::to_string(where.batch);
        if (!chosen(asked_, engine) || !notes_.at_last(who)) return;
        std::unique_ptr<contestant> made = make();
        if (where.rate != 0) made = std::make_unique<watched>(std::move(made), who, where.rate, notes_);
        to_.entries.push_back(
            {engine, std::move(made), {where.rate == 0 ? "sustained" : "response"}, where.as_parameters()});
    }

    match& to_;
    setting where_;
    const options& asked_;
    scratch& space_;
    keeping_up& notes_;
};

setting wrap_setting(std::uint32_t delay_ns, std::uint64_t rate) {
    setting where;
    where.elements = tree_elements;
    where.log_bytes = wrap_log_bytes;
    where.delay_ns = delay_ns;
    where.rate = rate;
    return where;
}

setting hot_setting(std::uint32_t delay_ns) {
    setting where = wrap_setting(delay_ns, 0);
    where.elements = 0;
    return where;
}

/// A few milliseconds, so that most batches are not interrupted.
std::uint64_t inserts_at(std::uint64_t rate) {
    return rate == 0 ? most_inserts : std::clamp(rate / 200, fewest_inserts, most_inserts);
}

match make_tree_match(const setting& where, const options& asked, scratch& space, keeping_up& notes) {
    match made;
    made.suite = "wrap";
    made.title = where.title(where.rate == 0 ? "wrap: inserts back to back" : "wrap: inserts at a given rate");
    if (where.rate != 0) made.title += "   seed of the arrivals " + std::to_string(arrivals_seed);
    made.limits.repetitions = asked.quick ? repetitions : 15;
    made.limits.fixed_transactions = inserts_at(where.rate);
    tree_field field(made, where, asked, space, notes);
    where.level == "power" ? field.add_all() : field.add_at_process();
    return made;
}

/// The same for all engines, so that their curves have points in common.
std::vector<std::uint64_t> request_rates(bool quick) {
    if (quick) return {100'000, 200'000, 400'000, 800'000, 1'600'000, 3'200'000, 6'400'000};
    return {12'500,  18'000,  25'000,  35'000,  50'000,    70'000,    100'000,   140'000,   200'000,   280'000,
            400'000, 560'000, 800'000, 1'100'000, 1'600'000, 2'300'000, 3'200'000, 4'500'000, 6'400'000, 9'000'000};
}

std::vector<std::uint32_t> wrap_delays_ns(const options& asked) {
    if (asked.quick) return {asked.delay_ns};
    if (asked.delay_ns != 0) return {0, asked.delay_ns};
    return {0, 300, 1000};
}

}  // namespace

std::vector<planned_match> plan_wrap(const options& wanted, scratch& space) {
    std::vector<planned_match> plan;
    for (const std::uint32_t delay_ns : wrap_delays_ns(wanted)) {
        const auto notes = std::make_shared<keeping_up>();
        const auto add = [&](std::uint64_t rate) {
            plan.push_back([=, &wanted, &space] {
                return make_tree_match(wrap_setting(delay_ns, rate), wanted, space, *notes);
            });
        };
        add(0);
        for (const std::uint64_t rate : request_rates(wanted.quick)) add(rate);
    }
    plan.push_back([&wanted, &space] {
        setting where = wrap_setting(0, 0);
        where.level = "process";
        keeping_up nobody;
        return make_tree_match(where, wanted, space, nobody);
    });
    plan.push_back([&wanted, &space] { return make_hot_node_match(hot_setting(wanted.delay_ns), wanted, space); });
    plan.push_back([&wanted] { return make_alias_table_match(wanted); });
    return plan;
}

}  // namespace holdfast::bench
