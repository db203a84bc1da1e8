// Named typed roots.
#include <holdfast/engine/engine_test_support.hpp>

#include <atomic>
#include <barrier>
#include <chrono>
#include <cstring>
#include <thread>
#include <vector>

namespace holdfast {
namespace {

using namespace holdfast::test;

template <class Engine>
class Roots : public ::testing::Test {
protected:
    struct thing {
        typename Engine::template field<long> value;
    };
    struct larger {
        typename Engine::template field<long> value[2];
    };
    test_pool<Engine> pool;
};
TYPED_TEST_SUITE(Roots, all_engines);

TYPED_TEST(Roots, AreMadeOnceZeroFilledAndFoundAgain) {
    auto* made = this->pool->template root<typename TestFixture::thing>("a").value();
    EXPECT_EQ(made->value, 0);
    ASSERT_TRUE(this->pool->atomically([&] { made->value = 5; }));
    EXPECT_EQ(this->pool->template root<typename TestFixture::thing>("a").value(), made);
    this->pool.reopen();
    auto* found = this->pool->template root<typename TestFixture::thing>("a").value();
    EXPECT_EQ(found, made);
    EXPECT_EQ(found->value, 5);
    EXPECT_NE(this->pool->template root<typename TestFixture::thing>("b").value(), made);
}

TYPED_TEST(Roots, AnotherTypeVersionOrAlignmentIsAMismatchThatSaysBoth) {
    ASSERT_TRUE(this->pool->template root<typename TestFixture::thing>("a", "v1"));
    const auto version = this->pool->template root<typename TestFixture::thing>("a", "v2");
    ASSERT_EQ(code_of(version), errc::root_mismatch);
    EXPECT_EQ(version.error().expected, "8 bytes aligned to 8, version \"v2\"");
    EXPECT_EQ(version.error().found, "8 bytes aligned to 8, version \"v1\"");
    EXPECT_EQ(version.error().offset, 8192u);
    EXPECT_EQ(version.error().path, this->pool.path());
    EXPECT_NE(version.error().text().find("root \"a\""), std::string::npos);
    const auto size = this->pool->template root<typename TestFixture::larger>("a", "v1");
    ASSERT_EQ(code_of(size), errc::root_mismatch);
    EXPECT_EQ(size.error().expected, "16 bytes aligned to 8, version \"v1\"");
    struct alignas(64) aligned {
        typename TypeParam::template field<long> value[8];
    };
    EXPECT_EQ(code_of(this->pool->template root<aligned>("a", "v1")), errc::root_mismatch);
    EXPECT_TRUE(this->pool->template root<typename TestFixture::thing>("a", "v1"));
    // Versions that agree in what the entry can hold of them still differ.
    const std::string base(30, 'v');
    ASSERT_TRUE(this->pool->template root<typename TestFixture::thing>("long", base + "1"));
    EXPECT_EQ(code_of(this->pool->template root<typename TestFixture::thing>("long", base + "2")), errc::root_mismatch);
}

TYPED_TEST(Roots, ThereIsRoomFor32) {
    for (int i = 0; i < 32; ++i)
        ASSERT_TRUE(this->pool->template root<typename TestFixture::thing>("root " + std::to_string(i))) << i;
    const auto blocks = this->pool->usage().allocated_blocks;
    const auto one_more = this->pool->template root<typename TestFixture::thing>("one more");
    EXPECT_EQ(code_of(one_more), errc::out_of_space);
    EXPECT_EQ(this->pool->usage().allocated_blocks, blocks) << "its object is free again";
    EXPECT_TRUE(this->pool->template root<typename TestFixture::thing>("root 31"));
    const auto all = this->pool->roots();
    ASSERT_TRUE(all);
    EXPECT_EQ(all->size(), 32u);
    EXPECT_EQ(all->front().name, "root 0");
}

TYPED_TEST(Roots, AreSeenAndRolledBackInTheTransactionThatMakesThem) {
    EXPECT_THROW(ignore(this->pool->atomically([&] {
                     auto* made = this->pool->template root<typename TestFixture::thing>("a").value();
                     made->value = 3;
                     EXPECT_EQ(this->pool->template root<typename TestFixture::thing>("a").value(), made);
                     throw 1;
                 })),
                 int);
    EXPECT_TRUE(this->pool->roots()->empty());
    EXPECT_EQ(this->pool->template root<typename TestFixture::thing>("a").value()->value, 0);
}

TYPED_TEST(Roots, NamesHave1To71BytesAndNoneIsZero) {
    using item = typename TestFixture::thing;
    EXPECT_EQ(code_of(this->pool->template root<item>("")), errc::invalid_argument);
    EXPECT_EQ(code_of(this->pool->template root<item>(std::string(72, 'n'))), errc::invalid_argument);
    EXPECT_EQ(code_of(this->pool->template root<item>(std::string_view("a\0b", 3))), errc::invalid_argument);
    EXPECT_TRUE(this->pool->template root<item>(std::string(71, 'n')));
    EXPECT_EQ(this->pool->roots()->size(), 1u);
}

TYPED_TEST(Roots, OfDifferentNamesThatTwoThreadsMakeAtOnceAreAllThere) {
    using item = typename TestFixture::thing;
    constexpr int rounds = 10;
    for (std::uint64_t order = 1; order <= 12; ++order) {
        test_pool<TypeParam> shared({.order = order});
        std::barrier together(2);
        item* made[2][rounds + 1] = {};
        const auto make = [&](int mine) {
            for (int round = 0; round <= rounds; ++round) {
                // The last one is the same for both.
                const std::string name = round == rounds ? "both" : std::to_string(mine) + "." + std::to_string(round);
                together.arrive_and_wait();
                auto root = shared->template root<item>(name);
                if (!root) continue;
                made[mine][round] = *root;
                if (round == rounds) break;
                EXPECT_TRUE(shared->atomically([&] { made[mine][round]->value = 100 * mine + round + 1; }));
            }
        };
        std::thread other(make, 1);
        make(0);
        other.join();
        EXPECT_EQ(made[0][rounds], made[1][rounds]);
        shared.reopen();
        for (int mine = 0; mine < 2; ++mine)
            for (int round = 0; round < rounds; ++round) {
                const std::string name = std::to_string(mine) + "." + std::to_string(round);
                auto* found = shared->template root<item>(name).value();
                ASSERT_EQ(found, made[mine][round]) << name << " of pool " << order;
                ASSERT_EQ(found->value, 100 * mine + round + 1) << name << " of pool " << order;
            }
        ASSERT_EQ(shared->roots()->size(), 2u * rounds + 1) << "pool " << order;
    }
}

TYPED_TEST(Roots, OneThatIsRolledBackIsSeenByNoOtherThread) {
    using item = typename TestFixture::thing;
    std::atomic<bool> is_made = false, is_looked_for = false;
    item* found = nullptr;
    std::thread other([&] {
        while (!is_made) std::this_thread::yield();
        is_looked_for = true;
        found = this->pool->template root<item>("a").value();
        EXPECT_EQ(found->value, 0) << "what the other one stored was rolled back";
        ASSERT_TRUE(this->pool->atomically([&] { found->value = 5; }));
    });
    EXPECT_THROW(ignore(this->pool->atomically([&] {
                     this->pool->template root<item>("a").value()->value = 3;
                     is_made = true;
                     while (!is_looked_for) std::this_thread::yield();
                     // Time for the other one to see it, if it can.
                     std::this_thread::sleep_for(std::chrono::milliseconds(20));
                     throw 1;
                 })),
                 int);
    other.join();
    this->pool.reopen();
    EXPECT_EQ(this->pool->template root<item>("a").value()->value, 5);
    EXPECT_EQ(this->pool->roots()->size(), 1u);
}

TYPED_TEST(Roots, OneThatIsThereIsFoundWhileAnotherIsBeingMade) {
    using item = typename TestFixture::thing;
    auto* const there = this->pool->template root<item>("there").value();
    ASSERT_EQ(this->pool->template root<item>("there").value(), there);
    ASSERT_TRUE(this->pool->atomically([&] {
        this->pool->template root<item>("new").value();
        // Would wait for ever if it needed the lock.
        std::thread([&] { EXPECT_EQ(this->pool->template root<item>("there").value(), there); }).join();
    }));
}

TYPED_TEST(Roots, ADamagedEntryIsCorruptAndNamesItsOffset) {
    ASSERT_TRUE(this->pool->template root<typename TestFixture::thing>("a"));
    bring_home(*this->pool);
    this->pool->core().base()[8192 + 80] ^= std::byte{1};
    const auto found = this->pool->template root<typename TestFixture::thing>("a");
    ASSERT_EQ(code_of(found), errc::corrupt);
    EXPECT_EQ(found.error().offset, 8192u);
    EXPECT_EQ(code_of(this->pool->roots()), errc::corrupt);
}

}  // namespace
}  // namespace holdfast
