// Whole programs, crashed at many moments of one run: what became durable, in the order of time over the image at the
// beginning, is what each crash leaves.
#include <sim/logging/recovery.hpp>
#include <sim/logging/software_recovery.hpp>
#include <sim/machine/simulated_machine.hpp>
#include <sim/machine/small_run_test.hpp>

#include <gtest/gtest.h>

#include <algorithm>
#include <map>
#include <random>

namespace holdfast::sim {
namespace {

struct seen_transaction {
    std::map<std::uint64_t, std::uint64_t> words{};  ///< what it left in each word that it stored to
    time acknowledged = never;
    bool whole = true;  ///< false: it began before the run was watched
};

/// Notes what a run stores, acknowledges and makes durable, in front of the hardware that is attached already.
class witness final : public port::transactions,
                      public port::store_commit,
                      public port::time_passing,
                      public port::persisted {
public:
    void attach(simulated_machine& to) {
        machine_ = &to;
        behind_ = to.ports;
        to.ports.on_transaction = this;
        to.ports.on_store = this;
        to.ports.on_time = this;
        to.ports.on_persist = this;
    }

    time begin(hart_id hart, transaction_id id, time at) override {
        if (is_watching_) open(hart).emplace_back();
        return behind_.on_transaction ? behind_.on_transaction->begin(hart, id, at) : at;
    }
    time commit(hart_id hart, transaction_id id, time at) override {
        if (behind_.on_transaction) at = behind_.on_transaction->commit(hart, id, at);
        if (is_watching_) {
            if (open(hart).empty()) open(hart).push_back({.whole = false});
            open(hart).back().acknowledged = at;
        }
        return at;
    }
    time commit(const port::store_event& event) override {
        const time at = behind_.on_store ? behind_.on_store->commit(event) : event.at;
        if (is_watching_ && event.in_transaction && is_persistent(event.where)) note(event);
        return at;
    }
    void reached(time at) override {
        if (behind_.on_time) behind_.on_time->reached(at);
    }
    void measured_begin() override {
        if (behind_.on_time) behind_.on_time->measured_begin();
        is_watching_ = true;
        const memory_map& map = machine_->memory.map();
        machine_->memory.nvram().image().for_each_page([&](address page, std::span<const std::byte> bytes) {
            if (map.is_nvram(page)) at_first.write_bytes(page, bytes);
        });
    }
    void became_durable(const port::persist_event& event) override {
        if (behind_.on_persist) behind_.on_persist->became_durable(event);
        if (is_watching_) durable.emplace(event.at, event.what);
    }
    /// Crashes come behind transactions that had begun before, and before a thread's last one: of those that are open
    /// all is known.
    void stop() {
        is_watching_ = false;
        end = never;
        for (const auto& [hart, all] : of_harts) {
            if (!all.front().whole) begin_at = std::max(begin_at, all.front().acknowledged);
            const auto is_done = [](const seen_transaction& each) { return each.acknowledged != never; };
            const auto last = std::find_if(all.rbegin(), all.rend(), is_done);
            end = std::min(end, last == all.rend() ? time{} : last->acknowledged);
        }
    }

    std::map<std::uint32_t, std::vector<seen_transaction>> of_harts{};
    std::map<std::uint64_t, std::uint64_t> words_at_first{};
    std::multimap<time, line_write> durable{};  ///< lines, or parts of them
    memory_image at_first{};
    time begin_at{}, end{};  ///< of the crashes

private:
    std::vector<seen_transaction>& open(hart_id hart) { return of_harts[hart.value]; }
    void note(const port::store_event& event) {
        const std::uint64_t word = event.where.value & ~std::uint64_t{7};
        const std::size_t offset = event.where.value - word;
        ASSERT_LE(offset + event.new_bytes.size(), 8u);
        std::vector<seen_transaction>& mine = open(event.hart);
        if (mine.empty() || mine.back().acknowledged != never) mine.push_back({.whole = false});
        // The old bytes lie in their line.
        std::uint64_t before = 0;
        std::memcpy(&before, event.old_bytes.data() - offset, sizeof(before));
        words_at_first.try_emplace(word, before);
        std::memcpy(reinterpret_cast<std::byte*>(&before) + offset, event.new_bytes.data(), event.new_bytes.size());
        mine.back().words[word] = before;
    }

    simulated_machine* machine_ = nullptr;
    port::ports behind_{};
    bool is_watching_ = false;
};

struct verdict {
    std::uint64_t crashes = 0;
    std::uint64_t wrong = 0;  ///< crashes after which a word is neither what acknowledged transactions left, nor what
                              ///< one that was open at the crash did, as a whole
    std::uint64_t recovered = 0;  ///< words that recovery wrote
};

/// Crashes a run that was watched, in the order of time.
class judge {
public:
    explicit judge(const witness& run)
        : run_(run), expected_(run.words_at_first), next_write_(run.durable.begin()) {
        copy(run.at_first, durable_);
        for (const auto& [hart, all] : run.of_harts) {
            for (const seen_transaction& each : all) acknowledged_.emplace(each.acknowledged, &each);
        }
        next_ = acknowledged_.begin();
    }

