// That recovery and the checks after it load and store nothing that the instrumentation does not report first: what
// it does not report, the explorer would take for certain. The real subjects run on images whose memory traps.
#include <crash/cut/image_memory.hpp>
#include <crash/cut/lazy_memory.hpp>
#include <crash/record/source_lines.hpp>
#include <crash/subjects/chosen_pairs_test_support.hpp>
#include <crash/subjects/load_trap.hpp>
#include <crash/subjects/subject.hpp>

#include <holdfast/base/result.hpp>
#include <holdfast/base/test_run.hpp>

#include <gtest/gtest.h>

#include <algorithm>
#include <memory>
#include <random>
#include <string>
#include <string_view>
#include <vector>

namespace holdfast::crash {
namespace {

load_trap* trap = nullptr;

/// What the explorer itself reads and writes when it is told of an access is none of recovery's.
template <class F>
void while_disarmed(std::uint64_t offset, std::size_t size, bool writes, F&& f) {
    if (trap == nullptr) return f();
    trap->disarm();
    trap->announce(offset, size, writes);
    f();
    trap->arm();
}

}  // namespace
}  // namespace holdfast::crash

// The linker sends what the runtime reports here (--wrap); the names are the compiler's for lazy_memory's
// read_inside and write_inside.
extern "C" {
void __real__ZN8holdfast5crash11lazy_memory11read_insideEmm(holdfast::crash::lazy_memory*, std::uint64_t, std::size_t);
void __wrap__ZN8holdfast5crash11lazy_memory11read_insideEmm(holdfast::crash::lazy_memory* memory, std::uint64_t offset,
                                                            std::size_t size) {
    holdfast::crash::while_disarmed(offset, size, false, [&] {
        __real__ZN8holdfast5crash11lazy_memory11read_insideEmm(memory, offset, size);
    });
}
void __real__ZN8holdfast5crash11lazy_memory12write_insideEmm(holdfast::crash::lazy_memory*, std::uint64_t, std::size_t);
void __wrap__ZN8holdfast5crash11lazy_memory12write_insideEmm(holdfast::crash::lazy_memory* memory, std::uint64_t offset,
                                                             std::size_t size) {
    holdfast::crash::while_disarmed(offset, size, true, [&] {
        __real__ZN8holdfast5crash11lazy_memory12write_insideEmm(memory, offset, size);
    });
}
}

