// The order of commits: random transactions in hardware (the stand-in) and in the fallback, on threads that take turns,
// over a home that records. What is retired must be one serial order that explains every load, and must leave at its
// homes what memory has.
#include <holdfast/htm/ringed_home.hpp>
#include <holdfast/htm/rtm_run.hpp>
#include <holdfast/htm/stand_in_test.hpp>
#include <holdfast/stm/scheduled_test.hpp>

#include <map>

namespace holdfast::htm {
namespace {

using namespace holdfast::stm::test;
using stm::atomically;
using test::counted_clock;
using test::stand_in;

constexpr unsigned words = 6;

/// What is retired, in its order, and the homes: memory of their own, as where a program has private copies.
struct recorder {
    static inline line memory[words];
    static inline word homes[words];
    static inline std::vector<std::uint64_t> stamps;
    static inline std::vector<std::map<unsigned, word>> write_sets;

    static stamped_rings<counted_clock>& rings() {
        static stamped_rings<counted_clock> all;
        return all;
    }
    static void retire_some(std::size_t most = 3) {
        rings().retire(
            most,
            [](const finished& done) {
                stamps.push_back(done.stamp);
                std::map<unsigned, word>& stored = write_sets.emplace_back();
                for (const stm::write_log::entry& each : done) {
                    stm::let_others_run();
                    const auto at = static_cast<unsigned>(reinterpret_cast<line*>(each.home()) - memory);
                    homes[at] = merged(homes[at], each.value, each.mask());
                    stored[at] = each.value;
                }
            },
            [] {});
    }
    static void forget() {
        for (unsigned i = 0; i < words; ++i) memory[i].words[0] = homes[i] = 0;
        stamps.clear();
        write_sets.clear();
    }
};

struct recording : ringed_home<recorder, counted_clock> {};
using recorded = basic_rtm<recording, stand_in>;
inline constinit thread_local recorded recorded_of_this_thread;

}  // namespace

template <>
inline recorded& recorded::of_this_thread() noexcept {
    return recorded_of_this_thread;
}

namespace {

static_assert(recorded::records && stm::algorithm<recorded>);

/// A transaction that committed: what it loaded first, and what it stored.
struct seen {
    std::map<unsigned, word> loaded;
    std::map<unsigned, word> stored;
};

/// A run of `seed`: what went wrong in it, or nothing.
class random_run {
public:
    /// Transactions of all runs.
    static inline int in_hardware = 0;
    static inline int in_fallback = 0;

    std::string run(turns& threads, std::uint64_t seed) {
        recorder::forget();
        committed_.clear();
        next_value_ = 1;
        stand_in::set_seed(seed);
        threads.run(4, seed, [this, seed](unsigned thread) {
            if (thread == 3) return retire_now_and_then();
            std::mt19937_64 random(seed * 4 + thread);
            for (int i = 0; i < 4; ++i) run_one(random);
        });
        while (recorder::rings().waiting() != 0) recorder::retire_some();
        return find_error();
    }

private:
    void retire_now_and_then() {
        for (int i = 0; i < 12; ++i) {
            recorder::retire_some();
            stm::let_others_run();
        }
    }
    void run_one(std::mt19937_64& random) {
        recorded& open = recorded::of_this_thread();
        const std::uint64_t drawn = random();
        const unsigned steps = 1 + static_cast<unsigned>(drawn % 5);
        seen mine;
        bool was_in_hardware = false;
        const auto body = [&] {
            mine = {};
            was_in_hardware = open.in_hardware();
            std::mt19937_64 choice(drawn);
            // Where it stores depends on what it has loaded: another try stores elsewhere.
            word sum = 0;
            for (unsigned i = 0; i < steps; ++i) {
                const auto at = static_cast<unsigned>((choice() + sum) % words);
                word* const home = &recorder::memory[at].words[0];
                if (choice() % 2 == 0) {
                    const word found = open.load(home);
                    sum += found;
                    if (!mine.stored.contains(at)) mine.loaded.emplace(at, found);
                } else {
                    open.store(home, mine.stored[at] = next_value_++, 0xFF);
                }
            }
        };
        if (drawn >> 32 & 7) {
            atomically<recorded>(body);
        } else {
            open.begin({.serial = true});
            body();
            if ((drawn >> 40 & 1) != 0 && !open.become_irrevocable()) std::abort();
            EXPECT_TRUE(open.commit());
        }
        if (!mine.stored.empty()) committed_.push_back(mine);
        ++(was_in_hardware ? in_hardware : in_fallback);
    }
    /// Values are unique: a write set says whose it is.
    const seen* find(const std::map<unsigned, word>& stored) const {
        for (const seen& each : committed_)
            if (each.stored == stored) return &each;
        return nullptr;
    }
    std::string find_error() const {
        if (!std::is_sorted(recorder::stamps.begin(), recorder::stamps.end())) return "not retired by stamp";
        if (recorder::write_sets.size() != committed_.size()) return "not everything is retired once";
        word state[words] = {};
        for (const auto& stored : recorder::write_sets) {
            const seen* const who = find(stored);
            if (who == nullptr) return "a write set of nobody";
            for (const auto& [at, value] : who->loaded)
                if (state[at] != value) return "a load that this order does not explain";
            for (const auto& [at, value] : stored) state[at] = value;
        }
        for (unsigned i = 0; i < words; ++i)
            if (recorder::homes[i] != recorder::memory[i].words[0]) return "homes differ from memory";
        return "";
    }

