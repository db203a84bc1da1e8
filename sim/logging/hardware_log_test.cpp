// The logging hardware on caches and memory: what each step does, and what a crash at any moment leaves.
#include <sim/logging/logging_hardware.hpp>
#include <sim/logging/recovery.hpp>

#include <gtest/gtest.h>

#include <algorithm>
#include <array>
#include <map>
#include <memory>
#include <random>
#include <set>

namespace holdfast::sim {

namespace {

constexpr std::uint32_t cores = 4;

/// So small that lines leave all the time.
hierarchy_config small_caches() {
    hierarchy_config config;
    config.il1 = config.dl1 = {4 * 64 * 2, 2, ps(1600), ps(400)};
    config.l2 = {16 * 64 * 4, 4, ps(4400), ps(4400)};
    return config;
}

struct logged_machine {
    explicit logged_machine(design what, const log_config& log = {}, const hierarchy_config& cache = small_caches(),
                            const memory_config& behind = {})
        : memory(behind, attached),
          caches(cache, memory, attached),
          hardware(what, log, attached, registers, memory, caches) {
        memory.set_instant(true);
        hardware.measured_begin();
        memory.set_instant(false);
    }

    address word(std::uint64_t number) const { return memory.map().nvram_begin + number * 8; }
    void settle(time now) {
        memory.settle(now);
        caches.settle(now);
        hardware.reached(now);
    }
    time begin(hart_id hart, time at) { return registers.begin(hart, {static_cast<std::uint16_t>(hart.value)}, at); }
    time commit(hart_id hart, time at) { return registers.commit(hart, at); }
    time store(hart_id hart, std::uint64_t number, std::uint64_t value, time at) {
        const store_source who{hart.value, hart, registers.transaction(hart), registers.in_transaction(hart)};
        return caches.store(who, word(number), std::as_bytes(std::span(&value, 1)), at).done;
    }
    time write_back(hart_id hart, std::uint64_t number, time at) {
        return caches.write_back({hart.value, hart, registers.transaction(hart), true}, word(number), at);
    }

    port::ports attached;
    memory_system memory;
    hierarchy caches;
    port::control_registers registers{8, attached};
    logging_hardware hardware;
};

std::uint64_t word_in(const memory_image& image, address where) {
    std::uint64_t value = 0;
    image.read_bytes(where, std::as_writable_bytes(std::span(&value, 1)));
    return value;
}

using contents = std::map<std::uint64_t, std::uint64_t>;

/// Cores store to words of their own, in transactions, until a crash.
class cut_run {
public:
    cut_run(design what, const log_config& log, const memory_config& config, std::uint64_t seed)
        : log_(log), writes_back_(what == design::hwl), machine_(what, log, small_caches(), config), random_(seed) {}

    struct outcome {
        std::uint64_t wrong = 0;  ///< cores whose words are what no commit left
        std::uint64_t lost = 0;   ///< cores that lost what was acknowledged
        std::uint64_t laps = 0;
    };
    outcome run(std::uint64_t stores) {
        for (std::uint64_t value = 1; value <= stores; ++value) step(value);
        const time cut = furthest_behind().now + ns(random_() % 1000);
        machine_.settle(furthest_behind().now);
        outcome found{.laps = machine_.hardware.log().counters().bytes / log_.bytes};
        EXPECT_FALSE(machine_.hardware.log().has_overflowed());
        counters = machine_.hardware.log().counters();
        scans = machine_.hardware.scans();
        memory_image survives = machine_.memory.nvram().crash(cut);
        recover(survives, machine_.hardware.region(), machine_.hardware.log().config());
        for (const core_state& each : cores_) judge(each, survives, cut, found);
        return found;
    }

    log_counters counters{};
    scan_counters scans{};

private:
    static constexpr std::uint64_t words = 64 * 16;
    /// Of a transaction: those of four cores are far from filling a log.
    static constexpr unsigned most_stores = 10;
    struct core_state {
        std::uint32_t number = 0;
        time now{};
        contents newest{};
        bool in_transaction = false;
        std::vector<contents> committed{{}};  ///< what each commit left, and nothing in the beginning
        std::vector<time> acknowledged{{}};
        std::uint64_t line = 0;  ///< stored to last
        std::set<std::uint64_t> lines{};  ///< that the open transaction stored to, by their first words
        unsigned stores = 0;     ///< of the open transaction
    };