namespace holdfast::crash {
namespace {

struct totals {
    std::uint64_t runs = 0;
    std::uint64_t loads = 0;
    std::uint64_t stores = 0;
    std::uint64_t refused = 0;  ///< recoveries that were not seen whole
};

/// Runs f on what is drawn from what a cut there may leave.
template <class F>
void run_trapped(subject& what, lazy_memory& memory, std::mt19937_64& random, totals& all, F&& f) {
    memory.begin(random);
    load_trap seen({what.base(), what.size()});
    trap = &seen;
    seen.arm();
    f();
    seen.disarm();
    trap = nullptr;
    what.close();
    memory.end();
    for (const auto& [escape, offset] : seen.escapes())
        ADD_FAILURE() << what.engine() << " " << what.name() << ": offset " << offset << " is "
                      << (escape.writes ? "stored to" : "loaded") << " by " << source_line_of(escape.code)
                      << ", which nobody reports";
    ++all.runs;
    all.loads += seen.loads();
    all.stores += seen.stores();
}

/// Where the kernel writes from the pool it finds no memory there.
bool kernel_wrote_from_pool(const std::string& refused) { return refused.find("Bad address") != std::string::npos; }

void recover_and_check(subject& what, const lazy_memory& memory, const progress& made, totals& all) {
    const auto refused = what.recover(memory);
    // An opening that begins another log writes homes to a file first.
    if (refused && kernel_wrote_from_pool(*refused)) {
        ++all.refused;
        return;
    }
    const auto wrong = refused ? refused : what.check(made);
    EXPECT_FALSE(wrong) << what.engine() << " " << what.name() << ": " << *wrong;
}

/// False where the operation had the kernel write from the pool.
bool enter_recovery(subject& what, const lazy_memory& memory, const progress& made) {
    try {
        static_cast<void>(what.enter_recovery(memory, made, false));
        return true;
    } catch (const failure& reason) {
        EXPECT_TRUE(kernel_wrote_from_pool(reason.reason().text())) << reason.reason().text();
        return false;
    }
}

/// An audit reads every word of a dnv pool, 200,000 of them, and each takes 25 us here.
bool reads_all(const subject& what) { return what.engine() == "dnv"; }

/// Images of cuts all over the workload's trace: in the middle of each of these parts of it, and at its end.
void run_workload(subject& what, const model& how, const workload& operations, std::size_t parts, totals& all) {
    const trace recorded = what.record(operations, how);
    const std::string path = what.image_path();
    const image_memory bytes = path.empty() ? image_memory(what.base(), what.size()) : image_memory(path, what.size());
    lazy_memory memory(bytes.bytes(), what.base());
    medium left(how, recorded);
    progress made;
    std::mt19937_64 random(1);
    const std::size_t stride = std::max<std::size_t>(1, recorded.events.size() / parts);
    const bool to_the_end = !reads_all(what) || holdfast::test::at_full_length();
    for (std::size_t i = 0; i <= recorded.events.size(); ++i) {
        if (i % stride == stride / 2 || (to_the_end && i == recorded.events.size())) {
            memory.settle(left);
            run_trapped(what, memory, random, all, [&] { recover_and_check(what, memory, made, all); });
            // Where images are opened, another operation follows. (Elsewhere the recording copies all of the pool.)
            if (!path.empty()) {
                bool entered = false;
                run_trapped(what, memory, random, all, [&] { entered = enter_recovery(what, memory, made); });
                if (entered) what.leave_recovery();
            }
        }
        if (i == recorded.events.size()) break;
        left.apply(recorded.events[i]);
        made.count(recorded.events[i]);
    }
}

/// Under each model of a processor the same code reads. Each word read costs a trap, so only a long run takes more than
/// one of them: the one that leaves most to chance, or where blocks are large, the one that leaves least.
bool is_tried(const subject& what, const model& how) {
    if (!what.knows(how)) return false;
    if (reads_all(what)) return what.name() == "list" && how.name == "x86";
    if (how.is_file || how.is_saved) return !what.is_for_lives() || how.is_file;
    if (what.is_for_lives()) return how.name == "kill";
    if (holdfast::test::at_full_length()) return true;
    return how.name == (what.knows(*model_named("x86-torn")) ? "x86-torn" : "x86");
}

TEST(LoadTrap, EveryLoadAndStoreOfRecoveryAndItsChecksIsReportedFirst) {
    totals all;
    const std::vector<std::unique_ptr<subject>> subjects = all_subjects();
    chosen_pairs chosen(subjects);
    for (const auto& what : subjects) {
        if (!chosen.takes(*what)) continue;
        for (const model& how : models) {
            if (!is_tried(*what, how)) continue;
            totals of_model;
            run_workload(*what, how, {0, what->universe() - 1}, holdfast::test::at_full_length() ? 2 : 1, of_model);
            EXPECT_LE(of_model.refused, what->engine() == "cc_htm" && how.is_file ? 1u : 0u)
                << what->engine() << " " << what->name() << " " << how.name;
            EXPECT_GT(of_model.loads, 100u) << what->engine() << " " << what->name() << " " << how.name;
            all.runs += of_model.runs;
            all.loads += of_model.loads;
            all.stores += of_model.stores;
        }
    }
    std::printf("%llu recoveries, %llu loads and %llu stores trapped\n", static_cast<unsigned long long>(all.runs),
                static_cast<unsigned long long>(all.loads), static_cast<unsigned long long>(all.stores));
}

TEST(LoadTrap, AnAccessThatNobodyReportsIsFound) {
    const image_memory memory(reinterpret_cast<std::byte*>(std::uint64_t{0x3000} << 32), 8192);
    auto* const words = reinterpret_cast<volatile std::uint64_t*>(memory.bytes().data());
    load_trap seen(memory.bytes());
    seen.announce(0, 8, false);
    seen.announce(8, 8, true);
    seen.arm();
    words[1] = words[0];
    EXPECT_TRUE(seen.escapes().empty());
    words[2] = 1;
    const std::uint64_t read = words[1];
    seen.disarm();
    EXPECT_EQ(seen.loads(), 2u);
    EXPECT_EQ(seen.stores(), 2u);
    ASSERT_EQ(seen.escapes().size(), 2u);
    EXPECT_EQ(read, 0u);
    for (const auto& [escape, offset] : seen.escapes()) EXPECT_EQ(offset, escape.writes ? 16u : 8u);
}

}  // namespace
}  // namespace holdfast::crash
