// What the recorder's tests share: memory to record, and whether a trace accounts for it.
#pragma once

#include <crash/record/recorder.hpp>

#include <holdfast/pool/stand_ins.hpp>

#include <gtest/gtest.h>

#include <sys/mman.h>

#include <cstddef>
#include <cstdint>
#include <cstring>
#include <span>
#include <vector>

namespace holdfast::crash {

class RecorderTest : public ::testing::Test {
protected:
    static constexpr std::size_t page = 4096;
    static constexpr std::size_t size = 16 * page;

    explicit RecorderTest(int sharing = MAP_SHARED) {
        // Pools that are recorded twice are the same file.
        stand_ins_now.file_mark = 1;
        bytes_ = static_cast<std::byte*>(
            ::mmap(nullptr, size, PROT_READ | PROT_WRITE, sharing | MAP_ANONYMOUS, -1, 0));
    }
    ~RecorderTest() override { ::munmap(bytes_, size); }

    std::span<std::byte> pool() const { return {bytes_, size}; }
    std::uint64_t* word(std::uint64_t index) const { return reinterpret_cast<std::uint64_t*>(bytes_) + index; }

    /// Whether the memory holds what the trace says that it was made to hold.
    void expect_accounts_for_memory(const trace& recorded) const {
        std::vector<std::uint64_t> words = recorded.before;
        for (const event& each : recorded.events)
            if (each.kind == event_kind::store || each.kind == event_kind::stream) words[each.place] = each.value;
        EXPECT_EQ(std::memcmp(words.data(), bytes_, size), 0);
    }

    std::byte* bytes_;
};

}  // namespace holdfast::crash
