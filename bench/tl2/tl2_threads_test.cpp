// The rivals with several threads: what they do is in some order.
#include <bench/tl2/memory.hpp>
#include <bench/tl2/volatile_memory.hpp>

#include <holdfast/stm/value.hpp>
#include <holdfast/stm/versioned.hpp>

#include <workload/plain_access.hpp>
#include <workload/random.hpp>
#include <workload/rbtree.hpp>

#include <gtest/gtest.h>

#include <atomic>
#include <cstring>
#include <memory>
#include <new>
#include <optional>
#include <thread>
#include <vector>

namespace holdfast::bench {
namespace {

constexpr unsigned threads = 3;

struct free_memory {
    void operator()(std::byte* memory) const { ::operator delete[](memory, std::align_val_t{4096}); }
};

/// A rival over ordinary memory. Its logs are small, so that they wrap.
template <class Sessions>
class rival {
public:
    rival() : memory_(static_cast<std::byte*>(::operator new[](bytes, std::align_val_t{4096}))) {
        std::memset(memory_.get(), 0, bytes);
        region_.emplace(region_parts{
            .begin = memory_.get(), .bytes = bytes, .sessions = threads, .log_bytes = 16 << 10});
        rival_.emplace(*region_);
    }
    auto access(unsigned session) { return rival_->access(session); }
    template <class T>
    T* root() {
        return region_->template root<T>();
    }
    /// Runs body(thread, access) in each thread.
    template <class F>
    void run(F body) {
        std::vector<std::thread> running;
        for (unsigned i = 0; i < threads; ++i) running.emplace_back([&, i] { body(i, access(i)); });
        for (auto& each : running) each.join();
    }

private:
    static constexpr std::size_t bytes = 4 << 20;
    std::unique_ptr<std::byte[], free_memory> memory_;
    std::optional<region> region_;
    std::optional<Sessions> rival_;
};

template <class Sessions>
class RivalThreads : public testing::Test {};
using rivals = testing::Types<tl2_memory<undo_each>, tl2_memory<undo_once>, tl2_memory<redo_aside>,
                              volatile_memory<stm::value>, volatile_memory<stm::versioned>>;
TYPED_TEST_SUITE(RivalThreads, rivals);

struct accounts {
    static constexpr std::uint64_t count = 32;
    static constexpr std::uint64_t each = 1000;
    std::uint64_t balance[count];
};

TYPED_TEST(RivalThreads, TransfersKeepTheSumForWhoeverLooks) {
    rival<TypeParam> on;
    auto* const bank = on.template root<accounts>();
    ASSERT_TRUE(on.access(0).atomically([&] {
        for (auto& balance : bank->balance) on.access(0).store(&balance, accounts::each);
    }));
    std::atomic<std::uint64_t> wrong{0};
    on.run([&](unsigned thread, auto memory) {
        workload::random numbers(thread);
        for (unsigned i = 0; i < 3000; ++i) {
            if (i % 4 == 0) {
                std::uint64_t sum = 0;
                memory.atomically([&] {
                    sum = 0;
                    for (const auto& balance : bank->balance) sum += memory.load(&balance);
                });
                if (sum != accounts::count * accounts::each) ++wrong;
                continue;
            }
            auto* const from = bank->balance + numbers.below(accounts::count);
            auto* const to = bank->balance + numbers.below(accounts::count);
            memory.atomically([&] {
                memory.store(from, memory.load(from) - 1);
                memory.store(to, memory.load(to) + 1);
            });
        }
    });
    EXPECT_EQ(wrong, 0u);
    std::uint64_t sum = 0;
    for (const auto& balance : bank->balance) sum += balance;
    EXPECT_EQ(sum, accounts::count * accounts::each);
}

TYPED_TEST(RivalThreads, ThreadsShareATreeAndUseItsFreedNodesAgain) {
    rival<TypeParam> on;
    auto* const root = on.template root<workload::rbtree_uncounted_root>();
    std::atomic<std::int64_t> balance{0};
    on.run([&](unsigned thread, auto memory) {
        const workload::rbtree<decltype(memory), workload::rbtree_uncounted_root> tree(memory, root);
        workload::random numbers(thread + 10);
        std::int64_t own = 0;
        for (unsigned i = 0; i < 4000; ++i) {
            const auto key = static_cast<std::int64_t>(numbers.below(200));
            bool inserted = false, removed = false;
            ASSERT_TRUE(memory.atomically([&] {
                inserted = tree.insert(key, key);
                removed = !inserted && tree.remove(key);
            }));
            own += inserted ? 1 : removed ? -1 : 0;
        }
        balance += own;
    });
    const workload::rbtree<workload::plain_access, workload::rbtree_uncounted_root> tree({}, root);
    const auto report = tree.check();
    EXPECT_STREQ(report.problem, nullptr);
    EXPECT_EQ(static_cast<std::int64_t>(report.count), balance.load());
}

TYPED_TEST(RivalThreads, AnExceptionRollsBackAndGoesOn) {
    rival<TypeParam> on;
    auto* const word = on.template root<std::uint64_t>();
    const auto memory = on.access(0);
    EXPECT_THROW(memory.atomically([&] {
        memory.store(word, 1);
        throw 5;
    }),
                 int);
    EXPECT_EQ(*word, 0u);
    EXPECT_TRUE(memory.atomically([&] { memory.store(word, memory.load(word) + 2); }));
    EXPECT_EQ(*word, 2u);
}

}  // namespace
}  // namespace holdfast::bench
