// What an irrevocable transaction takes out of reach may be unmapped before it ends: no other transaction looks there.
// On threads that take turns, and with memory that is really unmapped.
#include <holdfast/stm/unmapped_test.hpp>

#include <sys/mman.h>

#include <atomic>
#include <thread>

namespace holdfast::stm {
namespace {

using namespace holdfast::stm::test;

template <class A>
class StmUnmapped : public ::testing::Test {};
struct unmapped_names {
    template <class A>
    static std::string GetName(int) {
        return std::string(A::name);
    }
};
using unmapped_algorithms = ::testing::Types<unmapped_values, unmapped_versions>;
TYPED_TEST_SUITE(StmUnmapped, unmapped_algorithms, unmapped_names);

TYPED_TEST(StmUnmapped, NobodyLooksAtWhatAnIrrevocableTransactionHasUnmapped) {
#if defined(HOLDFAST_FEW_PLACES)
    constexpr std::uint64_t usual = 200;
#else
    constexpr std::uint64_t usual = 4'000;
#endif
    const auto found = first_seed_unmapped<TypeParam>(at_full_length() ? 100'000 : usual);
    EXPECT_FALSE(found.has_value()) << "seed " << found.value_or(0);
}

struct page {
    word words[512];
};
page* map_page(word what) {
    void* const made = mmap(nullptr, sizeof(page), PROT_READ | PROT_WRITE, MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);
    if (made == MAP_FAILED) std::abort();
    auto* const mapped = static_cast<page*>(made);
    mapped->words[0] = mapped->words[7] = what;
    return mapped;
}

/// Real threads: a reader of the page that a word names, and one who replaces and unmaps it inside a transaction.
template <class A>
void replace_and_unmap(word pages) {
    alignas(64) static word current;
    current = reinterpret_cast<word>(map_page(1));
    std::atomic<bool> over{false};
    std::thread reader([&] {
        while (!over) {
            word one = 0, other = 0;
            atomically<A>([&] {
                A& open = A::of_this_thread();
                const auto* const at = reinterpret_cast<const page*>(open.load(&current));
                for (int i = 0; i < 50; ++i) one = open.load(&at->words[0]);
                other = open.load(&at->words[7]);
            });
            if (one != other) std::abort();
        }
    });
    A& own = A::of_this_thread();
    for (word each = 2; each < pages; ++each) {
        page* const next = map_page(each);
        for (;;) {
            own.begin({.serial = each % 2 == 0, .restart = [] {}});
            if (own.become_irrevocable()) break;
            own.roll_back();
        }
        auto* const last = reinterpret_cast<page*>(own.load(&current));
        own.store(&current, reinterpret_cast<word>(next), 0xFF);
        munmap(last, sizeof(page));
        ASSERT_TRUE(own.commit());
    }
    over = true;
    reader.join();
    munmap(reinterpret_cast<page*>(current), sizeof(page));
}

TEST(StmUnmappedPages, ValueReadersDoNotMeetThem) { replace_and_unmap<value>(5'000); }
TEST(StmUnmappedPages, VersionedReadersDoNotMeetThem) { replace_and_unmap<versioned>(5'000); }

/// What a thread frees waits for the transactions that were open before, and a thread's end for that.
TEST(StmUnmappedPages, AnIrrevocableTransactionMayWaitForAThreadThatHasFreed) {
    line data, block;
    let_another_thread_begin<value>();
    value& own = value::of_this_thread();
    own.begin({.restart = unexpected_restart});
    own.load(&data.words[1]);
    std::thread frees;
    std::atomic<bool> has_freed{false};
    frees = std::thread([&] {
        atomically<value>([&] {
            value::of_this_thread().store(&data.words[0], 1, 0xFF);
            value::of_this_thread().free_at_commit(&block, sizeof block, 64, [](void*, std::size_t, std::size_t) {});
        });
        has_freed = true;
    });
    while (!has_freed) std::this_thread::yield();
    ASSERT_TRUE(own.become_irrevocable());
    frees.join();
    EXPECT_TRUE(own.commit());
}

}  // namespace
}  // namespace holdfast::stm
