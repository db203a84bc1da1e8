#include <holdfast/engine/sites.hpp>
#include <holdfast/log/sites.hpp>
#include <holdfast/persist/record_way.hpp>
#include <holdfast/persist/seam.hpp>
#include <holdfast/persist/site.hpp>
#include <holdfast/persist/sites.hpp>

#include <gtest/gtest.h>

#include <algorithm>
#include <array>
#include <chrono>
#include <cstdint>
#include <set>
#include <string_view>
#include <thread>
#include <vector>

namespace holdfast::persist {
namespace {

constexpr line_path plain{true, 0};
constexpr line_path caches_inside{false, 0};

struct alignas(line_bytes) lines {
    std::array<std::uint64_t, 64> words{};
};

/// What `body` asked of the medium.
template <class Body>
counters cost_of(Body body) {
    const counters before = thread_counters();
    body();
    return thread_counters() - before;
}

template <class Body>
double ns_of(Body body) {
    const auto begin = std::chrono::steady_clock::now();
    body();
    return std::chrono::duration<double, std::nano>(std::chrono::steady_clock::now() - begin).count();
}

TEST(Seam, StoringAndCopyingAskNothingOfTheMedium) {
    lines home;
    const auto cost = cost_of([&] {
        store_word(&home.words[0], 1, 0xFF, site::undo_home);
        store_word(&home.words[1], 1, 0x3C, site::undo_home);
        const std::uint64_t value = 7;
        copy(&home.words[2], &value, 8, site::undo_home);
    });
    EXPECT_EQ(cost, counters{});
    EXPECT_EQ(home.words[0], 1u);
    EXPECT_EQ(home.words[2], 7u);
}

TEST(Seam, AMaskedStoreWritesItsBytesAndNeverTheirNeighbours) {
    for (unsigned mask = 0; mask < 256; ++mask) {
        lines home;
        home.words = {0x1111111111111111u, 0x2222222222222222u, 0x3333333333333333u};
        store_word(&home.words[1], 0xA8A7A6A5A4A3A2A1u, static_cast<std::uint8_t>(mask), site::redo_home);
        std::uint64_t expected = 0;
        for (unsigned byte = 0; byte < 8; ++byte) {
            const std::uint64_t chosen = (mask >> byte & 1u) != 0 ? 0xA1u + byte : 0x22u;
            expected |= chosen << (8 * byte);
        }
        ASSERT_EQ(home.words[1], expected) << "mask " << mask;
        ASSERT_EQ(home.words[0], 0x1111111111111111u) << "mask " << mask;
        ASSERT_EQ(home.words[2], 0x3333333333333333u) << "mask " << mask;
    }
}

TEST(Seam, TwoThreadsMayStoreToNeighbouringBytesOfOneWord) {
    lines home;
    constexpr int rounds = 20000;
    // Each thread must find its own last value: a wider store by the other would undo it.
    const auto work = [&](std::uint8_t mask, std::uint64_t bits) {
        for (std::uint64_t i = 0; i < rounds; ++i) {
            const std::uint64_t value = (i & 1) != 0 ? bits : 0;
            store_word(&home.words[0], value, mask, site::redo_home);
            if ((__atomic_load_n(&home.words[0], __ATOMIC_RELAXED) & bits) != value) return false;
        }
        return true;
    };
    bool other_kept = false;
    std::thread other([&] { other_kept = work(0x0F, 0x00000000FFFFFFFFu); });
    const bool kept = work(0x70, 0x00FFFFFF00000000u);
    other.join();
    EXPECT_TRUE(kept);
    EXPECT_TRUE(other_kept);
}

TEST(Seam, WriteBackCountsEveryLineThatHoldsAByteOfTheRange) {
    lines home;
    auto* begin = reinterpret_cast<std::byte*>(home.words.data());
    struct {
        std::size_t offset, size;
        std::uint64_t lines;
    } const cases[] = {{0, 0, 0},  {0, 1, 1},   {0, 64, 1},  {63, 1, 1},   {63, 2, 2},  {56, 8, 1},
                       {60, 8, 2}, {0, 65, 2},  {1, 64, 2},  {32, 128, 3}, {64, 128, 2}, {0, 512, 8}};
    for (const auto& c : cases) {
        const auto cost = cost_of([&] { write_back(plain, begin + c.offset, c.size, site::undo_write_back); });
        EXPECT_EQ(cost, (counters{.write_backs = c.lines})) << "offset " << c.offset << " size " << c.size;
        EXPECT_EQ(cost.medium_bytes(), 64 * c.lines);
    }
}

TEST(Seam, WriteBackLeavesTheBytesAsTheyAre) {
    lines home;
    for (std::size_t i = 0; i < home.words.size(); ++i) home.words[i] = i * 0x0101010101010101u;
    const lines before = home;
    write_back(plain, home.words.data(), sizeof home, site::undo_write_back);
    fence(plain, site::undo_home_fence);
    EXPECT_EQ(home.words, before.words);
}

TEST(Seam, StreamCopiesAndCountsBytes) {
    lines from, home;
    for (std::size_t i = 0; i < from.words.size(); ++i) from.words[i] = ~i;
    for (const auto& path : {plain, caches_inside}) {
        for (std::size_t words = 0; words <= 33; ++words) {
            home = {};
            const auto cost =
                cost_of([&] { stream(path, &home.words[3], from.words.data(), 8 * words, site::log_record); });
            fence(path, site::log_commit_fence);
            EXPECT_EQ(cost, (counters{.streamed_bytes = 8 * words}));
            EXPECT_EQ(home.words[2], 0u);
            for (std::size_t i = 0; i < words; ++i) ASSERT_EQ(home.words[3 + i], ~i);
            EXPECT_EQ(home.words[3 + words], 0u);
        }
    }
}

TEST(Seam, SendStreamsFromTheSizeThatThePathSaysAndWritesShorterOnesBack) {
    lines from, home;
    for (std::size_t i = 0; i < from.words.size(); ++i) from.words[i] = ~i;
    const auto sent = [&](const line_path& path, std::size_t lines_sent) {
        home = {};
        const auto cost =
            cost_of([&] { send(path, home.words.data(), from.words.data(), 64 * lines_sent, site::log_record); });
        fence(path, site::log_commit_fence);
        for (std::size_t i = 0; i < home.words.size(); ++i)
            EXPECT_EQ(home.words[i], i < 8 * lines_sent ? ~i : 0u);
        return cost;
    };
    const line_path from_two_lines{.streamed_from_bytes = 128};
    EXPECT_EQ(sent(plain, 1), (counters{.streamed_bytes = 64}));
    EXPECT_EQ(sent(from_two_lines, 1), (counters{.write_backs = 1}));
    EXPECT_EQ(sent(from_two_lines, 2), (counters{.streamed_bytes = 128}));
    const line_path none{.streamed_from_bytes = never_streamed};
    EXPECT_EQ(sent(none, 8), (counters{.write_backs = 8}));
    EXPECT_EQ(sent({.write_back_needed = false, .streamed_from_bytes = never_streamed}, 2),
              (counters{.streamed_bytes = 128}));
}

TEST(Seam, FenceCountsOnceWhateverThePath) {
    EXPECT_EQ(cost_of([] { fence(plain, site::undo_home_fence); }), counters{.fences = 1});
    EXPECT_EQ(cost_of([] { fence(caches_inside, site::undo_home_fence); }), counters{.fences = 1});
}

TEST(Seam, NoWriteBackIsIssuedWhereTheCachesAreInsideTheDomain) {
    lines home;
    const auto cost = cost_of([&] { write_back(caches_inside, &home, sizeof home, site::undo_write_back); });
    EXPECT_EQ(cost, counters{});
}

TEST(Seam, CountersAreThoseOfTheThread) {
    const counters before = thread_counters();
    std::thread([] {
        EXPECT_EQ(thread_counters(), counters{});
        fence(plain, site::measure);
        EXPECT_EQ(thread_counters(), counters{.fences = 1});
    }).join();
    EXPECT_EQ(thread_counters(), before);
}

TEST(Seam, TheDelayIsAtLeastWhatWasAskedForEachLine) {
    lines home;
    constexpr line_path slow{true, 2000};
    fence(slow, site::measure);  // pays what earlier tests left owing, and calibrates
    EXPECT_GE(ns_of([&] {
                  write_back(slow, &home, 1, site::measure);
                  fence(slow, site::measure);
              }),
              2000);
    EXPECT_GE(ns_of([&] {
                  write_back(slow, &home, sizeof home, site::measure);
                  stream(slow, &home.words[7], &home.words[32], 16, site::measure);  // straddles two lines
                  fence(slow, site::measure);
              }),
              (8 + 2) * 2000);
    constexpr line_path very_slow{true, 50'000'000};
    EXPECT_GE(ns_of([&] {
                  write_back(very_slow, &home, 1, site::measure);
                  fence(very_slow, site::measure);
              }),
              50e6);
}

TEST(Seam, TheDelayIsPaidOnce) {
    lines home;
    constexpr line_path slow{true, 20'000'000};
    // The best of a few, because a busy machine may interrupt any single fence for that long.
    const auto fence_ns = [&] {
        double best_ns = ns_of([&] { fence(slow, site::measure); });
        for (int i = 0; i < 4; ++i) best_ns = std::min(best_ns, ns_of([&] { fence(slow, site::measure); }));
        return best_ns;
    };
    write_back(slow, &home, 1, site::measure);
    fence(slow, site::measure);
    EXPECT_LT(fence_ns(), 20e6);
    write_back(plain, &home, 1, site::measure);
    fence(plain, site::measure);
    EXPECT_LT(fence_ns(), 20e6) << "a fence without delay settles what is owed";
}

TEST(Seam, EveryWriteBackInstructionOfThisProcessorKeepsTheData) {
    lines home;
    home.words[5] = 42;
#if defined(__x86_64__)
    const auto best = detect_write_back_kind();
    for (const auto kind : {write_back_kind::clwb, write_back_kind::clflushopt, write_back_kind::clflush})
        if (kind <= best) write_back_line_with(kind, &home);  // the better ones imply the others
#else
    write_back_line_with(write_back_kind::clean_to_coherency, &home);
    write_back_line_with(detect_write_back_kind(), &home);
#endif
    persist_fence();
    EXPECT_EQ(home.words[5], 42u);
    EXPECT_EQ(chosen_write_back_kind(), detect_write_back_kind());
}

const write_back_kind chosen_for_statics = chosen_write_back_kind();

TEST(Seam, ConstructorsOfStaticsWriteBackByAnInstructionOfThisProcessor) {
    EXPECT_EQ(chosen_for_statics, detect_write_back_kind());
    EXPECT_EQ(write_back_kind{}, write_back_kind::clflush) << "before any constructor: one that all processors have";
    alignas(64) const unsigned char line[64] = {};
    write_back_line_with(write_back_kind{}, line);
}

TEST(Seam, InstructionsAndSitesHaveDistinctNames) {
    std::set<std::string_view> names;
    for (const auto kind : {write_back_kind::clwb, write_back_kind::clflushopt, write_back_kind::clflush,
                            write_back_kind::clean_to_persistence, write_back_kind::clean_to_coherency})
        names.insert(name_of(kind));
    EXPECT_EQ(names.size(), 5u);
    EXPECT_EQ(name_of(site::pool_format), "pool_format");
    EXPECT_EQ(name_of(site::measure), "measure");
}

TEST(Counters, AddAndSubtractFieldByField) {
    const counters a{5, 4, 3, 2, 1}, b{1, 1, 1, 1, 1};
    EXPECT_EQ(a - b, (counters{4, 3, 2, 1, 0}));
    EXPECT_EQ((a - b) + b, a);
    EXPECT_EQ(a.medium_bytes(), 5u * 64 + 3 + 2);
}

}  // namespace
}  // namespace holdfast::persist
