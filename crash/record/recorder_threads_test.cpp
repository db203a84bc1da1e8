// Scheduled threads under the recorder.
#include <crash/cut/randomness.hpp>
#include <crash/record/recorder_test_support.hpp>
#include <crash/record/scheduler.hpp>

#include <holdfast/engine/redo.hpp>
#include <holdfast/engine/sites.hpp>
#include <holdfast/engine/undo.hpp>
#include <holdfast/handle/pool.hpp>
#include <holdfast/log/sites.hpp>
#include <holdfast/persist/seam.hpp>

#include <unistd.h>

#include <algorithm>
#include <array>
#include <functional>
#include <map>
#include <mutex>
#include <set>
#include <string>
#include <tuple>
#include <vector>

namespace holdfast::crash {
namespace {

namespace site = persist::site;
using functions = std::vector<std::function<void()>>;

auto as_tuple(const event& each) {
    return std::tuple(each.kind, each.where, each.place, each.value, each.code, each.thread);
}

void expect_same(const trace& a, const trace& b) {
    EXPECT_EQ(a.before, b.before);
    ASSERT_EQ(a.events.size(), b.events.size());
    for (std::size_t i = 0; i < a.events.size(); ++i)
        ASSERT_EQ(as_tuple(a.events[i]), as_tuple(b.events[i])) << "event " << i;
}

std::string threads_of(const trace& recorded) {
    std::string text;
    for (const event& each : recorded.events) text += static_cast<char>('0' + each.thread);
    return text;
}

class RecorderThreads : public RecorderTest {
protected:
    struct recording {
        trace recorded;
        std::uint64_t steps = 0;
    };
    recording record(const functions& all, const schedule& order) const {
        std::memset(bytes_, 0, size);
        recorder seen(pool());
        const auto steps = run_threads(all, order);
        auto recorded = seen.take();
        return {recorded.value(), steps.value()};
    }
    void store(std::uint64_t index, std::uint64_t value) const {
        *static_cast<volatile std::uint64_t*>(word(index)) = value;
    }

    persist::line_path lines_;
};

TEST_F(RecorderThreads, OnePreemptionMakesEveryInterleavingThatItCan) {
    const functions all{[&] { store(0, 1), store(1, 1); }, [&] { store(2, 1), store(3, 1); }};
    std::map<std::string, unsigned> found;
    for (unsigned first = 0; first < 2; ++first) {
        const std::uint64_t steps = record(all, {first, {}}).steps;
        EXPECT_EQ(steps, 4u);
        for (std::uint64_t step = 1; step <= steps; ++step) {
            const recording each = record(all, {first, {step}});
            ++found[threads_of(each.recorded)];
            expect_accounts_for_memory(each.recorded);
        }
    }
    EXPECT_EQ(found, (std::map<std::string, unsigned>{{"0110", 1}, {"0011", 3}, {"1001", 1}, {"1100", 3}}));
    EXPECT_EQ(threads_of(record(all, {0, {1, 2}}).recorded), "0101");
    EXPECT_EQ(threads_of(record(all, {1, {1, 2}}).recorded), "1010");
}

TEST_F(RecorderThreads, CallsOfTheSeamAreStepsAndNameTheirThread) {
    const auto persist_a_word = [&](std::uint64_t index) {
        persist::store_word(word(index), 1, 0xFF, site::undo_home);
        persist::write_back(lines_, word(index), 8, site::undo_write_back);
        persist::fence(lines_, site::undo_home_fence);
    };
    const functions all{[&] { persist_a_word(0); }, [&] { persist_a_word(8); }};
    const recording each = record(all, {0, {1, 2, 3, 4, 5}});
    EXPECT_EQ(each.steps, 6u) << "a store of the seam is one step, not two";
    ASSERT_EQ(threads_of(each.recorded), "010101");
    for (std::size_t i = 0; i < 6; ++i) {
        const event& is = each.recorded.events[i];
        EXPECT_EQ(is.kind, (std::array{event_kind::store, event_kind::write_back, event_kind::fence})[i / 2]);
        EXPECT_TRUE(is.where) << i;
    }
}

TEST_F(RecorderThreads, AStreamIsNamedThroughTheStoresOfOthers) {
    const std::uint64_t streamed[8] = {1, 2, 3, 4, 5, 6, 7, 8};
    const functions all{[&] { persist::stream(lines_, word(8), streamed, sizeof streamed, site::log_record); },
                        [&] { store(0, 9), store(9, 9); }};
    const recording each = record(all, {0, {3, 4, 5}});
    ASSERT_EQ(threads_of(each.recorded), "0001010000");
    for (const event& is : each.recorded.events) {
        EXPECT_EQ(is.kind, is.thread == 0 ? event_kind::stream : event_kind::store);
        EXPECT_EQ(is.where.has_value(), is.thread == 0);
    }
    EXPECT_EQ(*word(9), 9u) << "the later one";
    expect_accounts_for_memory(each.recorded);
}

TEST_F(RecorderThreads, AStringInstructionIsOneStepForEachPage) {
    const auto fill = [&] {
        void* to = bytes_;
        std::size_t left = 2 * page;
        asm volatile("rep stosb" : "+D"(to), "+c"(left) : "a"(1) : "memory");
    };
    const functions all{fill, [&] { store(3 * page / 8, 1); }};
    const recording each = record(all, {0, {1}});
    EXPECT_EQ(each.steps, 3u);
    EXPECT_EQ(each.recorded.events[page].thread, 1u);
    EXPECT_EQ(each.recorded.events.size(), 2 * page + 1);
    expect_accounts_for_memory(each.recorded);
}

/// Transactions of several threads, each on words of its own, in a fresh pool.
template <class Engine>
class transactions {
public:
    explicit transactions(unsigned threads, level durability = level::power)
        : threads_(threads), durability_(durability) {}

