// What a replay stores, in which order, by how many threads, and what it asks of the medium for that.
#include <holdfast/base/test_failing_memory.hpp>
#include <holdfast/log/log_test_support.hpp>

#include <gtest/gtest.h>

#include <map>
#include <optional>
#include <random>
#include <set>

namespace holdfast {
namespace {

using namespace holdfast::test;

constexpr std::uint64_t heap_words = log_in_memory::heap_bytes / 8;
constexpr std::uint32_t many_segments = 80;  ///< enough records for two threads

/// What its payload stores, in the order in which it stands.
void store_naively(std::vector<std::byte>& bytes, const std::vector<std::uint64_t>& payload) {
    for (std::size_t at = 0; at < payload.size();) {
        const format::entry each = format::entry_of(payload[at]);
        for (std::uint64_t word = 0; word < each.words; ++word)
            for (unsigned byte = 0; byte < 8; ++byte)
                if ((each.mask >> byte & 1u) != 0)
                    bytes[each.offset + word * 8 + byte] =
                        static_cast<std::byte>(payload[at + 1 + word] >> (byte * 8) & 0xFF);
        at += 1 + each.words;
    }
}

void note_lines(std::set<std::uint64_t>& lines, const std::vector<std::uint64_t>& payload) {
    for (std::size_t at = 0; at < payload.size();) {
        const format::entry each = format::entry_of(payload[at]);
        for (std::uint64_t word = 0; word < each.words; ++word) lines.insert((each.offset + word * 8) / 64);
        at += 1 + each.words;
    }
}

/// A log full of random records, runs and masked words, dealt to segments at random, and what they store.
class random_log {
public:
    explicit random_log(std::uint64_t seed) : pool(many_segments), random_(seed) {
        std::map<std::uint32_t, std::uint64_t> ends;
        expected = pool.bytes();
        for (std::uint64_t sequence = 1; ends.size() < many_segments || sequence < 3000; ++sequence) {
            const auto segment = static_cast<std::uint32_t>(random_() % many_segments);
            const std::vector<std::uint64_t> payload = some_entries();
            std::uint64_t& end = ends.try_emplace(segment, 64).first->second;
            if (end + format::record_bytes(payload.size()) > pool.geometry().segment_bytes) continue;
            end = pool.put(segment, end, 11 + segment, sequence, payload);
            payloads_.push_back(payload);
            entries += count_entries(payload);
        }
        const std::vector<std::byte> with_log = pool.bytes();
        std::copy_n(with_log.begin(), pool.offset(0), expected.begin());
        for (const auto& payload : payloads_) {
            store_naively(expected, payload);
            note_lines(lines, payload);
        }
    }

    log_in_memory pool;
    std::vector<std::byte> expected;
    std::set<std::uint64_t> lines;
    std::uint64_t entries = 0;

private:
    static std::uint64_t count_entries(const std::vector<std::uint64_t>& payload) {
        std::uint64_t count = 0;
        for (std::size_t at = 0; at < payload.size(); at += 1 + format::entry_of(payload[at]).words) ++count;
        return count;
    }
    std::vector<std::uint64_t> some_entries() {
        std::vector<std::uint64_t> payload;
        for (std::uint64_t left = 1 + random_() % 3; left > 0; --left) {
            // Few places, so that words are stored again and again.
            const std::uint64_t word = random_() % 3 == 0 ? random_() % 600 : random_() % heap_words;
            if (random_() % 4 == 0) {
                const auto mask = static_cast<std::uint8_t>(1 + random_() % 254);
                payload.push_back(format::masked_tag(pool.offset(word), mask));
                payload.push_back(random_());
                continue;
            }
            const std::uint64_t most = random_() % 50 == 0 ? 200 : 3;
            const std::uint64_t words = std::min(1 + random_() % most, heap_words - word);
            payload.push_back(format::run_tag(pool.offset(word), words));
            for (std::uint64_t i = 0; i < words; ++i) payload.push_back(random_());
        }
        return payload;
    }