    core_state& furthest_behind() {
        return *std::min_element(cores_.begin(), cores_.end(), [](auto& a, auto& b) { return a.now < b.now; });
    }
    void step(std::uint64_t value) {
        core_state& core = furthest_behind();
        machine_.settle(core.now);
        core.now += ns(random_() % 100);
        const hart_id hart{core.number};
        if (!core.in_transaction) core.now = machine_.begin(hart, core.now);
        core.in_transaction = true;
        // Some stores go to one line in a row.
        if (random_() % 3 != 0) core.line = random_() % (words / cores / 8);
        const std::uint64_t number = (core.line * cores + core.number) * 8 + random_() % 8;
        core.now = machine_.store(hart, number, value, core.now);
        core.newest[number] = value;
        core.lines.insert(number / 8 * 8);
        if (random_() % 6 != 0 && ++core.stores < most_stores) return;
        core.stores = 0;
        if (writes_back_) write_lines_back(core);
        core.lines.clear();
        core.now = machine_.commit(hart, core.now);
        core.in_transaction = false;
        core.committed.push_back(core.newest);
        core.acknowledged.push_back(core.now);
    }
    /// What a program does for hardware that forces no line home.
    void write_lines_back(core_state& core) {
        const hart_id hart{core.number};
        for (const std::uint64_t each : core.lines) core.now = machine_.write_back(hart, each, core.now);
        core.now = machine_.registers.truncate_log(hart, core.now);
    }
    void judge(const core_state& core, const memory_image& survives, time cut, outcome& into) const {
        contents found;
        for (std::uint64_t number = 0; number < words; ++number) {
            if (number / 8 % cores != core.number) continue;
            if (const std::uint64_t value = word_in(survives, machine_.word(number))) found[number] = value;
        }
        std::size_t last = 0;
        while (last + 1 < core.committed.size() && core.acknowledged[last + 1] <= cut) ++last;
        const auto is_there = [&](std::size_t from, std::size_t to) {
            const auto end = core.committed.begin() + static_cast<std::ptrdiff_t>(to);
            return std::find(core.committed.begin() + static_cast<std::ptrdiff_t>(from), end, found) != end;
        };
        if (is_there(last, core.committed.size())) return;
        (is_there(0, last) ? into.lost : into.wrong) += 1;
    }

