// What libpmemobj asks of the medium is counted in lines and fences, as the seam counts ours.
#include <bench/rivals/pmem_calls.hpp>

#include <holdfast/persist/counters.hpp>
#include <holdfast/persist/test_scratch.hpp>

#include <gtest/gtest.h>
#include <libpmem.h>
#include <libpmemobj.h>

#include <array>
#include <chrono>
#include <cstring>
#include <string>

namespace holdfast::bench {
namespace {

template <class F>
persist::counters cost_of(F&& f) {
    const auto before = persist::thread_counters();
    f();
    return persist::thread_counters() - before;
}

persist::counters counted(std::uint64_t write_backs, std::uint64_t fences, std::uint64_t streamed_bytes = 0) {
    return {write_backs, fences, streamed_bytes, 0, 0};
}

class lines_in_memory : public testing::Test {
protected:
    alignas(64) std::array<unsigned char, 4096> to_{};
    std::array<unsigned char, 4096> from_{};
};

using PmemCalls = lines_in_memory;

TEST_F(PmemCalls, AFlushCountsTheLinesThatHoldAByteOfTheRange) {
    EXPECT_EQ(cost_of([&] { pmem_flush(&to_[60], 8); }), counted(2, 0));
    EXPECT_EQ(cost_of([&] { pmem_deep_flush(&to_[0], 64); }), counted(1, 0));
    EXPECT_EQ(cost_of([&] { pmem_flush(&to_[0], 0); }), counted(0, 0));
    EXPECT_EQ(cost_of([&] { pmem_persist(&to_[64], 129); }), counted(3, 1));
    EXPECT_EQ(cost_of([] { pmem_drain(); }), counted(0, 1));
}

TEST_F(PmemCalls, ACopyIsStoredAndWrittenBackOrStreamedAndFencedUnlessItSaysOtherwise) {
    from_.fill(7);
    EXPECT_EQ(cost_of([&] { pmem_memcpy(&to_[0], &from_[0], 255, 0); }), counted(4, 1));
    EXPECT_EQ(to_[254], 7);
    EXPECT_EQ(cost_of([&] { pmem_memmove(&to_[0], &from_[0], 256, 0); }), counted(0, 1, 256));
    EXPECT_EQ(to_[255], 7);
    EXPECT_EQ(cost_of([&] { pmem_memset(&to_[0], 9, 64, PMEM_F_MEM_NODRAIN); }), counted(1, 0));
    EXPECT_EQ(to_[63], 9);
    EXPECT_EQ(cost_of([&] { pmem_memcpy(&to_[0], &from_[0], 64, PMEM_F_MEM_NONTEMPORAL); }), counted(0, 1, 64));
    EXPECT_EQ(cost_of([&] { pmem_memcpy(&to_[0], &from_[0], 512, PMEM_F_MEM_TEMPORAL); }), counted(8, 1));
    EXPECT_EQ(cost_of([&] { pmem_memset(&to_[0], 5, 512, PMEM_F_MEM_NOFLUSH); }), counted(0, 0));
    EXPECT_EQ(to_[511], 5);
}

TEST_F(PmemCalls, EachLineIsDelayedAtTheNextFence) {
    constexpr std::uint32_t delay_ns = 1'000'000;
    set_libpmem_delay(delay_ns);
    const auto begin = std::chrono::steady_clock::now();
    pmem_flush(&to_[0], 128);
    pmem_memcpy(&to_[0], &from_[0], 256, PMEM_F_MEM_NODRAIN);
    pmem_drain();
    const auto took = std::chrono::steady_clock::now() - begin;
    set_libpmem_delay(0);
    EXPECT_GE(took, std::chrono::nanoseconds(6 * delay_ns));
}

/// A pool of libpmemobj whose lines it writes back itself (CMakeLists.txt sets PMEM_IS_PMEM_FORCE).
class pmemobj_pool : public testing::Test {
protected:
    pmemobj_pool() : scratch_("/dev/shm") {
        pool_ = pmemobj_create((scratch_.path() + "/pool").c_str(), "test", PMEMOBJ_MIN_POOL, 0600);
        words_ = static_cast<std::uint64_t*>(pmemobj_direct(pmemobj_root(pool_, 4096)));
    }
    ~pmemobj_pool() override { pmemobj_close(pool_); }

    persist::counters transaction(std::size_t snapshot_bytes) {
        return cost_of([&] {
            ASSERT_EQ(pmemobj_tx_begin(pool_, nullptr, TX_PARAM_NONE), 0);
            if (snapshot_bytes != 0) {
                ASSERT_EQ(pmemobj_tx_add_range_direct(words_, snapshot_bytes), 0);
                std::memset(words_, 1, snapshot_bytes);
            }
            pmemobj_tx_commit();
            pmemobj_tx_end();
        });
    }

    persist::test::scratch_directory scratch_;
    PMEMobjpool* pool_;
    std::uint64_t* words_;
};

using PmemobjCalls = pmemobj_pool;

TEST_F(PmemobjCalls, TransactionsOfLibpmemobjGoThroughTheCountedCalls) {
    ASSERT_NE(pool_, nullptr) << pmemobj_errormsg();
    transaction(8);
    EXPECT_EQ(transaction(0).write_backs, 0u) << "nothing was written";
    const auto word = transaction(8), words = transaction(1024);
    EXPECT_GE(word.write_backs, 2u) << "the snapshot and the word";
    EXPECT_GE(word.fences, 2u);
    EXPECT_EQ(word.syncs, 0u);
    EXPECT_GE(words.write_backs, word.write_backs + 15) << "sixteen lines changed instead of one";
    EXPECT_EQ(transaction(8), word) << "the same every time";
}

}  // namespace
}  // namespace holdfast::bench