    std::vector<seen> committed_;
    word next_value_ = 1;
};

std::uint64_t usual_seeds() {
#if defined(HOLDFAST_FEW_PLACES)
    return 100;
#else
    return at_full_length() ? 100'000 : 2'000;
#endif
}

/// The first of so many seeds with which something goes wrong, and what; 0: none.
std::uint64_t first_wrong_seed(std::uint64_t count, std::string& what) {
    turns threads;
    random_run runs;
    for (std::uint64_t seed = 1; seed <= count; ++seed)
        if (what = runs.run(threads, seed); !what.empty()) return seed;
    return 0;
}

class HtmOrder : public ::testing::Test {
protected:
    void SetUp() override { stand_in::set({.aborts_one_in = 3}); }
    void TearDown() override {
        stand_in::set({});
        planted_now = fault::nothing;
    }
};

TEST_F(HtmOrder, WhatIsRetiredIsASerialOrderAndHomesEqualMemory) {
    std::string what;
    const std::uint64_t seed = first_wrong_seed(usual_seeds(), what);
    EXPECT_EQ(seed, 0u) << "seed " << seed << ": " << what;
    EXPECT_GT(random_run::in_hardware, random_run::in_fallback);
    EXPECT_GT(random_run::in_fallback, random_run::in_hardware / 10);
}

TEST_F(HtmOrder, TheFallbackAloneIsASerialOrderToo) {
    stand_in::set({.available = false});
    std::string what;
    const std::uint64_t seed = first_wrong_seed(usual_seeds() / 4, what);
    EXPECT_EQ(seed, 0u) << "seed " << seed << ": " << what;
}

struct planted_case {
    fault which;
    const char* name;
};

/// Each in a process of its own: what it breaks may not come to an end.
class HtmOrderPlanted : public HtmOrder, public ::testing::WithParamInterface<planted_case> {};

TEST_P(HtmOrderPlanted, AFaultIsSeen) {
    EXPECT_EXIT(
        {
            holdfast::detail::assertions_may_fail = true;
            planted_now = GetParam().which;
            std::string what;
            const std::uint64_t seed = first_wrong_seed(100'000, what);
            std::fprintf(stderr, "%llu: %s\n", static_cast<unsigned long long>(seed), what.c_str());
            std::_Exit(seed == 0 ? 0 : turns::no_end);
        },
        ::testing::ExitedWithCode(turns::no_end), "");
}

INSTANTIATE_TEST_SUITE_P(Faults, HtmOrderPlanted,
                         ::testing::Values(planted_case{fault::start_unannounced, "StartUnannounced"},
                                           planted_case{fault::start_withdrawn_early, "StartWithdrawnEarly"},
                                           planted_case{fault::bound_without_now, "BoundWithoutNow"},
                                           planted_case{fault::heads_before_starts, "HeadsBeforeStarts"},
                                           planted_case{fault::merged_by_ring, "MergedByRing"},
                                           planted_case{fault::not_subscribed, "NotSubscribed"},
                                           planted_case{fault::fallback_takes_nothing, "FallbackTakesNothing"},
                                           planted_case{fault::fallback_released_early, "FallbackReleasedEarly"},
                                           planted_case{fault::fallback_stamp_early, "FallbackStampEarly"},
                                           planted_case{fault::fallback_unannounced, "FallbackUnannounced"},
                                           planted_case{fault::log_not_emptied, "LogNotEmptied"}),
                         [](const auto& each) { return each.param.name; });

}  // namespace
}  // namespace holdfast::htm
