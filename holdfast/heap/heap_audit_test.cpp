// The audit finds what is planted, and damaged or hostile metadata never brings anything down.
#include <holdfast/heap/heap_test_support.hpp>

#include <algorithm>
#include <random>
#include <string>

namespace holdfast::heap_test {
namespace {

class AuditedPool : public testing::Test {
protected:
    void SetUp() override {
        for (int i = 0; i < 5; ++i) small_.push_back(tx_.allocate(100).address);
        for (int i = 0; i < 3; ++i) large_.push_back(tx_.allocate(5 * page).address);
        tx_.commit();
        owned_.assign(small_.begin(), small_.end());
        owned_.insert(owned_.end(), large_.begin(), large_.end());
    }
    void flip(std::byte* at, unsigned bit) { at[bit / 8] ^= std::byte{1} << bit % 8; }
    static bool mentions(const heap_audit& found, std::uint64_t offset) {
        return std::any_of(found.problems.begin(), found.problems.end(), [offset](const std::string& each) {
            return each.find(std::to_string(offset)) != std::string::npos;
        });
    }
    std::uint64_t offset_of(const void* address) const {
        return static_cast<std::uint64_t>(static_cast<const std::byte*>(address) - pool_.data());
    }

    heap_in_memory pool_{300};
    test_transaction tx_{pool_, storing::in_place};
    std::vector<std::byte*> small_;
    std::vector<std::byte*> large_;
    std::vector<const void*> owned_;
};

TEST_F(AuditedPool, IsCleanWithEveryOwnerAndCountsWhatIsThere) {
    std::shuffle(owned_.begin(), owned_.end(), std::minstd_rand(7));
    const heap_audit found = pool_.audit(owned_);
    EXPECT_TRUE(found.clean());
    EXPECT_TRUE(found.problems.empty());
    EXPECT_EQ(found.usage.allocated_blocks, 8u);
    EXPECT_EQ(found.usage.allocated_bytes, 5 * 112 + 15 * page);
    EXPECT_EQ(found.usage.slab_pages, 1u);
    EXPECT_EQ(found.usage.large_pages, 15u);
    EXPECT_EQ(found.usage.free_pages, pool_.page_count() - 16);
    EXPECT_EQ(found.usage.capacity_bytes, pool_.page_count() * page);
}

TEST_F(AuditedPool, ShowsALeakByItsOffset) {
    for (const void* forgotten : {static_cast<void*>(small_[2]), static_cast<void*>(large_[1])}) {
        std::vector<const void*> owned = owned_;
        owned.erase(std::find(owned.begin(), owned.end(), forgotten));
        const heap_audit found = pool_.audit(owned);
        EXPECT_EQ(found.leaked_blocks, 1u);
        EXPECT_TRUE(mentions(found, offset_of(forgotten)));
    }
    EXPECT_EQ(pool_.audit({}).leaked_blocks, 8u);
    EXPECT_TRUE(pool_.audit().clean()) << "owners are not looked at";
}

TEST_F(AuditedPool, ShowsABlockWithTwoOwners) {
    owned_.push_back(small_[3]);
    owned_.push_back(small_[3]);
    const heap_audit found = pool_.audit(owned_);
    EXPECT_EQ(found.double_owners, 1u);
    EXPECT_EQ(found.leaked_blocks + found.dangling_owners + found.bad_metadata, 0u);
    EXPECT_TRUE(mentions(found, offset_of(small_[3])));
}

TEST_F(AuditedPool, ShowsOwnersOfNothing) {
    const int elsewhere = 0;
    std::size_t planted = 0;
    for (const void* wrong : {static_cast<const void*>(small_[4] + 112), static_cast<const void*>(small_[0] + 8),
                              static_cast<const void*>(large_[2] + page), static_cast<const void*>(&elsewhere),
                              static_cast<const void*>(nullptr)}) {
        owned_.push_back(wrong);
        EXPECT_EQ(pool_.audit(owned_).dangling_owners, ++planted);
    }
}

TEST_F(AuditedPool, ShowsEverySingleFlippedBitOfADescriptor) {
    for (std::byte* head : {small_[0], large_[1], large_[1] + page, large_[2] + 20 * page}) {
        for (unsigned bit = 0; bit < 64; ++bit) {
            flip(pool_.descriptor_of(head), bit);
            const heap_audit found = pool_.audit(owned_);
            EXPECT_GE(found.bad_metadata, 1u);
            EXPECT_TRUE(mentions(found, offset_of(pool_.descriptor_of(head))));
            flip(pool_.descriptor_of(head), bit);
        }
    }
    EXPECT_TRUE(pool_.audit(owned_).clean());
}

TEST_F(AuditedPool, ShowsUpToThreeFlippedBitsOfABlockState) {
    std::byte* state = pool_.state_of(small_[1], 112);
    for (unsigned a = 0; a < 8; ++a)
        for (unsigned b = a; b < 8; ++b)
            for (unsigned c = b; c < 8; ++c) {
                const auto before = *state;
                *state ^= (std::byte{1} << a) | (std::byte{1} << b) | (std::byte{1} << c);
                EXPECT_EQ(pool_.audit(owned_).bad_metadata, 1u);
                EXPECT_TRUE(mentions(pool_.audit(owned_), offset_of(state)));
                *state = before;
            }
}

TEST_F(AuditedPool, IsNotOpenedWithADamagedHeader) {
    for (unsigned bit = 0; bit < 64 * 8; ++bit) {
        std::byte* header = pool_.data() + pool_.zone().offset;
        flip(header, bit);
        const auto opened = heap::open(pool_.data(), {&pool_.zone(), 1});
        ASSERT_FALSE(opened) << bit;
        EXPECT_EQ(opened.error().code, errc::corrupt);
        EXPECT_GE(opened.error().offset.value_or(0), pool_.zone().offset);
        EXPECT_FALSE(opened.error().expected.empty() || opened.error().found.empty());
        EXPECT_EQ(pool_.audit().bad_metadata, 1u);
        flip(header, bit);
    }
    const heap_zone moved{pool_.zone().offset, pool_.zone().bytes - page};
    EXPECT_EQ(heap::open(pool_.data(), {&moved, 1}).error().code, errc::corrupt);
}

TEST_F(AuditedPool, RefusesADamagedBlockAndGoesOnWithTheOthers) {
    *pool_.state_of(small_[1], 112) ^= std::byte{0x10};
    pool_.reopen();
    try {
        tx_.release(small_[1]);
        FAIL() << "nothing was thrown";
    } catch (const failure& thrown) {
        EXPECT_EQ(thrown.reason().code, errc::corrupt);
        EXPECT_EQ(thrown.reason().offset, offset_of(pool_.state_of(small_[1], 112)));
    }
    tx_.release(small_[2]);
    tx_.commit();
    for (int i = 0; i < 100; ++i) EXPECT_NE(tx_.allocate(100).address, small_[1]);
}

TEST_F(AuditedPool, HandsOutNoPageBehindADamagedDescriptor) {
    flip(pool_.descriptor_of(large_[0]), 3);
    pool_.reopen();
    EXPECT_EQ(code_of([&] { tx_.release(large_[0]); }), errc::corrupt);
    EXPECT_EQ(code_of([&] { tx_.release(large_[2]); }), errc::corrupt);
    EXPECT_NO_THROW(tx_.allocate(100)) << "the slab before it has room";
    EXPECT_EQ(code_of([&] { tx_.allocate(page); }), errc::corrupt);
}

TEST(HostileMetadata, NeverBringsDownOpenAllocateReleaseUsageOrAudit) {
    std::minstd_rand random(20'260);
    for (int round = 0; round < 300; ++round) {
        heap_in_memory pool(60);
        test_transaction tx(pool, round % 2 == 0 ? storing::at_commit : storing::in_place);
        std::vector<void*> blocks;
        for (int i = 0; i < 60; ++i) blocks.push_back(tx.allocate(1 + random() % (i % 10 == 0 ? 9000 : 900)).address);
        tx.commit();
        const auto header = heap_format::header_for(pool.zone().offset, pool.zone().bytes);
        auto* table = reinterpret_cast<std::uint64_t*>(pool.data() + header.table_offset);
        for (int i = 0; i < 6; ++i) {
            const std::uint64_t at = random() % header.page_count;
            // Descriptors with a valid check, of any kind and length: what an attacker would write.
            const std::uint8_t kind = random() % 2 == 0 ? heap_format::kind_slab : heap_format::kind_large;
            const auto shape = static_cast<std::uint8_t>(
                kind == heap_format::kind_large ? 0 : random() % (heap_format::class_count + 1));
            const auto pages = static_cast<std::uint32_t>(
                random() % 2 == 0 && shape < heap_format::class_count && kind == heap_format::kind_slab
                    ? heap_format::slab_classes[shape].pages
                    : random() % 70);
            table[at] = random() % 3 == 0 ? random() : heap_format::encode({kind, shape, pages}, at);
            pool.data()[header.data_offset + random() % (header.page_count * page)] = std::byte(random() % 256);
        }
        pool.reopen();
        (void)pool.audit({blocks.begin(), blocks.end()});
        (void)pool.heap().usage();
        for (int i = 0; i < 300; ++i) {
            try {
                if (i % 2 == 0) {
                    tx.release(blocks[random() % blocks.size()]);
                } else {
                    blocks[random() % blocks.size()] = tx.allocate(1 + random() % (i % 7 == 0 ? 30000 : 900)).address;
                }
            } catch (const failure& thrown) {
                const errc code = thrown.reason().code;
                EXPECT_TRUE(code == errc::corrupt || code == errc::misuse || code == errc::out_of_space);
            }
            if (i % 16 == 0) random() % 2 == 0 ? void(tx.commit()) : tx.roll_back();
        }
    }
}

class RepairedPool : public AuditedPool {
protected:
    heap_repair repair(const std::vector<const void*>* owned) {
        const heap_zone zone = pool_.zone();
        return heap::repair(pool_.data(), std::span(&zone, 1), owned);
    }
    std::vector<std::byte> bytes() { return {pool_.data() + pool_.zone().offset, pool_.data() + pool_.zone().bytes}; }
};

TEST_F(RepairedPool, IsLeftAloneWhenItIsSound) {
    const auto before = bytes();
    for (const std::vector<const void*>* owned : {static_cast<const std::vector<const void*>*>(nullptr),
                                                  static_cast<const std::vector<const void*>*>(&owned_)}) {
        const heap_repair done = repair(owned);
        EXPECT_TRUE(done.restored.empty() && done.freed.empty() && done.lost.empty());
    }
    EXPECT_EQ(bytes(), before);
}

TEST_F(RepairedPool, HasEveryDescriptorBackOfWhichOneBitWasFlipped) {
    const auto before = bytes();
    for (const std::byte* head : {small_[0], large_[1]})
        for (unsigned bit = 0; bit < 64; ++bit) {
            flip(pool_.descriptor_of(head), bit);
            EXPECT_EQ(repair(nullptr).restored.size(), 1u);
            EXPECT_EQ(bytes(), before) << bit;
        }
}

TEST_F(RepairedPool, AsksTheOwnersForStatesAndLostSlabs) {
    const auto before = bytes();
    flip(pool_.state_of(small_[2], 112), 4);
    EXPECT_TRUE(repair(&owned_).lost.empty());
    EXPECT_EQ(bytes(), before);
    std::memset(pool_.descriptor_of(small_[0]), 0, 8);
    EXPECT_EQ(repair(&owned_).restored.size(), 1u);
    EXPECT_EQ(bytes(), before);
    // What has no owner is freed, and nothing else.
    owned_.erase(std::find(owned_.begin(), owned_.end(), large_[0]));
    owned_.erase(std::find(owned_.begin(), owned_.end(), small_[0]));
    EXPECT_EQ(repair(&owned_).freed.size(), 2u);
    EXPECT_TRUE(pool_.audit(owned_).clean());
}

TEST_F(RepairedPool, NamesWhatCannotBeCertain) {
    std::memset(pool_.state_of(small_[0], 112), 0, 3);
    EXPECT_EQ(repair(&owned_).lost.size(), 1u) << "what zeroed the states may have gone on into the blocks";
    EXPECT_TRUE(pool_.audit(owned_).clean());
    std::memset(pool_.descriptor_of(large_[0]), 0, 8);
    EXPECT_EQ(repair(&owned_).lost.size(), 1u) << "nothing says how long the block was";
}

TEST_F(RepairedPool, TellsTheUsableSizeOfBlocks) {
    const heap_zone zone = pool_.zone();
    const auto bytes_at = [&](const std::byte* at) {
        return heap::block_bytes(pool_.data(), std::span(&zone, 1), at);
    };
    EXPECT_EQ(bytes_at(small_[3]), 112u);
    EXPECT_EQ(bytes_at(large_[2]), 5 * page);
    EXPECT_EQ(bytes_at(small_[3] + 16), 0u);
    EXPECT_EQ(bytes_at(large_[2] + page), 0u);
    EXPECT_EQ(bytes_at(small_[4] + 112), 0u) << "free";
    EXPECT_EQ(bytes_at(pool_.data()), 0u);
    EXPECT_EQ(bytes_at(pool_.data() - page), 0u);
}

}  // namespace
}  // namespace holdfast::heap_test
