// Named typed roots.
#include <holdfast/engine/engine_test_support.hpp>

#include <cstring>

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
using engines = ::testing::Types<volatile_only, undo, undo_paper, redo, softwrap_lat, softwrap>;
TYPED_TEST_SUITE(Roots, engines);

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
