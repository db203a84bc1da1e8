// Large blocks that are stored to without a log, over several lives of one pool.
#include <holdfast/container/vector.hpp>
#include <holdfast/engine/engine_test_support.hpp>

namespace holdfast {
namespace {

using namespace holdfast::test;

template <class Engine>
class FreshBlockLives : public ::testing::Test {
protected:
    using numbers = vector<long, Engine>;

    FreshBlockLives() {
        // As most programs have it: no smaller log, no options.
        EXPECT_TRUE(pool_->core().homes_are_private()) << "the working directory is on no ordinary file system";
        find();
    }
    void find() { all_ = pool_->template root<numbers>("all").value(); }
    void append(long first) {
        for (long i = 0; i < count; i += 100)
            pool_->atomically([&] {
                     for (long j = i; j < i + 100; ++j) all_->push_back(first + j);
                 }).value();
    }
    /// Leaves records of the numbers' bytes in the log, and their block free.
    void change_and_free() {
        pool_->atomically([&] {
                 for (long i = 0; i < count; i += 3) (*all_)[static_cast<std::size_t>(i)] = -1;
             }).value();
        pool_->atomically([&] {
                 all_->clear();
                 all_->shrink_to_fit();
             }).value();
    }
    long wrong(long first) const {
        if (all_->size() != static_cast<std::size_t>(count)) return -1;
        long found = 0;
        for (long i = 0; i < count; ++i) found += (*all_)[static_cast<std::size_t>(i)] != first + i;
        return found;
    }

    static constexpr long count = 8000;
    test_pool<Engine> pool_{{.bytes = 4 << 20, .log_bytes = 512 << 10, .directory = "."}};
    numbers* all_ = nullptr;
};

using logging_on_files = ::testing::Types<redo, softwrap, softwrap_lat>;
TYPED_TEST_SUITE(FreshBlockLives, logging_on_files);

TYPED_TEST(FreshBlockLives, AnotherLifesRecordsAreNotAppliedOverBlocksTakenAfterAKillAndAClose) {
    this->append(0);
    this->change_and_free();
    this->pool_.kill();
    this->find();
    this->append(100'000);
    ASSERT_EQ(this->wrong(100'000), 0);
    this->pool_.reopen();
    this->find();
    EXPECT_EQ(this->wrong(100'000), 0);
    EXPECT_TRUE(this->all_->check());
}

TYPED_TEST(FreshBlockLives, AnotherLifesRecordsAreNotAppliedOverBlocksTakenAfterTwoKills) {
    this->append(0);
    this->change_and_free();
    this->pool_.kill();
    this->find();
    this->append(100'000);
    this->pool_.kill();
    this->find();
    EXPECT_EQ(this->wrong(100'000), 0);
}

TYPED_TEST(FreshBlockLives, ALargeBlockFindsCleanRoomAfterAKill) {
    this->append(0);
    this->change_and_free();
    this->pool_.kill();
    this->find();
    // More than the log holds: it goes only where no record names a byte.
    const std::vector<long> many(100'000, 7);
    const auto appended = this->pool_->atomically([&] { this->all_->append(many.data(), many.size()); });
    EXPECT_TRUE(appended) << appended.error().text();
    this->pool_.kill();
    this->find();
    EXPECT_EQ((*this->all_)[99'999], 7);
}

}  // namespace
}  // namespace holdfast
