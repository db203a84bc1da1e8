// Variables that go through the innermost open wrap, in both engines of wraps, and a structure made for memory that
// becomes persistent by them.
#include <holdfast/engine/engine_test_support.hpp>
#include <holdfast/engine/softwrap.hpp>
#include <holdfast/engine/softwrap_lat.hpp>
#include <holdfast/handle/wrapped.hpp>

#include <gtest/gtest.h>

#include <memory>
#include <thread>

namespace holdfast {
namespace {

using namespace holdfast::test;

template <class Engine>
struct variables {
    template <class T>
    using wrapped = typename Engine::template wrapped<T>;

    variables() { first = 7; }  // in the transaction that makes the root
    wrapped<long> first, second;
    wrapped<char> letters[3];
    wrapped<variables*> other;
};

template <class Engine>
class Wrapped : public ::testing::Test {
protected:
    test_pool<Engine> pool_;
    variables<Engine>& data_ = *pool_->template root<variables<Engine>>("variables").value();
};
TYPED_TEST_SUITE(Wrapped, wrapping_engines);

TYPED_TEST(Wrapped, VariablesAreLoadedAndStoredThroughTheOpenWrap) {
    auto& data = this->data_;
    EXPECT_EQ(data.first, 7) << "the constructor of a root stores, too";
    auto id = OpenWrap(*this->pool_);
    data.first = 1;
    data.second = data.first + 1;
    data.letters[1] = 'b';
    data.other = &data;
    ++data.other->second;
    EXPECT_EQ(wrapLoad(id, reinterpret_cast<const long*>(&data.second)), 3);
    id.abort();
    EXPECT_EQ(data.first, 7) << "what was aborted is gone";
    auto again = OpenWrap(*this->pool_);
    data.first = 4;
    data.letters[2] = 'c';
    ASSERT_TRUE(CloseWrap(again));
    EXPECT_EQ(data.first, 4);
    EXPECT_EQ(data.letters[2], 'c');
    EXPECT_EQ(data.second, 0);
    EXPECT_EQ(data.other.get(), nullptr);
    ASSERT_TRUE(this->pool_->atomically([&] {
        data.first += 1;
        EXPECT_EQ(data.first, 5);
    }));
    EXPECT_EQ(data.first, 5);
}

TYPED_TEST(Wrapped, VariablesGoToTheWrapThatWasOpenedLast) {
    auto& data = this->data_;
    auto outer = OpenWrap(*this->pool_);
    data.first = 1;
    {
        auto inner = OpenWrap(*this->pool_);
        data.second = 2;
        ASSERT_TRUE(CloseWrap(inner));
    }
    data.letters[0] = 'a';
    AbortWrap(outer);
    EXPECT_EQ(data.first, 7);
    EXPECT_EQ(data.second, 2);
    EXPECT_EQ(data.letters[0], 0);
}

TYPED_TEST(Wrapped, VariablesOutsideOfPoolsArePlain) {
    variables<TypeParam> here;
    EXPECT_EQ(here.first, 7);
    here.second = 3;
    auto id = OpenWrap(*this->pool_);
    here.second += 1;
    here.other = &here;
    AbortWrap(id);
    EXPECT_EQ(here.second, 4) << "no wrap took it";
    EXPECT_EQ(here.other.get(), &here);
}

TYPED_TEST(Wrapped, VariablesInAPoolAreNotStoredWithoutAWrap) {
    auto& data = this->data_;
    EXPECT_THROW(data.first = 1, failure);
    test_pool<TypeParam> other({.order = 1});
    auto& theirs = *other->template root<variables<TypeParam>>("variables").value();
    auto id = OpenWrap(*this->pool_);
    EXPECT_THROW(theirs.first = 1, failure) << "the wrap is on another pool";
    EXPECT_THROW(data.other = &theirs, failure);
    EXPECT_EQ(theirs.first, 7);
    data.first = 2;
    std::thread([&] {
        EXPECT_THROW(data.first = 3, failure) << "another thread's wrap";
        EXPECT_EQ(data.first, 7);
    }).join();
    ASSERT_TRUE(CloseWrap(id));
    EXPECT_EQ(data.first, 2);
}

TYPED_TEST(Wrapped, AWrapThatCameFromAnotherThreadContinuesHere) {
    auto& data = this->data_;
    auto id = std::make_unique<wrap<TypeParam>>(*this->pool_);
    data.first = 1;
    std::thread([&] {
        id->continue_here();
        EXPECT_EQ(data.first, 1);
        data.second = 2;
        ASSERT_TRUE(id->close());
    }).join();
    EXPECT_EQ(data.first, 1);
    EXPECT_EQ(data.second, 2);
    EXPECT_THROW(data.first = 5, failure);
}

TYPED_TEST(Wrapped, APoolThatIsClosedUnderTheWrapIsSaid) {
    test_pool<TypeParam> other({.order = 1});
    auto id = OpenWrap(*other);
    other->close().value();
    EXPECT_THROW(this->data_.first = 1, failure);
    AbortWrap(id);
    auto here = OpenWrap(*this->pool_);
    this->data_.first = 1;
    ASSERT_TRUE(CloseWrap(here));
}

/// A list as it is written for memory; what it is made of is the parameter.
template <template <class> class Value, template <class> class Allocator>
class stack_of_numbers {
    struct node {
        Value<long> number;
        Value<node*> below;
    };

public:
    void push(long number) {
        node* const made = std::construct_at(Allocator<node>().allocate(1));
        made->number = number;
        made->below = top_;
        top_ = made;
    }
    long pop() {
        node* const taken = top_;
        const long number = taken->number;
        top_ = taken->below;
        Allocator<node>().deallocate(taken, 1);
        return number;
    }
    bool empty() const { return top_ == nullptr; }

private:
    Value<node*> top_{nullptr};
};

template <class Engine>
struct persistent {
    template <class T>
    using value = typename Engine::template wrapped<T>;
    template <class T>
    using allocator = wrap_allocator<Engine, T>;
    using stack = stack_of_numbers<value, allocator>;
};

TYPED_TEST(Wrapped, AStructureWrittenForMemoryBecomesPersistent) {
    using stack = typename persistent<TypeParam>::stack;
    auto& numbers = *this->pool_->template root<stack>("stack").value();
    const auto blocks = this->pool_->usage().allocated_blocks;
    EXPECT_THROW(numbers.push(1), failure) << "no wrap is open";
    {
        auto forgotten = OpenWrap(*this->pool_);
        numbers.push(1);
        numbers.push(2);
    }
    EXPECT_TRUE(numbers.empty());
    EXPECT_EQ(this->pool_->usage().allocated_blocks, blocks) << "they belong to the wrap, which was not closed";
    auto id = OpenWrap(*this->pool_);
    numbers.push(3);
    numbers.push(4);
    ASSERT_TRUE(CloseWrap(id));
    this->pool_.reopen();
    auto& found = *this->pool_->template root<stack>("stack").value();
    auto taking = OpenWrap(*this->pool_);
    EXPECT_EQ(found.pop(), 4);
    EXPECT_EQ(found.pop(), 3);
    ASSERT_TRUE(CloseWrap(taking));
    EXPECT_TRUE(found.empty());
    EXPECT_EQ(this->pool_->usage().allocated_blocks, blocks);
    wrap_allocator<TypeParam, long> allocator;
    EXPECT_THROW(allocator.allocate(1), failure);
    auto huge = OpenWrap(*this->pool_);
    EXPECT_THROW(allocator.allocate(~std::size_t{0} / 4), std::bad_array_new_length);
}

TEST(ClosedValues, AreLoadedFromTheTablesAndFromHome) {
    test_pool<softwrap> pool;
    auto& data = *pool->root<variables<softwrap>>("variables").value();
    const closed_values closed(*pool);
    const auto first = [&] { return closed.load(reinterpret_cast<const long*>(&data.first)); };
    EXPECT_EQ(first(), 7);
    auto id = OpenWrap(*pool);
    data.first = 1;
    EXPECT_EQ(first(), 7) << "of no open wrap";
    ASSERT_TRUE(CloseWrap(id));
    EXPECT_EQ(first(), 1);
    pool->checkpoint().value();
    EXPECT_EQ(first(), 1);
    long outside = 3;
    EXPECT_THROW(closed.load(&outside), failure);
    test_pool<softwrap_lat> other({.order = 1});
    EXPECT_THROW(closed_values{*other}, failure);
    EXPECT_EQ(first(), 1) << "another pool was opened meanwhile";
    pool->close().value();
    EXPECT_THROW(first(), failure);
}

}  // namespace
}  // namespace holdfast
