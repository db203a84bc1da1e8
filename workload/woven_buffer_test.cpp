// The woven buffer: what it holds, and what a transaction costs.
#include <workload/woven_buffer.hpp>

#include <holdfast/line/line.hpp>
#include <holdfast/persist/seam.hpp>

#include <gtest/gtest.h>

#include <cstdint>
#include <cstring>
#include <string>

namespace holdfast::workload {
namespace {

class WovenBuffer : public testing::Test {
protected:
    WovenBuffer() {
        line_medium_state::needs = line_medium_state::fences | line_medium_state::write_backs;
        woven_buffer_construct(line_);
        before_ = persist::thread_counters();
    }
    ~WovenBuffer() override { line_medium_state::needs = 0; }

    std::uint64_t fences() const { return (persist::thread_counters() - before_).fences; }
    std::uint64_t write_backs() const { return (persist::thread_counters() - before_).write_backs; }

    alignas(64) unsigned char line_[64] = {};
    persist::counters before_;
};

TEST_F(WovenBuffer, GivesTheBytesBackInOrderAndOneTransactionForEach) {
    for (char byte = 'a'; byte <= 'z'; ++byte) woven_buffer_add(line_, byte);
    EXPECT_EQ(fences(), 26u);
    EXPECT_EQ(write_backs(), 26u);
    for (char byte = 'a'; byte <= 'z'; ++byte) EXPECT_EQ(woven_buffer_get(line_), byte);
    EXPECT_EQ(woven_buffer_get(line_), 0) << "it is empty";
    EXPECT_EQ(fences(), 53u);
}

TEST_F(WovenBuffer, IsFilledDrainedAndResetInOneTransactionEach) {
    const std::string bytes(28, 'x');
    woven_buffer_fill(line_, bytes.data(), bytes.size());
    EXPECT_EQ(fences(), 1u);
    EXPECT_EQ(line_[63], 32) << "turned once";
    std::string back(28, ' ');
    woven_buffer_drain(line_, back.data(), back.size());
    EXPECT_EQ(back, bytes);
    woven_buffer_reset(line_);
    EXPECT_EQ(fences(), 3u);
    EXPECT_EQ(line_[63], 32);
}

struct plain_buffer {
    char buf[29];
    std::uint8_t in, out;
};

TEST_F(WovenBuffer, IsByteForByteALineOfTheSameMembers) {
    line<plain_buffer> other;
    for (char byte = 'a'; byte <= 'k'; ++byte) {
        EXPECT_EQ(std::memcmp(line_, static_cast<const void*>(&other), sizeof line_), 0) << byte;
        woven_buffer_add(line_, byte);
        other.transact([&](plain_buffer& active) { active.buf[active.in++] = byte; });
    }
    EXPECT_EQ(line_[63], 32);
    EXPECT_EQ(line_[32], 'a');
}

}  // namespace
}  // namespace holdfast::workload