    struct data {
        struct slice {
            typename Engine::template field<std::uint64_t> values[16];
        };
        slice slices[threads_at_most];
        typename Engine::template field<std::uint64_t> shared;
    };

    trace record(const schedule& order) {
        randomness.seed(0);
        create_options options;
        options.durability = durability_;
        options.tmpfs_is_nvram = true;
        options.bytes = options.reserved_bytes = 256 << 10;
        options.log_bytes = 64 << 10;
        options.base = HOLDFAST_TEST_BASE_ADDRESS;
        const std::string path = "/dev/shm/holdfast-recorder-" + std::to_string(::getpid());
        ::unlink(path.c_str());
        auto pool = basic_pool<Engine>::create(path, options).value();
        ::unlink(path.c_str());
        data& all = *pool.template root<data>("all").value();
        std::mutex mutex;
        functions run;
        for (unsigned i = 0; i < threads_; ++i)
            run.push_back([&pool, &all, &mutex, i] {
                for (std::uint64_t round = 1; round <= 2; ++round)
                    pool.atomically([&] { for (auto& each : all.slices[i].values) each = round; }).value();
                pool.atomically(mutex, [&] { ++all.shared; }).value();
            });
        recorder seen({pool.core().base(), pool.core().size()});
        const auto ran = run_threads(run, order);
        auto recorded = seen.take();
        steps = ran.value();
        EXPECT_EQ(all.shared.get(), threads_);
        for (unsigned i = 0; i < threads_; ++i)
            for (auto& each : all.slices[i].values) EXPECT_EQ(each.get(), 2u);
        first_place_ = static_cast<std::uint64_t>(reinterpret_cast<std::byte*>(&all) - pool.core().base()) / 8;
        pool.abandon();
        return std::move(recorded).value();
    }
    /// Whose slice the word belongs to, if it does.
    std::optional<unsigned> owner_of(std::uint64_t place) const {
        constexpr std::uint64_t words = sizeof(typename data::slice) / 8;
        if (place < first_place_ || place >= first_place_ + threads_ * words) return {};
        return static_cast<unsigned>((place - first_place_) / words);
    }

    std::uint64_t steps = 0;

private:
    unsigned threads_;
    level durability_;
    std::uint64_t first_place_ = 0;
};

template <class Engine>
class RecorderTransactions : public ::testing::Test {};
using engines = ::testing::Types<redo, undo, undo_paper>;
TYPED_TEST_SUITE(RecorderTransactions, engines);

TYPED_TEST(RecorderTransactions, EachEventHasItsThreadAndItsSite) {
    transactions<TypeParam> two(2);
    static_cast<void>(two.record({}));
    std::set<std::string> interleavings;
    for (std::uint64_t seed = 0; seed < 8; ++seed) {
        const trace recorded = two.record(draw_schedule(seed, 2, 3, two.steps));
        std::array<unsigned, 2> homes{}, fences{};
        for (const event& each : recorded.events) {
            ASSERT_LT(each.thread, 2u);
            EXPECT_TRUE(each.where) << "place " << each.place;
            if (each.kind == event_kind::fence) ++fences[each.thread];
            if (each.kind != event_kind::store) continue;
            if (const auto owner = two.owner_of(each.place)) {
                EXPECT_EQ(*owner, each.thread);
                ++homes[each.thread];
            }
        }
        EXPECT_EQ(homes, (std::array{32u, 32u}));
        EXPECT_GE(std::min(fences[0], fences[1]), 3u) << "one for each transaction";
        interleavings.insert(threads_of(recorded));
    }
    EXPECT_GE(interleavings.size(), 6u);
}

TYPED_TEST(RecorderTransactions, TheSameScheduleGivesTheSameTrace) {
    for (const level durability : {level::process, level::power})
        for (unsigned threads = 2; threads <= threads_at_most; ++threads) {
            transactions<TypeParam> several(threads, durability);
            const trace first = several.record({});
            expect_same(several.record({}), first);
            const schedule order = draw_schedule(threads, threads, 3, several.steps);
            const trace recorded = several.record(order);
            expect_same(several.record(order), recorded);
        }
}

}  // namespace
}  // namespace holdfast::crash
