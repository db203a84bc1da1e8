// Faults of the logging hardware and of recovery, planted one at a time: each leaves a wrong word, or loses what was
// acknowledged durably, in some crash of random transactions; without one no crash does.
#include <sim/base/planted.hpp>
#include <sim/logging/logged_machine_test.hpp>

namespace holdfast::sim::test {
namespace {

#ifndef HOLDFAST_SIM_PLANTED
#error "no fault is in this build"
#endif

/// What a fault is looked for with.
struct hunt {
    design what = design::fwb;
    log_commit commit = log_commit::durable;
    record_format record = record_format::packed;
    bool grows = false;
    bool of_harts = false;  ///< each hart has a log, and words go from hart to hart
    bool spreads = false;   ///< the log's lines go to banks of their own, and are durable in any order
    bool is_roomy = false;  ///< scans in their time do all the work: no line leaves by itself, no scan is hurried
};

struct planted_case {
    planted_fault fault;
    const char* name;
    const char* sentence;
    hunt with{};
};

/// The crash of this number: whether it is as it may not be.
bool is_found(const hunt& with, std::uint64_t seed) {
    log_config log = small_log();
    log.commit = with.commit;
    log.record = with.record;
    log.buffer_entries = static_cast<std::uint32_t>(seed % 4 == 0 ? 0 : 15);
    if (with.grows) log.bytes = 4096;
    if (with.of_harts) {
        log.place = log_place::hart;
        log.bytes = small_logs_of_harts().bytes;
    }
    if (with.is_roomy) {
        log.bytes = 65536;
        log.scan_period = ns(10'000);
    }
    memory_config behind = memory_for(seed);
    if (with.spreads) {
        behind.nvram.interleave_bytes = behind.nvram.row_bytes = line_bytes;
        behind.controller.log_order = log_order::any;
    }
    cut_run run(with.what, log, behind, seed, with.is_roomy ? roomy_caches() : small_caches());
    if (seed % 2 == 0) run.share_lines();
    if (with.of_harts) run.pass_parts_on();
    if (with.grows) run.grow_at({1 + seed * 37 % 1000});
    const cut_run::outcome found = run.run(1 + seed * 53 % 6000);
    return found.wrong != 0 || (found.lost != 0 && with.commit == log_commit::durable);
}

constexpr std::uint64_t seeds = 400;

class PlantedFault : public testing::TestWithParam<planted_case> {
    void TearDown() override { planted_now = planted_fault::nothing; }
};

TEST_P(PlantedFault, IsFound) {
    planted_now = GetParam().fault;
    std::uint64_t seed = 0;
    while (seed < seeds && !is_found(GetParam().with, seed)) ++seed;
    EXPECT_LT(seed, seeds) << GetParam().sentence;
    RecordProperty("crashes", static_cast<int>(seed + 1));
}

std::vector<planted_case> planted_cases() {
    std::vector<planted_case> made;
#define HOLDFAST_SIM_FAULT(name, sentence) made.push_back({planted_fault::name, #name, sentence});
    HOLDFAST_SIM_FAULTS(HOLDFAST_SIM_FAULT)
#undef HOLDFAST_SIM_FAULT
    for (planted_case& each : made) {
        switch (each.fault) {
        case planted_fault::merged_record_passed: each.with.record = record_format::merged; break;
        case planted_fault::truncated_before_home: each.with.what = design::hwl; break;
        case planted_fault::head_a_scan_early:
        case planted_fault::fwb_bit_lost: each.with.is_roomy = true; break;
        case planted_fault::hole_overlooked:
            each.with.what = design::hwl;
            each.with.spreads = each.with.of_harts = true;
            break;
        case planted_fault::link_left_out:
        case planted_fault::torn_bits_start_over: each.with.grows = true; break;
        case planted_fault::home_left_out:
        case planted_fault::numbers_ignored: each.with.of_harts = true; break;
        default: break;
        }
    }
    return made;
}

INSTANTIATE_TEST_SUITE_P(All, PlantedFault, testing::ValuesIn(planted_cases()),
                         [](const auto& of) { return std::string(of.param.name); });

TEST(NothingPlanted, LeavesNothingToBeFound) {
    for (const planted_case& each : planted_cases())
        for (std::uint64_t seed = 0; seed < 40; ++seed)
            ASSERT_FALSE(is_found(each.with, seed)) << each.name << ", seed " << seed;
}

}  // namespace
}  // namespace holdfast::sim::test
