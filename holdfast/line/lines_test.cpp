// lines<T>: what is written back, exceptions, nesting, and recovery of every mixture of old and new lines.
#include <holdfast/line/lines.hpp>

#include <gtest/gtest.h>

#include <array>
#include <cstdint>
#include <cstring>
#include <random>

namespace holdfast {
namespace {

template <std::size_t Words>
struct record {
    std::array<std::uint64_t, Words> words{};
    bool operator==(const record&) const = default;
};

class power {
public:
    power() { line_medium_state::needs = line_medium_state::fences | line_medium_state::write_backs; }
    ~power() { line_medium_state::needs = 0; }
};

template <class F>
persist::counters cost_of(F&& f) {
    const auto before = persist::thread_counters();
    f();
    return persist::thread_counters() - before;
}

template <class T>
void fill(lines<T>& object, std::uint64_t value) {
    object.transact([&](T& active) { active.words.fill(value); });
}

TEST(Lines, TakeTwiceTheLinesOfTheObjectAndItsHeader) {
    EXPECT_EQ(sizeof(lines<record<6>>), 2 * 64u);
    EXPECT_EQ(sizeof(lines<record<7>>), 2 * 128u);
    EXPECT_EQ(sizeof(lines<record<24>>), 2 * 256u);
    EXPECT_EQ(sizeof(lines<record<512>>), 2 * 65 * 64u);
}

TEST(Lines, CostOneFenceAndAWriteBackForEachLineWhoseBytesChange) {
    const power level;
    lines<record<24>> object;
    fill(object, 1);
    fill(object, 2);
    const auto spent = cost_of([&] { fill(object, 3); });
    EXPECT_EQ(spent.write_backs, 4u);
    EXPECT_EQ(spent.fences, 1u);
    const auto change_last = [&](std::uint64_t value) {
        return cost_of([&] { object.transact([&](record<24>& active) { active.words[23] = value; }); });
    };
    EXPECT_EQ(change_last(4).write_backs, 4u) << "this copy lacks what the transaction before changed";
    EXPECT_EQ(change_last(5).write_backs, 2u) << "the first line has the header";
    EXPECT_EQ(change_last(5).write_backs, 2u) << "also where nothing is new";
    const auto first = cost_of([&] { object.transact([](record<24>& active) { active.words[0] = 9; }); });
    EXPECT_EQ(first.write_backs, 1u) << "the last line is the same in both copies";
    EXPECT_EQ(first.fences, 1u);
    EXPECT_EQ(object->words[23], 5u);
    EXPECT_EQ(object->words[0], 9u);
}

TEST(Lines, AnExceptionRollsBack) {
    lines<record<24>> object;
    fill(object, 1);
    EXPECT_THROW(object.transact([](record<24>& active) {
        active.words.fill(7);
        throw 1;
    }),
                 int);
    EXPECT_EQ(object->words[3], 1u);
    object.transact([](record<24>& active) { active.words[3] = 2; });
    EXPECT_EQ(object->words[3], 2u);
    EXPECT_EQ(object->words[23], 1u);
}

TEST(Lines, AfterARollbackTheNextTransactionWritesEveryLine) {
    const power level;
    lines<record<24>> object;
    for (std::uint64_t i = 0; i < 3; ++i) fill(object, 1);
    const auto abort = cost_of([&] {
        try {
            object.transact([](record<24>& active) {
                active.words.fill(7);
                throw 1;
            });
        } catch (int) {
        }
    });
    EXPECT_EQ(abort, persist::counters{});
    const auto spent = cost_of([&] { object.transact([](record<24>& active) { active.words[0] = 2; }); });
    EXPECT_EQ(spent.write_backs, 4u) << "nobody knows what of the copy is durable";
}

TEST(Lines, NestAndReadWhatIsBeingChanged) {
    lines<record<24>> object;
    object.transact([&](record<24>& active) {
        active.words[0] = 1;
        EXPECT_EQ(object->words[0], 1u);
        object.transact([](record<24>& same) { ++same.words[0]; });
        EXPECT_EQ(active.words[0], 2u);
    });
    EXPECT_EQ(object->words[0], 2u);
}

/// Every mixture of the lines of before and after the second of two transactions is one of both once it is recovered,
/// and so is what a third transaction and another such mixture make of it.
TEST(Lines, AnyMixtureOfLinesRecoversToBeforeOrAfter) {
    using object = lines<record<24>>;
    constexpr std::size_t count = sizeof(object) / 64;
    object made;
    fill(made, 1);
    fill(made, 2);
    alignas(64) std::array<unsigned char, sizeof(object)> before, after;
    std::memcpy(before.data(), static_cast<void*>(&made), sizeof made);
    fill(made, 3);
    std::memcpy(after.data(), static_cast<void*>(&made), sizeof made);
    unsigned seen_after = 0;
    for (unsigned mixture = 0; mixture < 1u << count; ++mixture) {
        const auto mix = [&](const unsigned char* old, const unsigned char* changed, unsigned which) {
            for (std::size_t i = 0; i < count; ++i)
                std::memcpy(reinterpret_cast<unsigned char*>(&made) + i * 64,
                            ((which >> i & 1) != 0 ? changed : old) + i * 64, 64);
        };
        mix(before.data(), after.data(), mixture);
        ASSERT_TRUE(made.recover());
        const std::uint64_t found = made->words[0];
        ASSERT_TRUE(found == 2 || found == 3);
        seen_after += found == 3 ? 1 : 0;
        for (const std::uint64_t each : made->words) ASSERT_EQ(each, found);
        // What the torn one left must not complete another.
        alignas(64) std::array<unsigned char, sizeof(object)> recovered, next;
        std::memcpy(recovered.data(), static_cast<void*>(&made), sizeof made);
        fill(made, found == 2 ? 3 : 4);
        std::memcpy(next.data(), static_cast<void*>(&made), sizeof made);
        mix(recovered.data(), next.data(), mixture * 37 % (1u << count));
        ASSERT_TRUE(made.recover());
        for (const std::uint64_t each : made->words) ASSERT_EQ(each, made->words[0]);
        ASSERT_TRUE(made->words[0] == found || made->words[0] == found + 1);
    }
    EXPECT_GT(seen_after, 0u);
}

TEST(Lines, RecoveringTwiceIsRecoveringOnceAndDamageOfBothCopiesIsTold) {
    lines<record<24>> object;
    fill(object, 1);
    ASSERT_TRUE(object.recover());
    const auto once = object.get();
    ASSERT_TRUE(object.recover());
    EXPECT_EQ(object.get(), once);
    auto* const bytes = reinterpret_cast<unsigned char*>(&object);
    bytes[100] ^= 1;
    bytes[sizeof object / 2 + 100] ^= 1;
    EXPECT_FALSE(object.recover());
}

TEST(Lines, RandomTransactionsAndRollbacksGiveWhatAPlainObjectHas) {
    const unsigned seed = 7;
    std::mt19937_64 random(seed);
    lines<record<40>> object;
    record<40> plain;
    for (int i = 0; i < 20'000; ++i) {
        record<40> changed = plain;
        const auto change = [&](record<40>& active) {
            for (std::uint64_t j = random() % 5; j > 0; --j) active.words[random() % 40] = random();
        };
        const bool fails = random() % 4 == 0;
        try {
            object.transact([&](record<40>& active) {
                change(active);
                changed = active;
                if (fails) throw 1;
            });
            plain = changed;
        } catch (int) {
        }
        ASSERT_EQ(object.get(), plain) << "seed " << seed << ", step " << i;
        if (random() % 16 == 0) {
            ASSERT_TRUE(object.recover()) << "seed " << seed << ", step " << i;
        }
        ASSERT_EQ(object.get(), plain) << "seed " << seed << ", step " << i;
    }
}

}  // namespace
}  // namespace holdfast
