// That a file has what the entries of records say, whatever pages they meet in, and what stood between them.
#include <holdfast/base/test_failing_memory.hpp>

#include <holdfast/format/log_record.hpp>
#include <holdfast/log/home_writer.hpp>
#include <holdfast/persist/counters.hpp>
#include <holdfast/persist/sites.hpp>
#include <holdfast/persist/test_scratch.hpp>

#include <gtest/gtest.h>

#include <algorithm>
#include <cstring>
#include <optional>
#include <random>
#include <vector>

namespace holdfast {
namespace {

constexpr std::uint64_t page_bytes = 4096, file_bytes = 64 * page_bytes;
constexpr std::uint64_t log_words = 1 << 20, payload_words = file_bytes / 8;

class HomeWriter : public ::testing::Test {
protected:
    HomeWriter() : expected_(file_bytes, std::byte{0x5A}) {
        file_.emplace(persist::test::create_file(scratch_.file("pool"), 0600).value());
        file_->write_at(0, expected_.data(), file_bytes, persist::site::pool_format).value();
    }

    void add_run(home_writer& to, std::uint64_t offset, std::uint64_t words, std::uint64_t value) {
        std::vector<std::uint64_t> payload{format::run_tag(offset, words)};
        for (std::uint64_t i = 0; i < words; ++i) payload.push_back(value + i);
        to.add(payload).value();
        std::memcpy(expected_.data() + offset, payload.data() + 1, words * 8);
    }
    void add_bytes(home_writer& to, std::uint64_t offset, std::uint64_t value, std::uint8_t mask) {
        to.add(std::vector<std::uint64_t>{format::masked_tag(offset, mask), value}).value();
        for (unsigned byte = 0; byte < 8; ++byte)
            if ((mask >> byte & 1u) != 0) expected_[offset + byte] = static_cast<std::byte>(value >> byte * 8 & 0xFF);
    }
    void check() {
        std::vector<std::byte> found(file_bytes);
        file_->read_at(0, found.data(), file_bytes).value();
        const auto differs = std::ranges::mismatch(found, expected_);
        ASSERT_EQ(differs.in1, found.end()) << "byte " << differs.in1 - found.begin();
    }

    persist::test::scratch_directory scratch_{"."};
    std::optional<persist::file> file_;
    std::vector<std::byte> expected_;
};

TEST_F(HomeWriter, RandomEntriesAreInTheFileAsIfWrittenOneByOne) {
    constexpr int rounds = 30;
    for (int round = 0; round < rounds; ++round) {
        std::mt19937_64 random(static_cast<std::uint64_t>(round));
        home_writer homes(*file_, log_words, payload_words);
        const std::uint64_t pages = 1 + random() % 63;
        for (int entries = static_cast<int>(random() % 300); entries > 0; --entries) {
            const std::uint64_t offset = random() % (pages * page_bytes / 8) * 8;
            const std::uint64_t room = (file_bytes - offset) / 8;
            switch (random() % 8) {
                case 0: add_bytes(homes, offset, random(), static_cast<std::uint8_t>(1 + random() % 254)); break;
                case 1: add_run(homes, offset, 1 + random() % std::min<std::uint64_t>(room, 2000), random()); break;
                default: add_run(homes, offset, 1 + random() % std::min<std::uint64_t>(room, 6), random());
            }
        }
        homes.write().value();
        check();
        if (HasFatalFailure()) FAIL() << "seed " << round;
    }
}

TEST_F(HomeWriter, OfAPageOneRangeIsWritten) {
    home_writer homes(*file_, log_words, payload_words);
    const auto before = persist::thread_counters();
    for (int times = 0; times < 100; ++times)
        for (const std::uint64_t word : {3u, 9u, 20u}) add_run(homes, 5 * page_bytes + word * 8, 1, word);
    homes.write().value();
    EXPECT_EQ((persist::thread_counters() - before).written_bytes, 18u * 8);
    check();
}

TEST_F(HomeWriter, MoreThanIsGatheredAtOnceIsWrittenInTheSameOrder) {
    home_writer homes(*file_, log_words, payload_words);
    for (std::uint64_t i = 0; i < 20; ++i) add_run(homes, i % 7 * 8, file_bytes / 8 - 7, i << 32);
    homes.write().value();
    check();
}

#ifndef HOLDFAST_KEEPS_OPERATOR_NEW
TEST_F(HomeWriter, NeedsNoMemoryOnceItIsMade) {
    home_writer homes(*file_, 1 << 12, 1 << 10);
    // Entries of two words that lie in two pages: as many pieces as there can be.
    std::vector<std::uint64_t> payload;
    for (std::uint64_t i = 0; i < (1 << 10) / 3; ++i)
        payload.insert(payload.end(), {format::run_tag((1 + i % 60) * page_bytes - 8, 2), i, i});
    {
        const test::failing_memory none(0);
        for (int times = 0; times < 20; ++times) homes.add(payload).value();
        homes.write().value();
        homes.begin();
        homes.add(payload).value();
        homes.write().value();
        EXPECT_FALSE(test::failing_memory::was_needed());
    }
    for (std::uint64_t i = 0; i < (1 << 10) / 3; ++i)
        for (const std::uint64_t word : {0u, 8u})
            std::memcpy(expected_.data() + (1 + i % 60) * page_bytes - 8 + word, &i, 8);
    check();
}
#endif

TEST_F(HomeWriter, WhatCannotBeReadIsAnError) {
    home_writer homes(*file_, log_words, payload_words);
    homes.add(std::vector<std::uint64_t>{format::run_tag(2 * file_bytes, 1), 1}).value();
    homes.add(std::vector<std::uint64_t>{format::run_tag(2 * file_bytes + 64, 1), 1}).value();
    const auto written = homes.write();
    ASSERT_FALSE(written);
    EXPECT_EQ(written.error().code, errc::truncated);
}

}  // namespace
}  // namespace holdfast
