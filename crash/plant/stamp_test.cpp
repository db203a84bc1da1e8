// That a STAMP program which is explored shows what is wrong with it, or with the library. Instrumented.
#include <crash/explore/explore.hpp>
#include <crash/plant/hunt.hpp>
#include <crash/subjects/stamp_subject.hpp>

#include <holdfast/dnv/planted.hpp>
#include <holdfast/engine/planted.hpp>
#include <holdfast/engine/redo.hpp>
#include <holdfast/engine/sites.hpp>
#include <holdfast/log/planted.hpp>
#include <holdfast/log/sites.hpp>
#include <holdfast/pool/planted.hpp>
#include <holdfast/powerfail/planted.hpp>

#include <gtest/gtest.h>

#include <functional>
#include <memory>
#include <string>
#include <string_view>
#include <type_traits>

namespace holdfast::crash {
namespace {

namespace site = persist::site;

constexpr auto left_out = fault::change::left_out;
const model& power_cut = *model_named("x86");
const model& kill = *model_named("kill");
const model& power_fail = *model_named("power-fail");

std::unique_ptr<subject> stamp_under(std::string_view engine) {
    for (auto& each : all_subjects_and_programs())
        if (each->engine() == engine && each->is_program()) return std::move(each);
    return nullptr;
}

struct planted_in_engine {
    std::string_view engine;
    const model& how;
    fault what;
};
fault in_code(const planted_fault& what) { return {fault::change::in_code, {}, {}, &what}; }

TEST(ExploredStamp, FaultsInTheLibraryAreCaught) {
    const planted_in_engine faults[] = {
        {"redo", power_cut, {fault::change::weakened, event_kind::stream, site::log_record}},
        {"redo", power_cut, {left_out, event_kind::fence, site::log_commit_fence}},
        {"redo", power_cut, {left_out, event_kind::write_back, site::log_truncate_home}},
        {"redo", kill, in_code(planted::checksum_ignored)},
        {"redo", kill, in_code(planted::recovery_skipped)},
        {"undo", power_cut, {left_out, event_kind::fence, site::undo_record_fence}},
        {"undo", power_cut, {left_out, event_kind::fence, site::undo_home_fence}},
        {"undo", kill, in_code(planted::old_value_recorded_late)},
        {"undo", kill, in_code(planted::end_record_ignored)},
        {"dnv", kill, in_code(planted::homes_before_record)},
        {"dnv", kill, in_code(planted::record_taken_back)},
        {"dnv", kill, in_code(planted::stale_rest_logged)},
        {"dnv", kill, in_code(planted::entry_before_chunk)},
        {"dnv", kill, in_code(planted::unnamed_chunk_kept)},
        {"dnv", power_fail, in_code(planted::saved_log_not_written_back)},
        {"dnv", power_fail, in_code(planted::homes_not_saved)},
        {"dnv", power_fail, in_code(planted::sealed_before_saved)}};
    for (const planted_in_engine& each : faults) {
        if (each.engine == "dnv" && !has_dnv_subjects()) continue;  // there are no atomic blocks
        const auto what = stamp_under(each.engine);
        ASSERT_NE(what, nullptr) << each.engine;
        // A save that is cut is a depth.
        const effort most{.longest = 1, .depth = each.how.is_saved ? 1u : 0u};
        EXPECT_TRUE(is_caught(*what, each.how, each.what, 1, most)) << each.engine << " " << each.what.name();
    }
}

enum class forgetting {
    pointers,     ///< go round the library
    atomicity,    ///< each store is a transaction of its own
    what_is_freed,
};
constexpr const char* names_of_forgetting[] = {"pointers", "atomicity", "what is freed"};
forgetting forgets;

/// One type, as eight programs are compiled for each.
class forgetful_access : public pool_access<redo> {
    using right = pool_access<redo>;

public:
    using right::right;

    template <class T>
    void store(T* home, const std::type_identity_t<T>& value) const {
        if (std::is_pointer_v<T> && forgets == forgetting::pointers) {
            *home = value;
        } else {
            in_transaction([&] { right::store(home, value); });
        }
    }
    template <class T>
    void will_write(T*) const {}
    void* allocate(std::size_t bytes) const {
        void* made = nullptr;
        in_transaction([&] { made = right::allocate(bytes); });
        return made;
    }
    void free(void* address) const {
        if (forgets != forgetting::what_is_freed) in_transaction([&] { right::free(address); });
    }
    template <class F>
    bool atomically(F&& f) const {
        if (forgets != forgetting::atomicity) return right::atomically(f);
        return f(), true;
    }

private:
    void in_transaction(const std::function<void()>& f) const {
        forgets == forgetting::atomicity ? static_cast<void>(right::atomically(f)) : f();
    }
};

/// The first violation of a part of a program, or "".
std::string violation_of(subject& what, unsigned program) {
    limits most;
    most.depth = 0;
    most.stop_at_first = true;
    explorer run(what, kill, most, 1);
    for (unsigned part = 0; part < stamp_recording::parts && !run.has_enough(); ++part)
        run.explore({program + part * stamp_programs});
    return run.found().told.empty() ? "" : run.found().told.front().what;
}

TEST(ExploredStamp, AnAccessThatForgetsIsCaughtInEveryProgramAndARightOneIsNot) {
    const auto right = stamp_under("redo");
    stamp_subject<redo, forgetful_access> forgetful;
    for (unsigned program = 0; program < stamp_programs; ++program) {
        EXPECT_EQ(violation_of(*right, program), "") << stamp_names[program];
        for (const auto each : {forgetting::pointers, forgetting::atomicity, forgetting::what_is_freed}) {
            forgets = each;
            EXPECT_NE(violation_of(forgetful, program), "")
                << stamp_names[program] << " " << names_of_forgetting[static_cast<unsigned>(each)];
        }
        const std::string leak = violation_of(forgetful, program);
        EXPECT_NE(leak.find("has no owner"), std::string::npos) << stamp_names[program] << ": " << leak;
    }
}

}  // namespace
}  // namespace holdfast::crash