    std::mt19937_64 random_;
    std::vector<std::vector<std::uint64_t>> payloads_;
};

log_replay read(log_in_memory& pool) {
    return log_replay::read({pool.data(), pool.size()}, pool.geometry()).value();
}

TEST(HomeStores, SeveralRecordsToOneWordLeaveTheNewest) {
    log_in_memory pool;
    // The newest stands in the first segment, and begins before the others.
    pool.put(5, 64, 11, 1, run(pool.offset(2), {1, 1, 1}));
    pool.put(3, 64, 12, 2, run(pool.offset(3), {2}));
    auto at = pool.put(0, 64, 13, 3, run(pool.offset(1), {3, 3}));
    pool.put(0, at, 13, 4, {format::masked_tag(pool.offset(4), 0x01), 4});
    ASSERT_TRUE(pool.recover());
    const std::vector<std::uint64_t> words{pool.word(0), pool.word(1), pool.word(2), pool.word(3), pool.word(4)};
    EXPECT_EQ(words, (std::vector<std::uint64_t>{0, 3, 3, 2, 4}));
}

TEST(HomeStores, OneThreadAndTwoLeaveWhatOneRecordAfterAnotherLeaves) {
    for (std::uint64_t seed = 1; seed <= 6; ++seed) {
        random_log full(seed);
        for (const bool maps_around : {false, true}) {
            for (const unsigned threads : {1u, 2u}) {
                log_in_memory pool = full.pool;
                log_replay replay = read(pool);
                const storing how{.lines = {}, .maps_around = maps_around, .threads_at_most = threads};
                replay.apply({pool.data(), pool.size()}, how);
                ASSERT_EQ(replay.report().threads, threads) << "seed " << seed;
                ASSERT_TRUE(pool.bytes() == full.expected) << "seed " << seed << ", threads " << threads;
            }
        }
    }
}

TEST(HomeStores, EachTouchedLineIsWrittenBackOnceByOneThreadAndByTwo) {
    random_log full(7);
    for (const unsigned threads : {1u, 2u}) {
        log_replay replay = read(full.pool);
        const auto before = persist::thread_counters();
        replay.apply({full.pool.data(), full.pool.size()},
                     {.persists = true, .lines = {}, .threads_at_most = threads});
        const auto spent = persist::thread_counters() - before;
        EXPECT_EQ(spent.write_backs, full.lines.size());
        EXPECT_EQ(spent.fences, threads - 1) << "the caller's own follows";
    }
}

TEST(HomeStores, RecoveryInPlaceAsksSoMuchOfTheMedium) {
    log_in_memory pool;
    pool.put_truncation(1, 0);
    auto at = pool.put(0, 64, 11, 1, run(pool.offset(0), {1}));
    pool.put(0, at, 11, 2, run(pool.offset(7), {2, 2}));
    pool.put(1, 64, 12, 3, run(pool.offset(0), {3}));
    log_replay replay = read(pool);
    const auto before = persist::thread_counters();
    finish_in_place(replay, {pool.data(), pool.size()}, pool.geometry(), {.persists = true, .lines = {}});
    const auto spent = persist::thread_counters() - before;
    EXPECT_EQ(spent.write_backs, 13u)
        << "two records with headers, two lines of homes, the slot in force, two slots, two headers with a first line";
    EXPECT_EQ(spent.fences, 5u) << "records, homes, two slots, headers";
}

TEST(HomeStores, FewStoresAreNotWorthASecondThread) {
    log_in_memory pool;
    pool.put(0, 64, 11, 1, run(pool.offset(0), {1}));
    log_replay replay = read(pool);
    replay.apply({pool.data(), pool.size()}, {.lines = {}, .threads_at_most = 2});
    EXPECT_EQ(replay.report().threads, 1u);
}

TEST(HomeStores, TouchedLinesAreListedInMaximalRuns) {
    random_log full(8);
    log_replay replay = read(full.pool);
    const home_stores stored = replay.apply({full.pool.data(), full.pool.size()});
    std::vector<std::uint64_t> listed;
    std::uint64_t end_before = 0;
    stored.for_each_run([&](std::uint64_t first, std::uint64_t count) {
        EXPECT_GT(first, end_before) << "runs are maximal";
        end_before = first + count;
        for (std::uint64_t i = 0; i < count; ++i) listed.push_back(first + i);
    });
    EXPECT_EQ(listed, std::vector<std::uint64_t>(full.lines.begin(), full.lines.end()));
}

#ifndef HOLDFAST_KEEPS_OPERATOR_NEW
TEST(HomeStores, WithoutMemoryNothingIsStoredAndWithoutMemoryForAThreadOneStoresAll) {
    random_log full(9);
    std::vector<unsigned> threads;  // of the replays that had enough
    std::int64_t allocations = 0;
    for (bool was_needed = true; was_needed; ++allocations) {
        log_in_memory pool = full.pool;
        const auto before = pool.bytes();
        log_replay replay = read(pool);
        std::optional<failing_memory> scarce(allocations);
        bool stored = true;
        try {
            replay.apply({pool.data(), pool.size()}, {.lines = {}, .threads_at_most = 2});
        } catch (const std::bad_alloc&) {
            stored = false;
        }
        was_needed = failing_memory::was_needed();
        scarce.reset();
        ASSERT_TRUE(pool.bytes() == (stored ? full.expected : before)) << allocations;
        if (stored) threads.push_back(replay.report().threads);
    }
    EXPECT_GT(allocations, 3);
    EXPECT_EQ(threads, (std::vector<unsigned>{1, 2}));
}
#endif

}  // namespace
}  // namespace holdfast