    log_config log_;
    bool writes_back_;
    logged_machine machine_;
    std::mt19937_64 random_;
    std::array<core_state, cores> cores_{{{.number = 0}, {.number = 1}, {.number = 2}, {.number = 3}}};
};

log_config small_log() {
    log_config config;
    config.bytes = 8192;
    config.scan_period = ns(20'000);
    return config;
}

memory_config memory_for(std::uint64_t seed) {
    memory_config config;
    config.controller.drain = static_cast<drain_policy>(seed % 5);
    config.controller.log = static_cast<log_arbitration>(seed / 5 % 3);
    config.controller.persist = static_cast<persist_point>(seed / 15 % 2);
    config.controller.log_order = static_cast<log_order>(seed / 30 % 2);
    return config;
}

/// With caches that lines leave only when somebody asks.
hierarchy_config usual_caches() { return {}; }

log_config plain_log() {
    log_config config;
    config.bytes = 8192;
    return config;
}

TEST(HardwareLog, AStoreWaitsForAPlaceInTheLogBuffer) {
    log_config log = plain_log();
    log.buffer_entries = 2;
    memory_config behind;
    behind.controller.log_entries = 1;
    behind.controller.log_order = log_order::kept;
    logged_machine machine(design::fwb, log, usual_caches(), behind);
    const hart_id hart{0};
    time now = machine.begin(hart, ns(1000));
    // Into the cache first, so that what follows are hits.
    now = machine.store(hart, 0, 1, now);
    now = machine.commit(hart, now + ns(1000));
    machine.settle(now);
    machine.begin(hart, now);
    const time begin = now;
    std::vector<time> took;
    for (std::uint64_t value = 0; value < 8; ++value) {
        const time asked = now;
        now = machine.store(hart, 0, value, now);
        took.push_back(now - asked);
    }
    // Two records are a line, and one line at a time is on its way: a row hit of 36 ns.
    EXPECT_EQ(took[0], took[1]);
    EXPECT_GT(machine.hardware.log().counters().buffer_wait, time{});
    EXPECT_GT(now - begin, ns(36));
    EXPECT_LT(now - begin, ns(4 * 36 + 20));
}

TEST(HardwareLog, ACommitIsDoneAtOnceOrWhenItsRecordIsDurable) {
    for (const log_commit when : {log_commit::instant, log_commit::durable}) {
        log_config log = plain_log();
        log.commit = when;
        logged_machine machine(design::fwb, log, usual_caches());
        const hart_id hart{1};
        time now = machine.store(hart, 8, 3, machine.begin(hart, ns(100)));
        const time asked = now;
        now = machine.commit(hart, now);
        if (when == log_commit::instant) {
            EXPECT_EQ(now, asked);
        } else {
            EXPECT_GE(now, asked + ns(36));
        }
        memory_image survives = machine.memory.nvram().crash(now);
        recover(survives, machine.hardware.region(), log);
        EXPECT_EQ(word_in(survives, machine.word(8)), when == log_commit::durable ? 3u : 0u);
    }
}

TEST(HardwareLog, AHeldLineLeavesWhenItsRecordIsDurable) {
    log_config log = plain_log();
    logged_machine machine(design::fwb, log, usual_caches());
    const hart_id hart{0};
    const time stored = machine.store(hart, 0, 5, machine.begin(hart, ns(100)));
    // Its record is half of a line of the log, and waits in the write-combining buffer.
    const time accepted = machine.caches.force_write_back(machine.word(0), stored);
    EXPECT_EQ(machine.hardware.log().counters().lines_held, 1u);
    machine.settle(accepted + ns(500));
    EXPECT_EQ(word_in(machine.memory.nvram().image(), machine.word(0)), 0u);
    // After the limit it goes, and the line behind it.
    machine.settle(stored + log.partial_line_limit + ns(100));
    machine.settle(stored + log.partial_line_limit + ns(1000));
    machine.memory.nvram().push_out(stored + log.partial_line_limit + ns(1000));
    machine.settle(stored + log.partial_line_limit + ns(3000));
    EXPECT_EQ(word_in(machine.memory.nvram().image(), machine.word(0)), 5u);
    EXPECT_EQ(machine.hardware.log().counters().lines_early, 0u);
}

TEST(HardwareLog, WhatIsStoredInNoTransactionIsNotLogged) {
    logged_machine machine(design::fwb, plain_log(), usual_caches());
    machine.store({0}, 0, 5, ns(100));
    EXPECT_EQ(machine.hardware.log().counters().records, 0u);
    EXPECT_EQ(machine.hardware.log().counters().stores_outside, 1u);
}

TEST(HardwareLog, ATransactionThatIsLongerThanTheLogIsFoundOut) {
    logged_machine machine(design::fwb, plain_log(), usual_caches());
    const hart_id hart{0};
    time now = machine.begin(hart, ns(100));
    for (std::uint64_t value = 1; value <= machine.hardware.log().units(); ++value) {
        now = machine.store(hart, value % 64, value, now);
        machine.settle(now);
        EXPECT_FALSE(machine.hardware.log().has_overflowed()) << value;
    }
    machine.store(hart, 0, 1, now);
    EXPECT_TRUE(machine.hardware.log().has_overflowed());
}

TEST(ForceWriteBack, ALineThatStaysDirtyIsForcedByTheSecondScanAndTheHeadMovesOverItsRecord) {
    log_config log = plain_log();
    log.scan_period = ns(1'000'000);
    logged_machine machine(design::fwb, log, usual_caches());
    const hart_id hart{0};
    machine.commit(hart, machine.store(hart, 0, 5, machine.begin(hart, ns(100))));
    const auto scans_until = [&](std::uint64_t wanted, time from) {
        for (time now = from;; now += ns(1000)) {
            machine.settle(now);
            if (machine.hardware.scans().scans == wanted && machine.hardware.scans().scanning > time{} &&
                now > log.scan_period * wanted + ns(900'000))
                return now;
        }
    };
    const time first = scans_until(1, ns(1000));
    EXPECT_EQ(machine.hardware.scans().lines_forced, 0u) << "it was dirty for the first time";
    const std::uint64_t room = machine.hardware.log().room();
    const time second = scans_until(2, first);
    EXPECT_EQ(machine.hardware.scans().lines_forced, 1u);
    EXPECT_EQ(word_in(machine.memory.nvram().image(), machine.word(0)), 5u);
    machine.settle(second + ns(10'000));
    EXPECT_GT(machine.hardware.log().room(), room);
    EXPECT_EQ(machine.hardware.log().counters().heads, 1u);
}

/// An image whose writes fail after some.
struct cut_image {
    memory_image& image;
    std::uint64_t writes_left;
    struct stopped {};
    void read_bytes(address from, std::span<std::byte> into) const { image.read_bytes(from, into); }
    void write_bytes(address to, std::span<const std::byte> bytes) {
        if (writes_left-- == 0) throw stopped{};
        image.write_bytes(to, bytes);
    }
};

TEST(Recovery, MayBeCutAtEachOfItsWritesAndBeginAgain) {
    log_config log = plain_log();
    logged_machine machine(design::fwb, log, usual_caches());
    time now = ns(100);
    for (std::uint64_t number = 0; number < 20; ++number) {
        const hart_id hart{static_cast<std::uint32_t>(number % 4)};
        now = machine.begin(hart, now);
        for (std::uint64_t word = 0; word < 3; ++word)
            now = machine.store(hart, hart.value * 8 + word, 100 * number + word, now);
        if (number < 17) now = machine.commit(hart, now);
        machine.settle(now);
    }
    // What is not committed is home already.
    now = machine.memory.nvram().flush(now);
    machine.settle(now + ns(2000));
    for (std::uint64_t hart = 0; hart < 4; ++hart) machine.caches.force_write_back(machine.word(hart * 8), now);
    now = machine.memory.nvram().push_out(now + ns(3000));
    const memory_image left = machine.memory.nvram().crash(now);
    const auto copy_of = [](const memory_image& from) {
        memory_image copy;
        from.for_each_page([&](address page, std::span<const std::byte> bytes) { copy.write_bytes(page, bytes); });
        return copy;
    };
    const auto words_of = [&](const memory_image& image) {
        std::vector<std::uint64_t> words;
        for (std::uint64_t word = 0; word < 32; ++word) words.push_back(word_in(image, machine.word(word)));
        return words;
    };
    memory_image whole = copy_of(left);
    const recovery_report report = recover(whole, machine.hardware.region(), log);
    EXPECT_EQ(report.committed, 17u);
    EXPECT_EQ(report.undone, 9u);
    EXPECT_NE(words_of(whole), words_of(left));
    for (std::uint64_t writes = 0; writes < report.undone + report.redone; ++writes) {
        memory_image again = copy_of(left);
        cut_image cut{again, writes};
        EXPECT_THROW(recover(cut, machine.hardware.region(), log), cut_image::stopped);
        recover(again, machine.hardware.region(), log);
        EXPECT_EQ(words_of(again), words_of(whole)) << "cut after " << writes << " writes";
    }
}

class SafeLog : public testing::TestWithParam<std::tuple<design, record_format, log_commit>> {};

TEST_P(SafeLog, LosesNothingThatWasAcknowledgedDurablyAndIsNeverWrong) {
    log_config log = small_log();
    design what{};
    std::tie(what, log.record, log.commit) = GetParam();
    cut_run::outcome all;
    std::uint64_t held = 0, records_lost = 0, early = 0;
    for (std::uint64_t seed = 0; seed < 120; ++seed) {
        SCOPED_TRACE("seed " + std::to_string(seed));
        log.buffer_entries = static_cast<std::uint32_t>(seed % 4 == 0 ? 0 : 15);
        cut_run run(what, log, memory_for(seed), seed);
        const cut_run::outcome one = run.run(1 + seed * 53 % 6000);
        all.wrong += one.wrong;
        all.lost += one.lost;
        all.laps = std::max(all.laps, one.laps);
        held += run.counters.lines_held;
        records_lost += run.counters.records_lost;
        early += run.counters.lines_early;
        ASSERT_EQ(one.wrong, 0u);
        ASSERT_TRUE(log.commit == log_commit::instant || one.lost == 0);
    }
    EXPECT_GE(all.laps, 10u);
    EXPECT_GT(held, 0u);
    EXPECT_EQ(records_lost, 0u);
    EXPECT_EQ(early, 0u);
    EXPECT_TRUE(log.commit == log_commit::durable || all.lost > 0) << "an instant commit may lose the last ones";
}

INSTANTIATE_TEST_SUITE_P(All, SafeLog,
                         testing::Combine(testing::Values(design::fwb, design::hwl),
                                          testing::Values(record_format::packed, record_format::line,
                                                          record_format::merged),
                                          testing::Values(log_commit::instant, log_commit::durable)),
                         [](const auto& of) {
                             const auto record = static_cast<std::size_t>(std::get<1>(of.param));
                             const auto commit = static_cast<std::size_t>(std::get<2>(of.param));
                             return std::string(name_of(std::get<0>(of.param))) + "_" +
                                    std::string(record_format_names[record]) + "_" +
                                    std::string(log_commit_names[commit]);
                         });

TEST(FaithfulLog, CountsLinesThatWereTooEarlyAndIsWrongSometimes) {
    log_config log = small_log();
    log.safety = log_safety::faithful;
    log.commit = log_commit::instant;
    std::uint64_t wrong = 0, early = 0, records_lost = 0;
    for (std::uint64_t seed = 0; seed < 200; ++seed) {
        cut_run run(design::fwb, log, memory_for(seed), seed);
        wrong += run.run(1 + seed * 53 % 6000).wrong;
        early += run.counters.lines_early;
        records_lost += run.counters.records_lost;
    }
    EXPECT_GT(early, 0u);
    EXPECT_GT(records_lost, 0u);
    EXPECT_GT(wrong, 0u);
}

TEST(OneSidedLogs, AreWrongOnceTheyHaveWrapped) {
    for (const design what : {design::hw_rlog, design::hw_ulog}) {
        std::uint64_t wrong = 0;
        for (std::uint64_t seed = 0; seed < 60; ++seed)
            wrong += cut_run(what, small_log(), memory_for(seed), seed).run(1000 + seed).wrong;
        EXPECT_GT(wrong, 0u) << name_of(what);
    }
}

}  // namespace
}  // namespace holdfast::sim
