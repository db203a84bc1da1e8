#include <bench/runner.hpp>

#include <bench/external.hpp>
#include <bench/table.hpp>
#include <holdfast/persist/seam.hpp>
#include <tools/streams.hpp>

#include <fmt/format.h>

#include <unistd.h>

#include <algorithm>
#include <map>

namespace holdfast::bench {
namespace {

using counts = std::map<std::string, std::uint64_t>;

/// Log bytes that one transaction takes, as far as counters tell: streams are log records, and on
/// a file the checkpoint's writes are few beside the records'. Where records are written back, homes count too.
double log_bytes_per_transaction(const batch& one) {
    if (!one.spent || one.transactions == 0) return 0;
    const auto& medium = one.spent->medium;
    const bool writes_back = one.spent->has_log && medium.streamed_bytes == 0;
    const std::uint64_t sent = writes_back ? medium.write_backs * persist::line_bytes : medium.streamed_bytes;
    return static_cast<double>(sent + medium.written_bytes) / static_cast<double>(one.transactions);
}

/// Each thread has a transaction at least.
std::uint64_t batch_length(const batch& warm, const batch_limits& limits, unsigned threads) {
    const double each_ns = std::max(warm.ns / static_cast<double>(warm.transactions), 0.1);
    double wanted = limits.wanted_ns / each_ns;
    const double bytes = log_bytes_per_transaction(warm);
    if (bytes > 0) wanted = std::max(wanted, limits.laps * static_cast<double>(limits.log_bytes) / bytes);
    wanted = std::min(wanted, limits.longest_ns / each_ns);
    return std::max<std::uint64_t>(static_cast<std::uint64_t>(wanted), threads);
}

/// Runs ever longer batches until they say how long one transaction takes.
counts warm_up(entry& one, const batch_limits& limits, unsigned threads) {
    counts lengths;
    if (limits.fixed_transactions != 0) {
        for (const auto& name : one.cases) {
            one.measured->run(name, limits.fixed_transactions);
            lengths[name] = limits.fixed_transactions;
        }
        return lengths;
    }
    for (std::uint64_t tries = 16;; tries *= 4) {
        double longest_ns = 0;
        for (const auto& name : one.cases) {
            const batch warm = one.measured->run(name, tries);
            longest_ns = std::max(longest_ns, warm.ns);
            lengths[name] = batch_length(warm, limits, threads);
        }
        if (longest_ns > limits.wanted_ns / 8 || tries > (1u << 26)) break;
    }
    // What is inserted is removed again: the structure keeps its size.
    if (lengths.contains("insert") && lengths.contains("remove"))
        lengths["insert"] = lengths["remove"] = std::max(lengths["insert"], lengths["remove"]);
    return lengths;
}

struct summary {
    double median = 0, min = 0, max = 0;
};

summary summarize(std::vector<double> values) {
    std::sort(values.begin(), values.end());
    return {values[values.size() / 2], values.front(), values.back()};
}

double transactions_of(const batch& one) { return static_cast<double>(one.transactions); }
double groups_of(const batch& one) { return static_cast<double>(one.spent->groups.value_or(0)); }
double truncations_of(const batch& one) { return static_cast<double>(one.spent->truncations); }
double bytes_of(const batch& one) { return static_cast<double>(one.spent->medium.medium_bytes()); }

/// All batches of one case of one contestant.
class series {
public:
    void add(const batch& one) { batches_.push_back(one); }

    template <class F>
    summary over(F&& of_one) const {
        std::vector<double> values;
        for (const batch& one : batches_) values.push_back(of_one(one));
        return summarize(std::move(values));
    }
    /// A count per transaction (or per whatever `per` gives): exact over all batches.
    template <class F, class G>
    summary pooled(F&& count, G&& per) const {
        summary all = over([&](const batch& one) { return count(one) / std::max(per(one), 1.0); });
        double counted = 0, divisor = 0;
        for (const batch& one : batches_) counted += count(one), divisor += per(one);
        all.median = counted / std::max(divisor, 1.0);
        return all;
    }
    double total(double (*of_one)(const batch&)) const {
        double sum = 0;
        for (const batch& one : batches_) sum += of_one(one);
        return sum;
    }
    /// One summary for each metric that batches observed.
    std::vector<std::pair<observation, summary>> observed() const {
        std::vector<std::pair<observation, summary>> all;
        for (std::size_t i = 0; i < batches_.front().seen.size(); ++i)
            all.emplace_back(batches_.front().seen[i], over([i](const batch& one) { return one.seen.at(i).value; }));
        return all;
    }
    unsigned runs() const { return static_cast<unsigned>(batches_.size()); }
    bool counted() const { return batches_.front().spent.has_value(); }
    /// Whether it fills a log: a floor has none, and volatile_only and reading write nothing.
    bool logs() const { return counted() && batches_.front().spent->has_log && total(bytes_of) > 0; }
    bool grouped() const { return counted() && batches_.front().spent->groups.has_value(); }

private:
    std::vector<batch> batches_;
};

/// Turns a series into its records.
class recorder {
public:
    recorder(const match& in, const entry& of, std::string case_name, const series& all)
        : match_(in), entry_(of), case_name_(std::move(case_name)), series_(all) {}

