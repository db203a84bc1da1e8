// Laws of the allocator, one by one.
#include <holdfast/heap/heap_test_support.hpp>

#include <algorithm>
#include <cstdint>

namespace holdfast::heap_test {
namespace {

class HeapLaw : public testing::TestWithParam<storing> {
protected:
    storing how() const { return GetParam(); }
};
INSTANTIATE_TEST_SUITE_P(BothEngines, HeapLaw, testing::Values(storing::at_commit, storing::in_place),
                         [](const auto& each) {
                             return std::string(each.param == storing::at_commit ? "at_commit" : "in_place");
                         });

std::uint64_t number_of(const void* address) { return reinterpret_cast<std::uintptr_t>(address); }

TEST_P(HeapLaw, EverySizeUpToTwoPagesGetsRoomAtItsAlignment) {
    heap_in_memory pool(6000);
    test_transaction tx(pool, how());
    std::vector<const void*> owned;
    for (std::size_t bytes = 1; bytes <= 2 * page; bytes += bytes < 600 ? 1 : 37) {
        for (std::size_t alignment = 1; alignment <= 64; alignment *= 2) {
            const heap_block block = tx.allocate(bytes, alignment);
            ASSERT_GE(block.bytes, bytes);
            ASSERT_EQ(number_of(block.address) % std::max<std::size_t>(alignment, 16), 0u) << bytes;
            if (block.bytes % 64 == 0) { ASSERT_EQ(number_of(block.address) % 64, 0u); }
            if (bytes >= page) { ASSERT_EQ(number_of(block.address) % page, 0u); }
            std::memset(block.address, 0x77, block.bytes);
            owned.push_back(block.address);
        }
        tx.commit();
    }
    EXPECT_TRUE(pool.audit(owned).clean());
    EXPECT_EQ(pool.heap().usage().allocated_blocks, owned.size());
}

TEST_P(HeapLaw, ABlockWastesLessThanSixteenBytesAFifthOrAPage) {
    heap_in_memory pool(2000);
    test_transaction tx(pool, how());
    for (std::size_t bytes = 1; bytes <= 4 * page; ++bytes) {
        const std::size_t got = tx.allocate(bytes).bytes;
        if (bytes <= 128) {
            ASSERT_LT(got - bytes, 16u);
        } else if (bytes <= heap_format::small_bytes_max) {
            ASSERT_LT((got - bytes) * 5, got);
        } else {
            ASSERT_LT(got - bytes, page);
        }
        tx.roll_back();
    }
}

TEST_P(HeapLaw, ARolledBackTransactionLeavesNothing) {
    heap_in_memory pool(200);
    test_transaction tx(pool, how());
    std::vector<std::byte> before(pool.data() + pool.zone().offset, pool.data() + 3 * page);
    for (const std::size_t bytes : {16u, 64u, 500u, 2000u, 5000u, 40000u}) tx.allocate(bytes);
    tx.roll_back();
    EXPECT_EQ(std::memcmp(before.data(), pool.data() + pool.zone().offset, before.size()), 0);
    EXPECT_TRUE(pool.audit({}).clean());
    EXPECT_EQ(tx.allocate(pool.page_count() * page).bytes, pool.page_count() * page);
}

TEST_P(HeapLaw, ARolledBackReleaseLeavesTheBlockAllocated) {
    heap_in_memory pool(200);
    test_transaction tx(pool, how());
    const heap_block small = tx.allocate(100);
    const heap_block large = tx.allocate(50'000);
    tx.commit();
    tx.release(small.address);
    tx.release(large.address);
    tx.roll_back();
    const void* owned[] = {small.address, large.address};
    EXPECT_TRUE(pool.audit(owned).clean());
    tx.release(small.address);
    tx.release(large.address);
    tx.commit();
    EXPECT_TRUE(pool.audit({}).clean());
}

TEST_P(HeapLaw, AFreedBlockIsNotReusedBeforeCommit) {
    heap_in_memory pool(5);
    test_transaction owner(pool, how());
    std::vector<std::byte*> blocks;
    try {
        for (;;) blocks.push_back(owner.allocate(448).address);
    } catch (const failure& full) {
        EXPECT_EQ(full.reason().code, errc::out_of_space);
    }
    owner.commit();
    owner.release(blocks[3]);
    test_transaction other(pool, how());
    EXPECT_EQ(code_of([&] { other.allocate(448); }), errc::out_of_space);
    EXPECT_EQ(code_of([&] { owner.allocate(448); }), errc::out_of_space);
    owner.commit();
    EXPECT_EQ(other.allocate(448).address, blocks[3]);
}

TEST_P(HeapLaw, ABlockMayBeAllocatedAndReleasedInOneTransaction) {
    heap_in_memory pool(200);
    test_transaction tx(pool, how());
    for (const bool commit : {true, false, true}) {
        tx.release(tx.allocate(64).address);
        tx.release(tx.allocate(3 * page).address);
        commit ? void(tx.commit()) : tx.roll_back();
        EXPECT_TRUE(pool.audit({}).clean());
    }
    EXPECT_EQ(tx.allocate(pool.page_count() * page).bytes, pool.page_count() * page);
}

TEST_P(HeapLaw, ReleasingWhatIsNotAnAllocatedBlockIsMisuseAndChangesNothing) {
    heap_in_memory pool(200);
    test_transaction tx(pool, how());
    std::byte* small = tx.allocate(100).address;
    std::byte* large = tx.allocate(5 * page).address;
    std::byte* gone = tx.allocate(100).address;
    tx.commit();
    tx.release(gone);
    tx.commit();
    int elsewhere = 0;
    for (const bool reopened : {false, true}) {
        if (reopened) pool.reopen();
        for (void* wrong : {static_cast<void*>(small + 1), static_cast<void*>(small + 16), static_cast<void*>(gone),
                            static_cast<void*>(large + page), static_cast<void*>(large + 8),
                            static_cast<void*>(pool.data() + pool.zone().offset + 150 * page),
                            static_cast<void*>(pool.data()), static_cast<void*>(&elsewhere),
                            static_cast<void*>(nullptr)})
            EXPECT_EQ(code_of([&] { tx.release(wrong); }), errc::misuse);
        EXPECT_EQ(tx.writer.store_count(), 0u);
        tx.roll_back();
    }
    for (std::byte* twice : {small, large}) {
        tx.release(twice);
        EXPECT_EQ(code_of([&] { tx.release(twice); }), errc::misuse);
    }
}

TEST_P(HeapLaw, ABadSizeOrAlignmentIsAnInvalidArgument) {
    heap_in_memory pool(20);
    test_transaction tx(pool, how());
    EXPECT_EQ(code_of([&] { tx.allocate(0); }), errc::invalid_argument);
    EXPECT_EQ(code_of([&] { tx.allocate(8, 0); }), errc::invalid_argument);
    EXPECT_EQ(code_of([&] { tx.allocate(8, 24); }), errc::invalid_argument);
    EXPECT_EQ(code_of([&] { tx.allocate(8, 128); }), errc::invalid_argument);
}

TEST_P(HeapLaw, SizesBeyondTheHeapAndBeyondAllNumbersAreOutOfSpace) {
    heap_in_memory pool(20);
    test_transaction tx(pool, how());
    for (const std::size_t bytes : {21 * page, std::size_t{1} << 43, std::size_t{1} << 60, ~std::size_t{0}})
        EXPECT_EQ(code_of([&] { tx.allocate(bytes); }), errc::out_of_space);
    EXPECT_FALSE(tx.session->used());
}

TEST_P(HeapLaw, OutOfSpaceChangesNothing) {
    heap_in_memory pool(40);
    test_transaction tx(pool, how());
    std::vector<const void*> owned;
    for (int i = 0; i < 30; ++i) owned.push_back(tx.allocate(1000).address);
    tx.commit();
    std::vector<std::byte> before(pool.data(), pool.data() + pool.zone().offset + pool.zone().bytes);
    EXPECT_EQ(code_of([&] { tx.allocate(40 * page); }), errc::out_of_space);
    EXPECT_EQ(tx.writer.store_count(), 0u);
    tx.commit();
    EXPECT_EQ(std::memcmp(before.data(), pool.data(), before.size()), 0);
    EXPECT_TRUE(pool.audit(owned).clean());
}

TEST_P(HeapLaw, TheSmallestZoneHoldsOnePage) {
    heap_in_memory pool(heap::smallest_zone_bytes() / page);
    test_transaction tx(pool, how());
    ASSERT_EQ(pool.page_count(), 1u);
    std::byte* only = tx.allocate(page).address;
    tx.commit();
    EXPECT_EQ(code_of([&] { tx.allocate(1); }), errc::out_of_space);
    tx.release(only);
    tx.commit();
    for (int i = 0; i < 63; ++i) tx.allocate(64);
    EXPECT_EQ(code_of([&] { tx.allocate(64); }), errc::out_of_space);
}

TEST_P(HeapLaw, OneBlockCanTakeTheWholeZoneAndSurvivesReopening) {
    heap_in_memory pool(600);
    test_transaction tx(pool, how());
    const heap_block all = tx.allocate(pool.page_count() * page);
    EXPECT_TRUE(all.clean);
    tx.commit();
    pool.reopen();
    EXPECT_EQ(code_of([&] { tx.allocate(1); }), errc::out_of_space);
    tx.release(all.address);
    tx.commit();
    EXPECT_EQ(tx.allocate(pool.page_count() * page).address, all.address);
}

TEST_P(HeapLaw, PagesOfASizeClassServeAnyOtherOnceFree) {
    heap_in_memory pool(300);
    test_transaction tx(pool, how());
    for (const std::size_t bytes : {16u, 2000u, 64u, 1000u, 3584u, 320u}) {
        std::vector<std::byte*> blocks;
        try {
            for (;;) blocks.push_back(tx.allocate(bytes).address);
        } catch (const failure& full) {
            ASSERT_EQ(full.reason().code, errc::out_of_space);
        }
        EXPECT_GE(blocks.size() * bytes * 10, pool.page_count() * page * 8) << bytes;
        tx.commit();
        for (std::byte* each : blocks) tx.release(each);
        tx.commit();
    }
    std::byte* all = tx.allocate(pool.page_count() * page).address;
    tx.roll_back();
    EXPECT_TRUE(pool.audit({}).clean());
    EXPECT_EQ(tx.allocate(pool.page_count() * page).address, all);
    tx.commit();
    const void* owned[] = {all};
    EXPECT_TRUE(pool.audit(owned).clean());
}

TEST_P(HeapLaw, AnotherSessionGetsWhatAnIdleArenaHolds) {
    heap_in_memory pool(heap::smallest_zone_bytes() / page);
    test_transaction first(pool, how());
    test_transaction second(pool, how());
    std::byte* small = first.allocate(64).address;
    EXPECT_EQ(code_of([&] { second.allocate(64); }), errc::out_of_space);
    first.commit();
    EXPECT_NO_THROW(second.allocate(64));
    second.roll_back();
    first.release(small);
    first.commit();
    EXPECT_NO_THROW(second.allocate(page));
}

TEST_P(HeapLaw, ALargeBlockIsCleanUntilItsPagesWereFreedAndAgainAfterTruncation) {
    heap_in_memory pool(100);
    test_transaction tx(pool, how());
    const std::size_t all = pool.page_count() * page;
    EXPECT_FALSE(tx.allocate(64).clean);
    tx.roll_back();
    const heap_block fresh = tx.allocate(all);
    EXPECT_TRUE(fresh.clean);
    tx.roll_back();
    tx.allocate(all);
    tx.commit();
    tx.release(fresh.address);
    const std::uint64_t freed_at = tx.commit();
    EXPECT_FALSE(tx.allocate(all).clean);
    tx.roll_back();
    pool.heap().truncated_to(freed_at - 1);
    EXPECT_FALSE(tx.allocate(all).clean);
    tx.roll_back();
    pool.heap().truncated_to(freed_at);
    EXPECT_TRUE(tx.allocate(all).clean);
}

TEST_P(HeapLaw, PagesThatTheLogOfALifeBeforeNamesAreCleanOnlyAfterTruncation) {
    heap_in_memory pool(100);
    const auto first = static_cast<std::uint32_t>(101 - pool.page_count());
    constexpr std::size_t named = 10;
    holdfast::named_pages names{7, {}};
    for (std::uint32_t i = 0; i < named; ++i) names.pages.push_back(first + 20 + i);
    pool.heap().begin(names);
    test_transaction tx(pool, how());
    const std::size_t behind = pool.page_count() - 20 - named;
    EXPECT_TRUE(tx.allocate(behind * page).clean);
    EXPECT_TRUE(tx.allocate(20 * page).clean);
    EXPECT_FALSE(tx.allocate(named * page).clean);
    tx.roll_back();
    EXPECT_FALSE(tx.allocate(pool.page_count() * page).clean) << "a block over both kinds";
    tx.roll_back();
    pool.heap().truncated_to(6);
    EXPECT_FALSE(tx.allocate(pool.page_count() * page).clean);
    tx.roll_back();
    pool.heap().truncated_to(7);
    EXPECT_TRUE(tx.allocate(pool.page_count() * page).clean);
}

TEST_P(HeapLaw, NothingIsCleanBeforeItIsSaidWhatTheLogNames) {
    heap_in_memory pool(100);
    const auto opened = heap::open(pool.data(), {&pool.zone(), 1});
    ASSERT_TRUE(opened);
    test_writer writer(how());
    heap::session session;
    EXPECT_FALSE(session.allocate(**opened, 20 * page, 16, writer).clean);
    session.rolled_back();
}

TEST_P(HeapLaw, ALargeBlockPrefersACleanRun) {
    heap_in_memory pool(400);
    test_transaction tx(pool, how());
    std::byte* dirty = tx.allocate(20 * page).address;
    tx.allocate(page);
    tx.commit();
    tx.release(dirty);
    tx.commit();
    EXPECT_TRUE(tx.allocate(20 * page).clean);
    EXPECT_FALSE(tx.allocate(4 * page).clean) << "a short one takes the best fit";
}

TEST_P(HeapLaw, AFailedWriterDoomsTheTransactionAndRollingBackRepairsEverything) {
    for (std::size_t stores = 0; stores < 12; ++stores) {
        heap_in_memory pool(60);
        test_transaction tx(pool, how());
        std::vector<std::byte*> blocks;
        for (int i = 0; i < 40 * 63; ++i) blocks.push_back(tx.allocate(64).address);
        tx.commit();
        for (std::byte* each : blocks) tx.release(each);
        tx.commit();
        tx.writer.stores_left = stores;
        bool threw = false;
        try {
            tx.allocate(20);
            tx.allocate(pool.page_count() / 2 * page);
        } catch (const failure& thrown) {
            threw = true;
            EXPECT_EQ(thrown.reason().code, errc::transaction_too_large);
            EXPECT_EQ(code_of([&] { tx.allocate(64); }), errc::aborted);
        }
        EXPECT_TRUE(threw);
        tx.roll_back();
        EXPECT_TRUE(pool.audit({}).clean());
        tx.writer.stores_left = ~std::size_t{0};
        EXPECT_NO_THROW(tx.allocate(pool.page_count() * page)) << stores;
    }
}

TEST_P(HeapLaw, OneTransactionCannotUseTwoHeaps) {
    heap_in_memory pool(60);
    heap_in_memory other(60);
    test_transaction tx(pool, how());
    std::byte* block = tx.allocate(64).address;
    EXPECT_EQ(code_of([&] { tx.session->allocate(other.heap(), 64, 16, tx.writer); }), errc::misuse);
    tx.commit();
    EXPECT_EQ(code_of([&] { tx.session->release(other.heap(), block, tx.writer); }), errc::misuse);
}

TEST_P(HeapLaw, ASmallAllocationStoresOneByteAndAReleaseToo) {
    heap_in_memory pool(60);
    test_transaction tx(pool, how());
    std::byte* first = tx.allocate(64).address;
    tx.commit();
    std::byte* second = tx.allocate(64).address;
    EXPECT_EQ(tx.writer.touched(), std::set<const std::byte*>{pool.state_of(second, 64)});
    tx.commit();
    tx.release(first);
    EXPECT_EQ(tx.writer.touched(), std::set<const std::byte*>{pool.state_of(first, 64)});
}

TEST_P(HeapLaw, AHeapOfSeveralZonesUsesThemAll) {
    const heap_zone zones[] = {{page, 20 * page}, {30 * page, 50 * page}};
    std::vector<std::byte> memory(82 * page);
    std::byte* pool = memory.data() + (page - number_of(memory.data()) % page) % page;
    for (const heap_zone& each : zones) heap::format_zone(pool, each);
    auto opened = heap::open(pool, zones);
    ASSERT_TRUE(opened);
    test_writer writer(how());
    heap::session session;
    const void* owned[] = {session.allocate(**opened, 48 * page, 16, writer).address,
                           session.allocate(**opened, 18 * page, 16, writer).address};
    EXPECT_EQ(code_of([&] { session.allocate(**opened, 1, 1, writer); }), errc::out_of_space);
    writer.commit();
    session.committed(1);
    EXPECT_TRUE(heap::audit(pool, zones, owned, true).clean());
    const heap_zone overlapping[] = {{page, 20 * page}, {20 * page, 50 * page}};
    EXPECT_EQ(heap::open(pool, overlapping).error().code, errc::invalid_argument);
}

TEST_P(HeapLaw, AZoneAddedToAFullHeapServesWhatDidNotFit) {
    const heap_zone zones[] = {{page, 20 * page}, {21 * page, 5000 * page}};
    std::vector<std::byte> memory(5022 * page);
    std::byte* pool = memory.data() + (page - number_of(memory.data()) % page) % page;
    for (const heap_zone& each : zones) heap::format_zone(pool, each);
    auto opened = heap::open(pool, {zones, 1}, 5021 * page);
    ASSERT_TRUE(opened);
    test_writer writer(how());
    heap::session session;
    std::vector<const void*> owned{session.allocate(**opened, 18 * page, 16, writer).address};
    EXPECT_EQ(code_of([&] { session.allocate(**opened, 1, 1, writer); }), errc::out_of_space);
    const heap_zone unformatted{21 * page + page, 40 * page};
    EXPECT_EQ((*opened)->add_zone(unformatted).error().code, errc::corrupt);
    EXPECT_EQ((*opened)->add_zone(zones[0]).error().code, errc::invalid_argument);
    EXPECT_EQ((*opened)->usage().capacity_bytes, 18 * page) << "a zone that is refused is not there";
    ASSERT_TRUE((*opened)->add_zone(zones[1])) << "also to a session that is open";
    owned.push_back(session.allocate(**opened, 1, 1, writer).address);
    owned.push_back(session.allocate(**opened, 4900 * page, 16, writer).address);
    writer.commit();
    session.committed(1);
    EXPECT_TRUE(heap::audit(pool, zones, owned, true).clean());
    EXPECT_EQ((*opened)->usage().allocated_blocks, 3u);
    session.release(**opened, const_cast<void*>(owned[2]), writer);
    session.release(**opened, const_cast<void*>(owned[1]), writer);
    writer.commit();
    session.committed(2);
    EXPECT_EQ((*opened)->usage().allocated_blocks, 1u);
}

}  // namespace
}  // namespace holdfast::heap_test