    /// `recover` brings an image to a consistent state and returns how many words it wrote.
    template <class Recover>
    verdict crash(std::uint64_t crashes, std::uint64_t seed, Recover&& recover) {
        std::mt19937_64 random(seed);
        std::vector<std::uint64_t> moments;
        const std::uint64_t length = (run_.end - run_.begin_at).picoseconds;
        for (std::uint64_t i = 0; i < crashes; ++i) moments.push_back(run_.begin_at.picoseconds + random() % length);
        std::sort(moments.begin(), moments.end());
        verdict found;
        for (const std::uint64_t each : moments) {
            advance({each});
            memory_image survives;
            copy(durable_, survives);
            found.recovered += recover(survives);
            found.wrong += !is_right(survives, {each});
            ++found.crashes;
        }
        return found;
    }

private:
    static void copy(const memory_image& from, memory_image& to) {
        from.for_each_page([&](address page, std::span<const std::byte> bytes) { to.write_bytes(page, bytes); });
    }
    void advance(time to) {
        for (; next_write_ != run_.durable.end() && next_write_->first <= to; ++next_write_)
            durable_.write(next_write_->second);
        for (; next_ != acknowledged_.end() && next_->first <= to; ++next_)
            for (const auto& [word, value] : next_->second->words) expected_[word] = value;
    }
    bool is_right(const memory_image& survives, time at) const {
        std::map<std::uint64_t, std::uint64_t> others;  // words that are not as acknowledged transactions left them
        for (const auto& [word, value] : expected_) {
            std::uint64_t there = 0;
            survives.read_bytes({word}, std::as_writable_bytes(std::span(&there, 1)));
            if (there != value) others[word] = there;
        }
        for (const auto& [hart, all] : run_.of_harts) {
            const auto open = std::find_if(all.begin(), all.end(), [&](auto& each) { return each.acknowledged > at; });
            if (open == all.end()) continue;
            // It may be there, as a whole.
            std::size_t of_it = 0;
            for (const auto& [word, value] : open->words) {
                const auto found = others.find(word);
                of_it += (found != others.end() ? found->second : expected_.at(word)) == value;
            }
            const bool is_there = of_it == open->words.size();
            if (!is_there) continue;
            for (const auto& [word, value] : open->words) others.erase(word);
        }
        return others.empty();
    }

