// The ports together: the logger of examples/my_logger keeps every line out of the NVRAM until its log records are
// there. A crash at any moment, under every policy, shows whether it could.
#include <sim/examples/my_logger/my_logger.hpp>

#include <gtest/gtest.h>

#include <algorithm>
#include <array>
#include <random>

namespace holdfast::sim {

namespace {

constexpr std::uint64_t words = 64 * 8;
constexpr std::uint32_t cores = 4;

/// So small that lines leave all the time.
hierarchy_config small_caches() {
    hierarchy_config config;
    config.il1 = config.dl1 = {4 * 64 * 2, 2, ps(1600), ps(400)};
    config.l2 = {8 * 64 * 4, 4, ps(4400), ps(4400)};
    return config;
}

using contents = std::map<std::uint64_t, std::uint64_t>;

/// Cores store to words of their own, in transactions, until a crash.
class cut_run {
public:
    cut_run(const memory_config& config, std::uint64_t seed) : machine_(small_caches(), config), random_(seed) {}

    void run_and_check() {
        const std::uint64_t stores = 1 + random_() % 400;
        for (std::uint64_t value = 1; value <= stores; ++value) step(value);
        const time cut = furthest_behind().now + ns(random_() % 1000);
        memory_image survives = machine_.memory.nvram().crash(cut);
        my::recover(survives, machine_.registers.log_head);
        for (const core_state& each : cores_) check(each, survives, cut);
    }

private:
    struct core_state {
        std::uint32_t number = 0;
        time now{};
        contents newest{};
        bool in_transaction = false;
        std::vector<contents> committed{{}};  ///< what each commit left, and nothing in the beginning
        std::vector<time> acknowledged{{}};   ///< when it was done
    };

    core_state& furthest_behind() {
        return *std::min_element(cores_.begin(), cores_.end(), [](auto& a, auto& b) { return a.now < b.now; });
    }
    address word(std::uint64_t number) const { return machine_.memory.map().nvram_begin + number * 8; }

    void step(std::uint64_t value) {
        core_state& core = furthest_behind();
        machine_.memory.settle(core.now);
        core.now += ns(random_() % 200);
        const hart_id hart{core.number};
        if (!core.in_transaction) core.now = machine_.registers.begin(hart, {next_id_++}, core.now);
        core.in_transaction = true;
        const std::uint64_t number = random_() % (words / cores) * cores + core.number;
        const store_source who{core.number, hart, machine_.registers.transaction(hart)};
        core.now = machine_.caches.store(who, word(number), std::as_bytes(std::span(&value, 1)), core.now).done;
        core.newest[number] = value;
        if (value % 9 == 0) core.now = machine_.caches.write_back(who, word(number), core.now);
        if (value % 31 == 0) core.now = machine_.caches.fence(hart, core.now);
        if (value % 13 == 0) {
            walker_.walk_l2(value % walker_.l2_sets(), core.now, [](walked_line& line) { return line.dirty; });
        }
        if (random_() % 4 != 0) return;
        core.now = machine_.registers.commit(hart, core.now);
        core.in_transaction = false;
        core.committed.push_back(core.newest);
        core.acknowledged.push_back(core.now);
    }

    /// What some commit left: the last one acknowledged, or one that was on its way.
    void check(const core_state& core, const memory_image& survives, time cut) const {
        contents found;
        for (std::uint64_t number = core.number; number < words; number += cores) {
            std::uint64_t value = 0;
            survives.read_bytes(word(number), std::as_writable_bytes(std::span(&value, 1)));
            if (value != 0) found[number] = value;
        }
        std::size_t last = 0;
        while (last + 1 < core.committed.size() && core.acknowledged[last + 1] <= cut) ++last;
        const auto from = core.committed.begin() + static_cast<std::ptrdiff_t>(last);
        EXPECT_NE(std::find(from, core.committed.end(), found), core.committed.end())
            << "core " << core.number << ", transactions acknowledged " << last;
    }

    my::logged_machine machine_;
    tag_walker walker_{machine_.caches};
    std::mt19937_64 random_;
    std::array<core_state, cores> cores_{{{.number = 0}, {.number = 1}, {.number = 2}, {.number = 3}}};
    std::uint16_t next_id_ = 1;
};

TEST(Logging, ThroughThePortsAloneACrashLeavesEveryTransactionWholeOrNotAtAll) {
    memory_config config;
    config.controller.write_entries = 8;
    config.controller.high_mark = 6;
    config.controller.low_mark = 2;
    config.controller.log_entries = 4;
    for (std::uint64_t seed = 0; seed < 300; ++seed) {
        config.controller.drain = static_cast<drain_policy>(seed % 5);
        config.controller.log = static_cast<log_arbitration>(seed / 5 % 3);
        config.controller.persist = static_cast<persist_point>(seed / 15 % 2);
        SCOPED_TRACE("seed " + std::to_string(seed));
        cut_run(config, seed).run_and_check();
        if (testing::Test::HasFailure()) return;
    }
}

TEST(Logging, HoldsLinesWhoseRecordsAreStillOnTheirWay) {
    memory_config config;
    config.controller.log = log_arbitration::in_order;
    my::logged_machine machine(small_caches(), config);
    const address line = machine.memory.map().nvram_begin;
    const std::uint64_t value = 1;
    machine.caches.store({}, line, std::as_bytes(std::span(&value, 1)), ns(0));
    machine.caches.force_write_back(line, ns(200));
    EXPECT_EQ(machine.log.holds(), 1u);
    machine.memory.nvram().flush(ns(300));
    machine.memory.settle(ns(300 + 300));
    EXPECT_EQ(machine.memory.nvram().waiting(), 1u) << "released, and waits for a drain now";
}

}  // namespace
}  // namespace holdfast::sim
