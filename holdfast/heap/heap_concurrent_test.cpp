// Threads, each with its own transactions over one heap. Also run under ThreadSanitizer.
#include <holdfast/heap/heap_test_support.hpp>

#include <algorithm>
#include <mutex>
#include <random>
#include <thread>

namespace holdfast::heap_test {
namespace {

constexpr int thread_count = 4;

/// Committed blocks that any thread may take over: its lock is what the caller's own locks are.
class mailbox {
public:
    void put(std::byte* block) {
        const std::lock_guard lock(mutex_);
        blocks_.push_back(block);
    }
    std::byte* take(std::uint32_t any) {
        const std::lock_guard lock(mutex_);
        if (blocks_.empty()) return nullptr;
        std::swap(blocks_[any % blocks_.size()], blocks_.back());
        std::byte* block = blocks_.back();
        blocks_.pop_back();
        return block;
    }
    std::vector<const void*> all() const { return {blocks_.begin(), blocks_.end()}; }

private:
    std::mutex mutex_;
    std::vector<std::byte*> blocks_;
};

void run_thread(const heap_in_memory& pool, mailbox& shared, storing how, std::uint32_t seed, int transactions) {
    std::minstd_rand random(seed);
    test_transaction tx(pool, how);
    for (int i = 0; i < transactions; ++i) {
        std::vector<std::byte*> allocated;
        std::vector<std::byte*> released;
        for (auto left = random() % 8; left > 0; --left) {
            if (random() % 2 == 0) {
                std::byte* block = shared.take(static_cast<std::uint32_t>(random()));
                if (block == nullptr) continue;
                *block = std::byte{static_cast<unsigned char>(seed)};
                tx.release(block);
                released.push_back(block);
                continue;
            }
            const std::size_t bytes = random() % 12 == 0 ? random() % 40'000 + 1 : random() % 600 + 1;
            try {
                const heap_block block = tx.allocate(bytes);
                allocated.push_back(block.address);
                const std::vector<std::byte> contents(block.bytes, std::byte{static_cast<unsigned char>(seed)});
                if (block.clean) {
                    std::memcpy(block.address, contents.data(), contents.size());
                } else {
                    tx.writer.store(block.address, contents.data(), contents.size());
                }
            } catch (const failure& full) {
                EXPECT_EQ(full.reason().code, errc::out_of_space);
            }
        }
        const bool commit = random() % 4 != 0;
        commit ? void(tx.commit()) : tx.roll_back();
        if (random() % 16 == 0) pool.heap().truncated_to(test_transaction::last_sequence.load() / 2);
        for (std::byte* each : commit ? allocated : released) shared.put(each);
    }
}

class HeapThreads : public testing::TestWithParam<std::tuple<storing, std::size_t>> {};
INSTANTIATE_TEST_SUITE_P(BothEngines, HeapThreads,
                         testing::Combine(testing::Values(storing::at_commit, storing::in_place),
                                          testing::Values(std::size_t{24}, std::size_t{120}, std::size_t{4000})));

TEST_P(HeapThreads, ShareOneHeapWithoutALeakOrADoubleOwner) {
    const auto [how, zone_pages] = GetParam();
    heap_in_memory pool(zone_pages);
    mailbox shared;
    for (const bool reopened : {false, true}) {
        if (reopened) pool.reopen();
        std::vector<std::thread> threads;
        for (std::uint32_t i = 0; i < thread_count; ++i)
            threads.emplace_back([&, i] { run_thread(pool, shared, how, i + 1 + (reopened ? 50 : 0), 1500); });
        for (std::thread& each : threads) each.join();
        const heap_audit found = pool.audit(shared.all());
        EXPECT_TRUE(found.clean()) << (found.problems.empty() ? "" : found.problems.front());
    }
    test_transaction last(pool, how);
    while (std::byte* block = shared.take(0)) last.release(block);
    last.commit();
    EXPECT_EQ(last.allocate(pool.page_count() * page).bytes, pool.page_count() * page);
}

// Locks go after the append and before the wait, so others may free, commit and reuse first.
TEST(HeapThreads, ASlabWhoseCreatorHearsLateOfItsCommitIsUsedAndRolledBackByOthers) {
    heap_in_memory pool(3);
    test_transaction creator(pool, storing::at_commit);
    test_transaction other(pool, storing::at_commit);
    test_transaction third(pool, storing::at_commit);
    std::vector<std::byte*> blocks;
    for (int i = 0; i < 63; ++i) blocks.push_back(creator.allocate(64).address);
    EXPECT_EQ(code_of([&] { creator.allocate(64); }), errc::out_of_space);
    creator.writer.commit();
    for (std::byte* each : blocks) other.release(each);
    other.commit();
    EXPECT_EQ(code_of([&] { third.allocate(page); }), errc::out_of_space);
    for (int i = 0; i < 63; ++i) EXPECT_NO_THROW(third.allocate(64));
    third.roll_back();
    creator.session->committed(++test_transaction::last_sequence);
    EXPECT_TRUE(pool.audit({}).clean());
    for (int i = 0; i < 63; ++i) EXPECT_NO_THROW(third.allocate(64));
    third.roll_back();
    EXPECT_NO_THROW(third.allocate(page));
}

TEST(HeapThreads, OfTwoThatReleaseOneBlockAtOnceExactlyOneIsToldMisuse) {
    heap_in_memory pool(100);
    test_transaction setup(pool, storing::at_commit);
    for (int round = 0; round < 200; ++round) {
        const std::size_t bytes = round % 2 == 0 ? 64 : 2 * page;
        std::byte* block = setup.allocate(bytes).address;
        setup.commit();
        if (round % 4 < 2) pool.reopen();
        std::atomic<int> refused{0};
        std::vector<std::thread> threads;
        for (int i = 0; i < 2; ++i)
            threads.emplace_back([&] {
                test_transaction tx(pool, storing::at_commit);
                try {
                    tx.release(block);
                    tx.commit();
                } catch (const failure& thrown) {
                    EXPECT_EQ(thrown.reason().code, errc::misuse);
                    ++refused;
                }
            });
        for (std::thread& each : threads) each.join();
        EXPECT_EQ(refused, 1);
    }
    EXPECT_TRUE(pool.audit({}).clean());
}

}  // namespace
}  // namespace holdfast::heap_test