    std::vector<record> records() {
        const auto each_ns = [](const batch& one) { return one.ns / transactions_of(one); };
        add("ns_per_tx", "ns", series_.over(each_ns));
        add("tx_per_s", "1/s", series_.over([&](const batch& one) { return 1e9 / each_ns(one); }));
        if (!match_.also_named.empty()) add(match_.also_named, "ns", series_.over(each_ns));
        for (const auto& [what, value] : series_.observed()) add(what.metric, what.unit, value);
        if (series_.counted()) add_counts();
        return std::move(records_);
    }

private:
    void add(const std::string& metric, const std::string& unit, const summary& value) {
        records_.push_back({match_.suite, case_name_, entry_.engine, match_.threads, entry_.params, metric, unit,
                            value.median, value.min, value.max, series_.runs()});
    }
    template <class F>
    void add_count(const std::string& metric, const std::string& unit, F&& of_medium) {
        const auto count = [&](const batch& one) { return static_cast<double>(of_medium(one.spent->medium)); };
        add(metric, unit, series_.pooled(count, transactions_of));
    }
    void add_counts() {
        add_count("write_backs_per_tx", "1", [](const persist::counters& c) { return c.write_backs; });
        add_count("fences_per_tx", "1", [](const persist::counters& c) { return c.fences; });
        add_count("pm_bytes_per_tx", "B", [](const persist::counters& c) { return c.medium_bytes(); });
        add_count("syncs_per_tx", "1", [](const persist::counters& c) { return c.syncs; });
        add_total("truncations", truncations_of);
        if (!series_.grouped()) return;
        add_total("groups", groups_of);
        add("syncs_per_group", "1",
            series_.pooled([](const batch& one) { return static_cast<double>(one.spent->medium.syncs); }, groups_of));
    }
    void add_total(const std::string& metric, double (*of_one)(const batch&)) {
        const double sum = series_.total(of_one);
        add(metric, "1", {sum, sum, sum});
    }

    const match& match_;
    const entry& entry_;
    std::string case_name_;
    const series& series_;
    std::vector<record> records_;
};

}  // namespace

progress::progress(std::uint64_t matches) : visible_(::isatty(STDERR_FILENO) == 1), matches_(matches) {}
progress::~progress() { hide(); }

void progress::show(const std::string& what, double part) {
    if (!visible_) return;
    constexpr int width = 30;
    const double done = (static_cast<double>(done_) + part) / static_cast<double>(std::max<std::uint64_t>(matches_, 1));
    const int filled = std::clamp(static_cast<int>(done * width), 0, width);
    const std::string bar = std::string(static_cast<std::size_t>(filled), '#') +
                            std::string(static_cast<std::size_t>(width - filled), ' ');
    tools::draw_line(fmt::format("[{}] {:>3}% {}", bar, static_cast<int>(done * 100), what));
}

void progress::next_match() { ++done_; }

void progress::hide() {
    if (visible_) tools::complain("\r\033[K");
}

void play(match& wanted, report& to, progress& bar) {
    if (wanted.entries.empty()) return bar.next_match();
    std::vector<counts> lengths;
    for (auto& one : wanted.entries) {
        bar.show(wanted.title + ": warming up " + one.engine, 0.1);
        lengths.push_back(warm_up(one, wanted.limits, wanted.threads));
    }
    std::vector<std::map<std::string, series>> measured(wanted.entries.size());
    std::vector<std::string> order;
    for (const auto& one : wanted.entries)
        for (const auto& name : one.cases)
            if (std::find(order.begin(), order.end(), name) == order.end()) order.push_back(name);
    const auto too_few_truncations = [&] {
        for (const auto& of_one : measured)
            for (const auto& [name, all] : of_one)
                if (all.logs() && all.total(truncations_of) < static_cast<double>(truncations_wanted)) return true;
        return false;
    };
    const unsigned at_least = wanted.limits.repetitions;
    const unsigned at_most = at_least + (wanted.limits.laps > 0 ? wanted.limits.more_repetitions : 0);
    for (unsigned repetition = 0; repetition < at_most; ++repetition) {
        if (repetition >= at_least && !too_few_truncations()) break;
        for (const auto& name : order) {
            for (std::size_t i = 0; i < wanted.entries.size(); ++i) {
                auto& one = wanted.entries[i];
                if (std::find(one.cases.begin(), one.cases.end(), name) == one.cases.end()) continue;
                bar.show(wanted.title + ": " + one.engine, 0.2 + 0.8 * repetition / at_most);
                measured[i][name].add(one.measured->run(name, lengths[i][name]));
            }
        }
    }
    std::vector<record> shown;
    for (const auto& name : order) {
        for (std::size_t i = 0; i < wanted.entries.size(); ++i) {
            const auto found = measured[i].find(name);
            if (found == measured[i].end()) continue;
            for (auto& one : recorder(wanted, wanted.entries[i], name, found->second).records()) {
                if (wanted.entries[i].recorded) to.add(one);
                shown.push_back(std::move(one));
            }
        }
    }
    bar.hide();
    for (auto& one : external_beside(to.external(), shown)) shown.push_back(std::move(one));
    print_table(wanted.title, shown);
    bar.next_match();
}

}  // namespace holdfast::bench