    const witness& run_;
    memory_image durable_{};
    std::map<std::uint64_t, std::uint64_t> expected_;
    std::multimap<time, const seen_transaction*> acknowledged_{};
    std::multimap<time, line_write>::const_iterator next_write_;
    std::multimap<time, const seen_transaction*>::const_iterator next_{};
};

/// So small that lines leave all the time, and the hardware's log wraps.
machine_config machine_with(const char* l2_size) {
    machine_config config = test::small_machine();
    EXPECT_FALSE(set(config, "cache.l2.size", l2_size));
    EXPECT_FALSE(set(config, "log.bytes", "64KiB"));
    EXPECT_FALSE(check(config));
    return config;
}
constexpr const char* small_l2 = "64KiB";
/// Lines leave it only when they are written back, and misses take longest.
constexpr const char* usual_l2 = "8MiB";

verdict crashes_of(const machine_config& config, simulation_options options, std::uint64_t crashes) {
    witness run;
    port::log_region region;
    options.attach = [&](simulated_machine& built) {
        run.attach(built);
        if (!built.registers.log_regions.empty()) region = built.registers.log_regions.front();
    };
    options.measured = [&](simulated_machine& built, time end) {
        built.memory.settle(end);  // what became durable until then is told
        run.stop();
    };
    const auto result = simulate(config, options, test::nobody_looks);
    EXPECT_TRUE(result) << result.problem().text();
    if (!result) return {};
    EXPECT_TRUE(result->verified);
    return judge(run).crash(crashes, options.seed, [&](memory_image& image) {
        if (has_logging_hardware(options.design)) {
            const recovery_report report = recover(image, region, config.log);
            return report.undone + report.redone;
        }
        const bool undoes = options.design == design::undo_clwb ||
                            (options.design == design::unsafe_base && options.unsafe_values == logged_values::undo);
        const auto values = undoes ? logged_values::undo : logged_values::redo;
        const software_recovery_report report = recover_software_logs(image, options.threads, values);
        return report.undone + report.redone;
    });
}

simulation_options crashed_options(const std::string& workload, design what, std::uint32_t threads = 8) {
    simulation_options options = test::small_run(workload, threads);
    options.operations = 4000;
    options.design = what;
    return options;
}

struct crashed_run {
    const char* workload;
    const char* element;
    design what;
    std::uint32_t threads;
    const char* l2_size = small_l2;
};

class Crash : public testing::TestWithParam<crashed_run> {};

TEST_P(Crash, LeavesEachTransactionAsAWholeAndAllThatWereAcknowledged) {
    simulation_options options = crashed_options(GetParam().workload, GetParam().what, GetParam().threads);
    options.element = GetParam().element;
    const verdict found = crashes_of(machine_with(GetParam().l2_size), options, 300);
    EXPECT_EQ(found.crashes, 300u);
    EXPECT_EQ(found.wrong, 0u);
    EXPECT_GT(found.recovered, 0u);
}

std::vector<crashed_run> crashed_runs() {
    std::vector<crashed_run> made;
    for (const char* const workload : {"hash", "rbtree", "btree", "sps", "ssca2"}) {
        made.push_back({workload, "int", design::fwb, 8});
        made.push_back({workload, "int", design::redo_clwb, 8});
        // With several threads it may be wrong, see below.
        made.push_back({workload, "int", design::undo_clwb, 1});
    }
    made.push_back({"sps", "string", design::fwb, 8});
    made.push_back({"hash", "string", design::redo_clwb, 8});
    // Its stores miss while others write the same lines back.
    made.push_back({"ssca2", "string", design::redo_clwb, 8, usual_l2});
    return made;
}

INSTANTIATE_TEST_SUITE_P(All, Crash, testing::ValuesIn(crashed_runs()), [](const auto& of) {
    std::string name = std::string(of.param.workload) + "_" + of.param.element + "_" +
                       std::string(name_of(of.param.what)) + (of.param.l2_size == small_l2 ? "" : "_usual_l2");
    std::replace(name.begin(), name.end(), '-', '_');
    return name;
});

// A thread that writes a line back takes along what another one has just stored to it, whose old value is on its way
// to the log.
TEST(CrashOfUndoLogging, LeavesWrongWordsWhereThreadsShareLines) {
    simulation_options options = crashed_options("ssca2", design::undo_clwb);
    options.element = "string";
    EXPECT_GT(crashes_of(machine_with(usual_l2), options, 300).wrong, 0u);
}

/// Counts what goes through the caches of the region that is only streamed to.
class log_watch final : public port::store_commit {
public:
    time commit(const port::store_event& event) override {
        in_caches += event.where >= software_logs_begin ? 1u : 0u;
        return event.at;
    }
    std::uint64_t in_caches = 0;
};

TEST(SoftwareLog, GoesPastTheCachesAlsoWhileTheyAreWarmedUpAndBehindAChangeOfPhase) {
    for (const design what : {design::redo_clwb, design::undo_clwb}) {
        log_watch seen;
        simulation_options options = crashed_options("ssca2", what);
        options.operations = 1000;
        options.attach = [&](simulated_machine& built) { built.ports.on_store = &seen; };
        ASSERT_TRUE(simulate(test::small_machine(), options, test::nobody_looks));
        EXPECT_EQ(seen.in_caches, 0u) << name_of(what);
    }
}

TEST(CrashOfUnsafeDesigns, LeavesWrongWords) {
    EXPECT_GT(crashes_of(machine_with(small_l2), crashed_options("hash", design::non_pers), 100).wrong, 0u);
    for (const logged_values values : {logged_values::undo, logged_values::redo}) {
        simulation_options options = crashed_options("hash", design::unsafe_base);
        options.unsafe_values = values;
        EXPECT_GT(crashes_of(machine_with(small_l2), options, 100).wrong, 0u);
    }
}

}  // namespace
}  // namespace holdfast::sim
