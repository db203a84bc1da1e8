// Numbers that a hardware transaction draws as its last act, and that the fallback draws alone, are in the order of
// effects and have no holes: random programs on threads that take turns.
#include <holdfast/htm/rtm_run.hpp>
#include <holdfast/htm/stand_in_test.hpp>
#include <holdfast/stm/numbers_test.hpp>

namespace holdfast::htm {
namespace {

using namespace holdfast::stm::test;
using test::stand_in;

struct numbered : stm::numbered_home {
    static inline std::atomic<std::uint64_t> next{1};
    static inline thread_local std::uint64_t entered = 0;

    static bool draw_number(const stm::write_log& writes) noexcept {
        if (!writes.empty()) drawn_number(next.fetch_add(1));
        return true;
    }
    static hardware_place enter_hardware() noexcept {
        ++entered;
        return {&next, ~std::size_t{0}};
    }
    static void drawn(std::uint64_t number) noexcept {
        drawn_number(number);
        --entered;
    }
    static void leave_hardware() noexcept {
        if (entered != 0) --entered;
    }

private:
    static void drawn_number(std::uint64_t number) noexcept { stm::numbered_home::drawn = number; }
};

using numbered_rtm = basic_rtm<numbered, stand_in>;
inline constinit thread_local numbered_rtm numbered_of_this_thread;

}  // namespace

template <>
inline numbered_rtm& numbered_rtm::of_this_thread() noexcept {
    return numbered_of_this_thread;
}

namespace {

static_assert(numbered_rtm::numbers && stm::algorithm<numbered_rtm>);

class RtmNumbers : public ::testing::Test {
protected:
    RtmNumbers() { stand_in::set({.aborts_one_in = 4}); }
    ~RtmNumbers() override { stand_in::set({}); }
};

TEST_F(RtmNumbers, AreInTheOrderOfEffects) {
    std::string what;
    const auto found = first_seed_misnumbered<numbered_rtm>(1, at_full_length() ? 100'000 : 4'000, &what);
    EXPECT_FALSE(found.has_value()) << "seed " << found.value_or(0) << "\n" << what;
}

TEST_F(RtmNumbers, HaveNoHolesAndWhatWasTakenIsGivenBack) {
    scheduled_programs<numbered_rtm> programs;
    for (std::uint64_t seed = 1; seed <= 500; ++seed) {
        const std::uint64_t first = numbered::next;
        std::uint64_t commits = 0;
        for (const stm::test::attempt& each : programs.run(seed)) commits += each.committed && each.number != 0 ? 1 : 0;
        ASSERT_EQ(first + commits, numbered::next) << "seed " << seed;
    }
    EXPECT_EQ(numbered::entered, 0u);
}

TEST_F(RtmNumbers, DrawnBehindTheCommitAreNot) {
    planted_now = fault::number_drawn_behind;
    const auto found = first_seed_misnumbered<numbered_rtm>(1, 100'000);
    planted_now = fault::nothing;
    EXPECT_TRUE(found.has_value());
}

}  // namespace
}  // namespace holdfast::htm
