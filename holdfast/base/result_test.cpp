#include <holdfast/base/result.hpp>

#include <gtest/gtest.h>

#include <memory>
#include <set>
#include <string>
#include <string_view>
#include <type_traits>
#include <utility>

namespace holdfast {
namespace {

error some_error() {
    error reason;
    reason.code = errc::layout_mismatch;
    reason.what = "the pool belongs to another application";
    reason.path = "/data/a.pool";
    reason.offset = 64;
    reason.expected = "\"a\"";
    reason.found = "\"b\"";
    return reason;
}

TEST(Result, HoldsAValue) {
    result<int> outcome = 5;
    EXPECT_TRUE(outcome);
    EXPECT_TRUE(outcome.has_value());
    EXPECT_EQ(*outcome, 5);
    *outcome = 6;
    EXPECT_EQ(outcome.value(), 6);
    EXPECT_EQ(result<std::string>("text")->size(), 4u);
    const result<std::string> constant("text");
    EXPECT_EQ(constant->size(), 4u);
}

TEST(Result, HoldsAnError) {
    const result<int> outcome = some_error();
    EXPECT_FALSE(outcome);
    EXPECT_FALSE(outcome.has_value());
    EXPECT_EQ(outcome.error().code, errc::layout_mismatch);
    const result<void> nothing = some_error();
    EXPECT_FALSE(nothing);
    EXPECT_EQ(nothing.error().path, "/data/a.pool");
}

TEST(Result, OfNothingIsASuccessByItself) {
    const result<void> outcome;
    EXPECT_TRUE(outcome);
    EXPECT_NO_THROW(outcome.value());
}

TEST(Result, CarriesWhatCanOnlyBeMoved) {
    result<std::unique_ptr<int>> outcome = std::make_unique<int>(3);
    const std::unique_ptr<int> taken = std::move(outcome).value();
    EXPECT_EQ(*taken, 3);
    result<std::unique_ptr<int>> first = some_error();
    const result<std::unique_ptr<int>> second = std::move(first);
    EXPECT_FALSE(second);
}

TEST(Result, AskedForTheValueOfAnErrorThrowsThatError) {
    result<int> outcome = some_error();
    try {
        static_cast<void>(outcome.value());
        FAIL() << "gave a value";
    } catch (const failure& thrown) {
        EXPECT_EQ(thrown.reason().code, errc::layout_mismatch);
        EXPECT_EQ(thrown.what(), some_error().text());
    }
    EXPECT_THROW(static_cast<void>(*outcome), failure);
    EXPECT_THROW(static_cast<void>(*std::move(outcome)), failure);
    EXPECT_THROW(result<void>(some_error()).value(), failure);
    EXPECT_THROW(static_cast<void>(result<std::string>(some_error())->size()), failure);
}

TEST(Result, AskedForTheErrorOfASuccessIsMisuse) {
    const auto misused = [](const auto& outcome) {
        try {
            static_cast<void>(outcome.error());
        } catch (const failure& thrown) {
            return thrown.reason().code == errc::misuse;
        }
        return false;
    };
    EXPECT_TRUE(misused(result<int>(1)));
    EXPECT_TRUE(misused(result<void>()));
}

TEST(Error, ReadsAsOneSentenceWithWhatIsKnown) {
    EXPECT_EQ(some_error().text(),
              "the pool belongs to another application: /data/a.pool, offset 64: expected \"a\", found \"b\"");
    error reason = some_error();
    reason.offset.reset();
    reason.expected.clear();
    EXPECT_EQ(reason.text(), "the pool belongs to another application: /data/a.pool: found \"b\"");
    reason.path.clear();
    reason.offset = 8;
    EXPECT_EQ(reason.text(), "the pool belongs to another application: offset 8: found \"b\"");
    EXPECT_EQ(error{}.text(), "io") << "the code's name where nothing else was said";
}

TEST(Error, EveryCodeHasItsOwnName) {
    std::set<std::string_view> names;
    const auto last = static_cast<int>(errc::invalid_argument);
    for (int code = 0; code <= last; ++code) names.insert(name_of(static_cast<errc>(code)));
    EXPECT_EQ(names.size(), static_cast<std::size_t>(last) + 1);
    EXPECT_EQ(names.count("unknown"), 0u);
    EXPECT_EQ(name_of(static_cast<errc>(last + 1)), "unknown") << "a code was added behind the last one";
}

TEST(Failure, IsCopiedWithoutThrowingAndKeepsItsText) {
    static_assert(std::is_nothrow_copy_constructible_v<failure>);
    try {
        fail(errc::misuse, "said so");
    } catch (const std::exception& thrown) {
        EXPECT_STREQ(thrown.what(), "said so");
    }
    auto original = std::make_unique<failure>(some_error());
    const failure copy = *original;
    original.reset();
    EXPECT_EQ(copy.what(), some_error().text());
}

}  // namespace
}  // namespace holdfast
