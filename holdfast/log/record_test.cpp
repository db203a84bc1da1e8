// Records, parts, line sets and segments: the small pieces.
#include <holdfast/log/line_set.hpp>
#include <holdfast/log/log_test_support.hpp>
#include <holdfast/log/parts.hpp>
#include <holdfast/log/segments.hpp>
#include <holdfast/log/truncation.hpp>

#include <map>
#include <random>
#include <set>

namespace holdfast {
namespace {

using namespace holdfast::test;

struct sealed {
    alignas(64) std::uint64_t words[16] = {};
    std::uint64_t payload_words;

    explicit sealed(std::uint64_t count, std::uint32_t seed = 9) : payload_words(count) {
        for (std::uint64_t i = 0; i < count; ++i) words[3 + i] = i * 0x0101010101010101u + 5;
        seal_record(words, count, 77, 2, 5, format::record_kind::redo, seed);
    }
    bool reads(std::uint32_t seed, record_view& view) const {
        const auto* begin = reinterpret_cast<const std::byte*>(words);
        return read_record(begin, begin + format::record_bytes(payload_words), seed, view);
    }
};

TEST(Record, IsReadBackAsItWasSealed) {
    for (std::uint64_t count = 0; count <= 13; ++count) {
        const sealed record(count);
        record_view view;
        ASSERT_TRUE(record.reads(9, view)) << count;
        EXPECT_EQ(view.header.sequence, 77u);
        EXPECT_EQ(view.header.payload_words, count);
        EXPECT_EQ(view.header.part, 2);
        EXPECT_EQ(view.header.parts, 5);
        EXPECT_EQ(view.header.kind, format::record_kind::redo);
        EXPECT_EQ(view.payload, record.words + 3);
    }
}

TEST(Record, NoFlippedBitIsBelieved) {
    for (const std::uint64_t count : {0u, 1u, 2u, 5u, 13u}) {
        sealed record(count);
        record_view view;
        for (std::uint64_t bit = 0; bit < (3 + count) * 64; ++bit) {
            record.words[bit / 64] ^= std::uint64_t{1} << bit % 64;
            ASSERT_FALSE(record.reads(9, view)) << "bit " << bit << " of a record with " << count << " words";
            record.words[bit / 64] ^= std::uint64_t{1} << bit % 64;
        }
        ASSERT_TRUE(record.reads(9, view));
    }
}

TEST(Record, AllZeroNeverVerifies) {
    const std::uint64_t zeros[64] = {};
    const auto* begin = reinterpret_cast<const std::byte*>(zeros);
    record_view view;
    for (std::uint64_t salt = 0; salt < 1000; ++salt)
        ASSERT_FALSE(read_record(begin, begin + sizeof zeros, seed_of_salt(salt), view));
}

TEST(Record, AnotherSaltOrTooLittleRoomIsRefused) {
    const sealed record(5);
    record_view view;
    for (std::uint32_t seed = 0; seed < 200; ++seed) ASSERT_EQ(record.reads(seed, view), seed == 9);
    const auto* begin = reinterpret_cast<const std::byte*>(record.words);
    for (std::uint64_t room = 0; room < 64; room += 8) ASSERT_FALSE(read_record(begin, begin + room, 9, view)) << room;
}

TEST(Record, ATornTruncationSlotLeavesTheOther) {
    alignas(8) std::byte header[4096] = {};
    EXPECT_FALSE(read_truncation_point(header)) << "all zero is no point";
    const auto put = [&](unsigned slot, std::uint64_t sequence) {
        const auto value = make_truncation_slot(sequence);
        std::memcpy(header + format::truncation_slot_offset[slot], &value, sizeof value);
    };
    put(0, 5);
    put(1, 9);
    EXPECT_EQ(read_truncation_point(header)->sequence, 9u);
    EXPECT_EQ(read_truncation_point(header)->slot, 1u);
    header[512] ^= std::byte{1};
    EXPECT_EQ(read_truncation_point(header)->sequence, 5u);
    header[0] ^= std::byte{1};
    EXPECT_FALSE(read_truncation_point(header));
}

/// What storing a payload's entries in order leaves: byte address to value.
void store_all(std::map<std::uint64_t, std::uint8_t>& memory, const std::uint64_t* payload, std::uint64_t words) {
    for (std::uint64_t at = 0; at < words;) {
        const auto each = format::entry_of(payload[at]);
        ASSERT_GT(each.words, 0u);
        ASSERT_LE(at + 1 + each.words, words);
        for (std::uint64_t i = 0; i < each.words * 8; ++i)
            if ((each.mask >> i % 8 & 1) != 0)
                memory[each.offset + i] = static_cast<std::uint8_t>(payload[at + 1 + i / 8] >> 8 * (i % 8));
        at += 1 + each.words;
    }
}

#ifdef HOLDFAST_FEW_PLACES
constexpr unsigned payloads = 10;
#else
constexpr unsigned payloads = 60;
#endif

TEST(Parts, JoinedAgainStoreTheSameBytesAtEveryCapacity) {
    for (unsigned seed = 0; seed < payloads; ++seed) {
        std::mt19937_64 random(seed);
        std::vector<std::uint64_t> payload;
        while (payload.size() < 120) {
            const std::uint64_t offset = random() % 64 * 8;
            const std::uint64_t words = random() % 3 == 0 ? 1 + random() % 40 : 1;
            const bool masked = words == 1 && random() % 2 == 0;
            payload.push_back(masked ? format::masked_tag(offset, static_cast<std::uint8_t>(1 + random() % 255))
                                     : format::run_tag(offset, words));
            for (std::uint64_t i = 0; i < words; ++i) payload.push_back(random());
        }
        std::map<std::uint64_t, std::uint8_t> whole;
        store_all(whole, payload.data(), payload.size());
        for (std::uint64_t capacity = 2; capacity <= payload.size() + 2; ++capacity) {
            std::map<std::uint64_t, std::uint8_t> joined;
            std::vector<std::uint64_t> part(capacity);
            std::uint64_t parts = 0;
            for (payload_cursor cursor(payload.data(), payload.size()); !cursor.done(); ++parts) {
                const std::uint64_t used = cursor.fill(part.data(), capacity);
                ASSERT_GT(used, 0u);
                ASSERT_LE(used, capacity);
                store_all(joined, part.data(), used);
            }
            ASSERT_EQ(joined, whole) << "seed " << seed << ", capacity " << capacity;
            ASSERT_EQ(payload_cursor::parts_needed(payload.data(), payload.size(), capacity), parts);
        }
    }
}

TEST(LineSet, SaysWhatIsNewAndListsRunsInOrder) {
    const std::uint64_t lines = 200000;
    line_set set(lines * 64);
    for (unsigned seed = 0; seed < 5; ++seed) {
        std::mt19937_64 random(seed);
        std::set<std::uint64_t> model;
        for (int i = 0; i < 3000; ++i) {
            // Also around the borders of words and pages.
            const std::uint64_t line = i % 3 == 0 ? 32768 * (random() % 5) + random() % 8 : random() % lines;
            ASSERT_EQ(set.insert(line), model.insert(line).second);
        }
        ASSERT_EQ(set.insert(lines - 1), model.insert(lines - 1).second);
        std::vector<std::uint64_t> listed;
        std::uint64_t end_before = 0;
        bool any = false;
        set.for_each_run([&](std::uint64_t first, std::uint64_t count) {
            ASSERT_GT(count, 0u);
            if (any) {
                ASSERT_GT(first, end_before) << "runs are maximal";
            }
            any = true;
            end_before = first + count;
            for (std::uint64_t i = 0; i < count; ++i) listed.push_back(first + i);
        });
        ASSERT_EQ(listed, std::vector<std::uint64_t>(model.begin(), model.end()));
        set.clear();
        set.for_each_run([](std::uint64_t, std::uint64_t) { FAIL() << "cleared"; });
    }
}

TEST(LineSet, IsTakenInPartsInOrderAndGrowsWithItsLines) {
    line_set set(64);
    for (unsigned seed = 0; seed < 5; ++seed) {
        std::mt19937_64 random(seed);
        std::set<std::uint64_t> model;
        for (int i = 0; i < 2000; ++i) {
            const std::uint64_t line = i % 3 == 0 ? 32768 * (random() % 5) + random() % 8 : random() % 200000;
            ASSERT_EQ(set.insert(line), model.insert(line).second) << "seed " << seed;
        }
        std::vector<std::uint64_t> taken;
        while (set.count() != 0) {
            ASSERT_EQ(set.count(), model.size() - taken.size());
            const std::size_t before = taken.size();
            const std::uint64_t most = random() % 100 + 1;
            set.take(most, [&](std::uint64_t first, std::uint64_t count) {
                for (std::uint64_t i = 0; i < count; ++i) taken.push_back(first + i);
            });
            ASSERT_GE(taken.size() - before, std::min<std::uint64_t>(most, model.size() - before));
            ASSERT_LT(taken.size() - before, most + 64);
        }
        ASSERT_EQ(taken, std::vector<std::uint64_t>(model.begin(), model.end())) << "seed " << seed;
    }
}

TEST(Segments, AreTakenOnceAndFreedWhenAllOfThemIsTruncated) {
    const auto geometry = log_geometry::divide(format::log_offset, 64 << 10);
    segment_table table(geometry, 1);
    ASSERT_EQ(table.count(), 15u);
    for (std::uint32_t i = 0; i < 15; ++i) ASSERT_EQ(table.take(), i) << "the first lap goes upwards";
    EXPECT_EQ(table.take(), no_segment);
    for (std::uint32_t i = 0; i < 15; ++i) {
        table[i].used_bytes = 128;
        table[i].last_sequence = i + 1;
        table[i].full = i != 3;
    }
    table.free_truncated(5);
    EXPECT_EQ(table.free_count(), 4u) << "1 to 5, but not the one that is still being filled";
    table.free_truncated(15);
    EXPECT_EQ(table.free_count(), 14u);
    std::set<std::uint64_t> salts;
    for (int i = 0; i < 10000; ++i) salts.insert(table.draw_salt());
    EXPECT_EQ(salts.size(), 10000u);
    EXPECT_FALSE(salts.contains(0));
}

TEST(Segments, AGeometryThatCannotBeIsSaidToBe) {
    const std::uint64_t pool = 1 << 20;
    const auto good = log_geometry::divide(format::log_offset, 64 << 10);
    EXPECT_TRUE(good.valid(pool));
    const auto valid = [&](std::uint64_t offset, std::uint64_t bytes, std::uint64_t segment) {
        return log_geometry{offset, bytes, segment}.valid(pool);
    };
    EXPECT_FALSE(valid(good.offset, good.bytes, 0));
    EXPECT_FALSE(valid(good.offset, good.bytes, 64));
    EXPECT_FALSE(valid(good.offset, good.bytes, 4100));
    EXPECT_FALSE(valid(good.offset, good.bytes, std::uint64_t{1} << 63)) << "twice that is nothing in 64 bits";
    EXPECT_FALSE(valid(good.offset, 4096 + 4096, 4096)) << "one segment is no log";
    EXPECT_FALSE(valid(good.offset, 0, 4096));
    EXPECT_FALSE(valid(good.offset, pool, 4096));
    EXPECT_FALSE(valid(pool + 4096, good.bytes, 4096));
    EXPECT_FALSE(valid(good.offset, ~std::uint64_t{4095}, 4096));
}

}  // namespace
}  // namespace holdfast
