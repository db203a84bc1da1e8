// Every fault of planted.hpp is caught: what looks for it passes without the fault and fails with it. Each look is a
// process of its own, because a fault may leave locks behind, or never come to an end.
#include <holdfast/base/assertion.hpp>
#include <holdfast/stm/keeping_test.hpp>
#include <holdfast/stm/numbers_test.hpp>
#include <holdfast/stm/scheduled_test.hpp>
#include <holdfast/stm/unmapped_test.hpp>

#include <sys/wait.h>
#include <unistd.h>

#include <cstring>
#include <memory>

namespace holdfast::stm {
namespace {

using namespace holdfast::stm::test;

constexpr std::uint64_t programs_to_try = 20'000;

/// Random programs, as many as it takes.
template <class A>
bool is_opaque_for_long() {
    // Without a fault there is nothing to find, and the opacity test looks for longer.
    const std::uint64_t count = planted_now == fault::nothing ? 100 : programs_to_try;
    return !first_seed_not_opaque<A>(1, count).has_value();
}

/// Numbers of commits are in the order of their effects.
template <class A>
bool numbers_are_right_for_long() {
    const std::uint64_t count = planted_now == fault::nothing ? 100 : programs_to_try;
    return !first_seed_misnumbered<A>(1, count).has_value();
}

/// The same where a second word makes a write set a large one.
template <class A>
bool is_opaque_for_long_at_home() {
    large_write_set = 1;
    return is_opaque_for_long<A>();
}

/// Words that the home keeps are stored by commits that have logged them.
template <class A>
bool is_kept_for_long() {
    large_write_set = 1;
    std::string what;
    return !first_seed_not_kept<A>(planted_now == fault::nothing ? 100 : programs_to_try, &what).has_value();
}

/// A run of words that was read, and a commit that changes one of them before the next load.
template <class A>
bool runs_are_compared() {
    line data[8];
    line other;
    line copy[8];
    int attempts = 0;
    companions<A> others;
    atomically<A>([&] {
        A::of_this_thread().read_range(&copy, &data, sizeof data);
        if (++attempts == 1) others.store(&data[5].words[3], &other.words[0], 5);
        A::of_this_thread().load(&other.words[0]);
    });
    return attempts == 2 && copy[5].words[3] == 5;
}

template <class A>
bool privatisation_is_safe_for_long() {
    return !first_seed_torn<A>(planted_now == fault::nothing ? 100 : programs_to_try).has_value();
}

template <class A>
bool nobody_looks_at_what_is_unmapped_for_long() {
    return !first_seed_unmapped<A>(planted_now == fault::nothing ? 100 : programs_to_try).has_value();
}

/// The first thread is alone again and again, while a second one claims a slot.
bool nobody_has_a_slot_beside_one_that_is_alone_for_long() {
    turns threads;
    int wrong = 0, times_alone = 0;
    for (std::uint64_t seed = 1; seed <= 500 && wrong == 0; ++seed) {
        const auto all = std::make_unique<registry>();
        all->claim();
        bool first_is_alone = false, second_is_in = false;
        const auto first = [&] {
            for (int i = 0; i < 8; ++i) {
                let_others_run();
                if (!all->begin_alone()) continue;
                first_is_alone = true;
                ++times_alone;
                for (int step = 0; step < 3; ++step) {
                    let_others_run();
                    wrong += second_is_in;
                }
                first_is_alone = false;
                all->end_alone();
            }
        };
        const auto second = [&] {
            for (std::uint64_t i = 0; i < seed % 20; ++i) let_others_run();
            all->claim();
            wrong += first_is_alone;
            second_is_in = true;
        };
        threads.run(2, seed, [&](unsigned thread) { thread == 0 ? first() : second(); });
    }
    return wrong == 0 && times_alone > 100;
}

template <class A>
bool masked_stores_leave_other_bytes_alone() {
    line data;
    data.words[0] = 0x1122334455667788;
    must_commit<A>([&] { A::of_this_thread().store(&data.words[0], ~word{0}, 0x06); });
    return data.words[0] == 0x1122334455FFFF88;
}

template <class A>
bool masks_are_merged() {
    line data;
    must_commit<A>([&] {
        A::of_this_thread().store(&data.words[0], ~word{0}, 0x06);
        A::of_this_thread().store(&data.words[0], ~word{0}, 0x80);
    });
    return data.words[0] == 0xFF00000000FFFF00;
}

std::atomic<int> given_back;
void count_back(void*, std::size_t, std::size_t) { ++given_back; }

/// More blocks than a batch are freed while a transaction is open that could still read them.
template <class A>
bool blocks_are_kept_for_older_transactions() {
    line data;
    static line blocks[1000];
    companions<A> others;
    A& open = A::of_this_thread();
    open.begin({.restart = unexpected_restart});
    open.load(&data.words[0]);
    given_back = 0;
    others.run([] {
        for (line& each : blocks)
            atomically<A>([&] {
                A::of_this_thread().store(&each.words[0], 1, 0xFF);
                A::of_this_thread().free_at_commit(&each, sizeof each, 64, count_back);
            });
    });
    const bool kept = given_back == 0;
    open.roll_back();
    others.join();
    return kept && given_back == 1000;
}

template <class A>
bool rolling_back_gives_blocks_back() {
    A& open = A::of_this_thread();
    line block;
    given_back = 0;
    open.begin({.restart = unexpected_restart});
    open.note_allocated(&block, sizeof block, 64, count_back);
    open.roll_back();
    return given_back == 1;
}

template <class A>
bool own_frames_are_stored_to_at_once() {
    A& open = A::of_this_thread();
    const auto inside = [&]() __attribute__((noinline, no_sanitize("address"))) {
        alignas(8) volatile word local = 1;
        open.store(const_cast<word*>(&local), 2, 0xFF);
        return local == 2;
    };
    const auto transaction = [&]() __attribute__((noinline)) {
        open.begin({.frames_below = reinterpret_cast<std::uintptr_t>(__builtin_frame_address(0)),
                    .restart = unexpected_restart});
        const bool right = inside();
        open.roll_back();
        return right;
    };
    return transaction();
}

/// A reader with the read-only promise whom somebody disturbs at each of the first attempts.
template <class A>
bool a_second_attempt_keeps_its_reads() {
    line data;
    line other[2];
    int attempts = 0;
    companions<A> others;
    const auto read = [&] {
        A::of_this_thread().load(&data.words[0]);
        if (++attempts < 4) others.store(&other[0].words[0], &other[1].words[0], 5);
        A::of_this_thread().load(&other[0].words[0]);
    };
    atomically<A>(read, true);
    return attempts == 2;
}

struct planting {
    fault planted;
    const char* name;
    bool (*is_right)();
};

#define HOLDFAST_STM_PLANTING(name, ...) {fault::name, #name, __VA_ARGS__}
const planting plantings[] = {
    HOLDFAST_STM_PLANTING(value_validation_dropped, is_opaque_for_long<value>),
    HOLDFAST_STM_PLANTING(value_commit_unvalidated, is_opaque_for_long<value>),
    HOLDFAST_STM_PLANTING(value_sequence_unchecked, is_opaque_for_long<value>),
    HOLDFAST_STM_PLANTING(value_released_early, is_opaque_for_long<value>),
    HOLDFAST_STM_PLANTING(value_odd_ignored, is_opaque_for_long<value>),
    HOLDFAST_STM_PLANTING(value_validation_dropped, privatisation_is_safe_for_long<value>),
    HOLDFAST_STM_PLANTING(versioned_validation_dropped, is_opaque_for_long<versioned>),
    HOLDFAST_STM_PLANTING(versioned_commit_unvalidated, is_opaque_for_long<versioned>),
    HOLDFAST_STM_PLANTING(versioned_version_ignored, is_opaque_for_long<versioned>),
    HOLDFAST_STM_PLANTING(versioned_lock_checked_once, is_opaque_for_long<versioned>),
    HOLDFAST_STM_PLANTING(versioned_released_early, is_opaque_for_long<versioned>),
    HOLDFAST_STM_PLANTING(versioned_no_quiescence, blocks_are_kept_for_older_transactions<versioned>),
    HOLDFAST_STM_PLANTING(versioned_no_quiescence, privatisation_is_safe_for_long<versioned>),
    HOLDFAST_STM_PLANTING(versioned_own_lock_mistaken, is_opaque_for_long<versioned>),
    HOLDFAST_STM_PLANTING(versioned_old_version_released, is_opaque_for_long<versioned>),
    HOLDFAST_STM_PLANTING(limbo_ignored, blocks_are_kept_for_older_transactions<value>),
    HOLDFAST_STM_PLANTING(value_irrevocable_beside_others, nobody_looks_at_what_is_unmapped_for_long<unmapped_values>),
    HOLDFAST_STM_PLANTING(serial_does_not_wait, nobody_looks_at_what_is_unmapped_for_long<unmapped_versions>),
    HOLDFAST_STM_PLANTING(alone_unasked, nobody_has_a_slot_beside_one_that_is_alone_for_long),
    HOLDFAST_STM_PLANTING(alone_not_waited_for, nobody_has_a_slot_beside_one_that_is_alone_for_long),
    HOLDFAST_STM_PLANTING(mask_ignored, masked_stores_leave_other_bytes_alone<value>),
    HOLDFAST_STM_PLANTING(mask_ignored, masked_stores_leave_other_bytes_alone<versioned>),
    HOLDFAST_STM_PLANTING(masks_not_merged, masks_are_merged<value>),
    HOLDFAST_STM_PLANTING(masks_not_merged, masks_are_merged<versioned>),
    HOLDFAST_STM_PLANTING(own_stores_unseen, is_opaque_for_long<value>),
    HOLDFAST_STM_PLANTING(own_stores_unseen, is_opaque_for_long<versioned>),
    HOLDFAST_STM_PLANTING(serial_does_not_wait, is_opaque_for_long<versioned>),
    HOLDFAST_STM_PLANTING(hint_read_trusted_for_write, is_opaque_for_long<value>),
    HOLDFAST_STM_PLANTING(rolled_back_keeps_blocks, rolling_back_gives_blocks_back<value>),
    HOLDFAST_STM_PLANTING(rolled_back_keeps_blocks, rolling_back_gives_blocks_back<versioned>),
    HOLDFAST_STM_PLANTING(frames_buffered, own_frames_are_stored_to_at_once<value>),
    HOLDFAST_STM_PLANTING(frames_buffered, own_frames_are_stored_to_at_once<versioned>),
    HOLDFAST_STM_PLANTING(read_set_not_kept, a_second_attempt_keeps_its_reads<value>),
    HOLDFAST_STM_PLANTING(read_set_not_kept, a_second_attempt_keeps_its_reads<versioned>),
    HOLDFAST_STM_PLANTING(old_values_lost, is_opaque_for_long_at_home<value>),
    HOLDFAST_STM_PLANTING(old_values_lost, is_opaque_for_long_at_home<versioned>),
    HOLDFAST_STM_PLANTING(value_number_again, is_opaque_for_long_at_home<value>),
    HOLDFAST_STM_PLANTING(versioned_numbered_late, numbers_are_right_for_long<numbered_versions>),
    HOLDFAST_STM_PLANTING(run_unvalidated, runs_are_compared<value>),
    HOLDFAST_STM_PLANTING(kept_stored_early, is_kept_for_long<keeping_values>),
    HOLDFAST_STM_PLANTING(kept_stored_early, is_kept_for_long<keeping_versions>),
    HOLDFAST_STM_PLANTING(kept_forgotten, is_kept_for_long<keeping_values>),
    HOLDFAST_STM_PLANTING(kept_forgotten, is_kept_for_long<keeping_versions>),
};
#undef HOLDFAST_STM_PLANTING

enum class answer : unsigned char { right, wrong, no_end, crashed };

/// What the look says in a process that has the fault.
answer look(bool (*is_right)(), fault which) {
    const pid_t child = fork();
    if (child == 0) {
        let_another_thread_begin<value>();
        let_another_thread_begin<versioned>();
        let_another_thread_begin<unmapped_values>();
        let_another_thread_begin<unmapped_versions>();
        planted_now = which;
        // It is the looks that have to see it.
        holdfast::detail::assertions_may_fail = which != fault::nothing;
        _exit(is_right() ? 0 : 1);
    }
    int status = 0;
    if (child < 0 || waitpid(child, &status, 0) != child || !WIFEXITED(status)) return answer::crashed;
    switch (WEXITSTATUS(status)) {
    case 0: return answer::right;
    case 1: return answer::wrong;
    case turns::no_end: return answer::no_end;
    default: return answer::crashed;
    }
}

TEST(StmPlanted, EveryLookPassesWithoutAFault) {
    for (const planting& each : plantings) EXPECT_EQ(look(each.is_right, fault::nothing), answer::right) << each.name;
}

TEST(StmPlanted, EveryFaultIsCaught) {
    for (const planting& each : plantings) {
        const answer found = look(each.is_right, each.planted);
        EXPECT_TRUE(found == answer::wrong || found == answer::no_end)
            << each.name << (found == answer::crashed ? " crashed" : " passed");
    }
}

TEST(StmPlanted, EveryFaultIsInTheTable) {
#define HOLDFAST_STM_COUNT(name, sentence) +1
    constexpr std::size_t faults = 0 HOLDFAST_STM_FAULTS(HOLDFAST_STM_COUNT);
#undef HOLDFAST_STM_COUNT
    for (std::size_t i = 1; i <= faults; ++i)
        EXPECT_TRUE(std::any_of(std::begin(plantings), std::end(plantings),
                                [&](const planting& each) { return static_cast<std::size_t>(each.planted) == i; }))
            << i;
}

}  // namespace
}  // namespace holdfast::stm
