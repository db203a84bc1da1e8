// line<T>: the bytes of both halves after each step, exceptions, nesting, counts.
#include <holdfast/line/line.hpp>

#include <gtest/gtest.h>

#include <array>
#include <cstdint>
#include <cstring>
#include <stdexcept>
#include <string>
#include <thread>

namespace holdfast {
namespace {

using bytes_of_line = std::array<unsigned char, 64>;

template <class T>
bytes_of_line bytes(const line<T>& from) {
    bytes_of_line all;
    std::memcpy(all.data(), static_cast<const void*>(&from), all.size());
    return all;
}

/// As long as it lives, lines are made durable as for a pool at `power` on byte-addressable media.
class power {
public:
    power() { line_medium_state::needs = line_medium_state::fences | line_medium_state::write_backs; }
    ~power() { line_medium_state::needs = 0; }
};

struct full {
    std::array<unsigned char, 31> all;
};

TEST(Line, IsALineWhoseFirstHalfIsValid) {
    static_assert(sizeof(line<full>) == 64 && alignof(line<full>) == 64);
    full value;
    value.all.fill(7);
    const line<full> made(value);
    const auto all = bytes(made);
    for (std::size_t i = 0; i < 31; ++i) EXPECT_EQ(all[i], 7);
    for (std::size_t i = 31; i < 64; ++i) EXPECT_EQ(all[i], 0) << i;
    EXPECT_EQ(made->all[30], 7);
}

TEST(Line, ATransactionChangesTheOtherHalfAndThenTheIndex) {
    line<full> made;
    made.transact([&](full& active) {
        active.all[30] = 1;
        const auto inside = bytes(made);
        EXPECT_EQ(inside[30], 0) << "the valid half is not touched";
        EXPECT_EQ(inside[62], 1);
        EXPECT_EQ(inside[63], 0);
    });
    EXPECT_EQ(bytes(made)[63], 32);
    EXPECT_EQ(made->all[30], 1);
    made.transact([](full& active) { active.all[0] = active.all[30]; });
    EXPECT_EQ(bytes(made)[63], 0) << "and back";
    EXPECT_EQ(made->all[0], 1);
    EXPECT_EQ(made->all[30], 1) << "the other half's object was copied";
}

TEST(Line, CostsOneWriteBackAndOneFenceAtPowerAndNoneAtProcess) {
    line<std::uint32_t> made;
    const auto before = persist::thread_counters();
    made.transact([](std::uint32_t& active) { ++active; });
    EXPECT_EQ(persist::thread_counters() - before, persist::counters{});
    const power level;
    made.transact([](std::uint32_t& active) { ++active; });
    const auto spent = persist::thread_counters() - before;
    EXPECT_EQ(spent.write_backs, 1u);
    EXPECT_EQ(spent.fences, 1u);
    EXPECT_EQ(*made, 2u);
}

TEST(Line, AnExceptionRollsBackAndTheNextTransactionSeesNothingOfIt) {
    line<full> made;
    EXPECT_THROW(made.transact([](full& active) {
        active.all.fill(9);
        throw std::runtime_error("no");
    }),
                 std::runtime_error);
    EXPECT_EQ(made->all[5], 0);
    made.transact([](full& active) { EXPECT_EQ(active.all[5], 0); });
}

TEST(Line, InsideItsTransactionItReadsWhatIsBeingChanged) {
    line<int> made(1);
    const int seen = made.transact([&](int& active) {
        active = 2;
        EXPECT_EQ(*made, 2);
        std::thread([&] { EXPECT_EQ(*made, 1) << "other threads read what is valid"; }).join();
        return *made + 1;
    });
    EXPECT_EQ(seen, 3);
    EXPECT_EQ(*made, 2);
}

TEST(Line, ANestedTransactionIsPartOfTheOuterOne) {
    const power level;
    line<int> made(1);
    const auto before = persist::thread_counters();
    EXPECT_THROW(made.transact([&](int& active) {
        active = 2;
        made.transact([](int& same) { ++same; });
        EXPECT_EQ(active, 3);
        throw 1;
    }),
                 int);
    EXPECT_EQ(*made, 1);
    EXPECT_EQ((persist::thread_counters() - before).fences, 0u);
}

TEST(Line, ATransactionOnAnotherLineInsideIsOneOfItsOwn) {
    line<int> outer(1), inner(1);
    EXPECT_THROW(outer.transact([&](int& active) {
        active = 2;
        inner.transact([&](int& other) { other = *outer; });
        throw 1;
    }),
                 int);
    EXPECT_EQ(*outer, 1);
    EXPECT_EQ(*inner, 2) << "it was committed before the outer one was rolled back";
}

TEST(Line, AnIndexThatIsNoneLeadsNowhere) {
    line<full> made;
    unsigned char* const index = reinterpret_cast<unsigned char*>(&made) + 63;
    *index = 0xDF;
    EXPECT_EQ(static_cast<const void*>(&made.get()), static_cast<const void*>(&made));
    *index = 0xFF;
    EXPECT_EQ(static_cast<const void*>(&made.get()), reinterpret_cast<unsigned char*>(&made) + 32);
}

TEST(Line, ReturnsWhatTheFunctionReturnsAlsoAReference) {
    line<int> made(4);
    int other = 0;
    static_assert(std::is_same_v<decltype(made.transact([&](int&) -> int& { return other; })), int&>);
    EXPECT_EQ(&made.transact([&](int&) -> int& { return other; }), &other);
    EXPECT_EQ(made.transact([](int& active) { return std::to_string(active); }), "4");
}

TEST(Line, LoadCopiesWhatIsValidAlsoInsideATransaction) {
    line<int> made(1);
    made.transact([&](int& active) {
        active = 2;
        EXPECT_EQ(made.load(), 1);
    });
    EXPECT_EQ(made.load(), 2);
}

TEST(Line, AnArrayHasALineForEachElement) {
    line_array<int, 3> all;
    static_assert(sizeof all == 3 * 64);
    int next = 0;
    for (auto& each : all) each.transact([&](int& active) { active = ++next; });
    EXPECT_EQ(*all[0] + *all[1] + *all[2], 6);
    EXPECT_EQ(all.size(), 3u);
}

}  // namespace
}  // namespace holdfast
