// The observed build: the same sources, and whoever watches sees each call.
#include <holdfast/engine/sites.hpp>
#include <holdfast/log/sites.hpp>
#include <holdfast/persist/file.hpp>
#include <holdfast/persist/seam.hpp>
#include <holdfast/persist/sites.hpp>
#include <holdfast/persist/test_observer.hpp>
#include <holdfast/persist/test_scratch.hpp>
#include <holdfast/pool/sites.hpp>

#include <gtest/gtest.h>

#include <cstdint>
#include <string>
#include <vector>

namespace holdfast::persist {
namespace {

constexpr line_path plain{true, 0};

/// Writes down each call as text, with addresses counted from `origin_`.
class recorder final : public observer {
public:
    explicit recorder(const void* origin) : origin_(static_cast<const char*>(origin)), before_(observe(this)) {}
    ~recorder() override { observe(before_); }

    void store(const void* home, std::size_t size, site_id where) override { line("store", offset(home), size, where); }
    void write_back(const void* begin, std::size_t size, site_id where) override {
        line("write_back", offset(begin), size, where);
    }
    void stream(const void* home, std::size_t size, site_id where) override {
        line("stream", offset(home), size, where);
    }
    void before_fence(site_id where) override { calls.push_back("before_fence " + std::string(name_of(where))); }
    void after_fence(site_id where) override { calls.push_back("after_fence " + std::string(name_of(where))); }
    void file_write(std::uint64_t at, const void* bytes, std::size_t size, bool durable, site_id where) override {
        line(durable ? "durable" : "write", static_cast<std::int64_t>(at), size, where);
        written = std::string(static_cast<const char*>(bytes), size);
    }
    void file_sync(site_id where) override { calls.push_back("sync " + std::string(name_of(where))); }

    std::vector<std::string> calls;
    std::string written;

private:
    std::int64_t offset(const void* at) const { return static_cast<const char*>(at) - origin_; }
    void line(const char* call, std::int64_t at, std::size_t size, site_id where) {
        calls.push_back(std::string(call) + " " + std::to_string(at) + "+" + std::to_string(size) + " " +
                        std::string(name_of(where)));
    }

    const char* origin_;
    observer* before_;
};

TEST(Observer, SeesEachCallOfTheSeamInOrder) {
    alignas(line_bytes) std::uint64_t home[32] = {};
    const std::uint64_t from[4] = {1, 2, 3, 4};
    recorder seen(home);
    store_word(&home[1], 5, 0xFF, site::undo_home);
    store_word(&home[2], 5, 0x01, site::redo_home);
    copy(&home[4], from, 24, site::redo_fresh);
    write_back(plain, &home[1], 100, site::undo_write_back);
    stream(plain, &home[16], from, 32, site::log_record);
    fence(plain, site::log_commit_fence);
    EXPECT_EQ(seen.calls, (std::vector<std::string>{
                              "store 8+8 undo_home", "store 16+8 redo_home", "store 32+24 redo_fresh",
                              "write_back 8+100 undo_write_back", "stream 128+32 log_record",
                              "before_fence log_commit_fence", "after_fence log_commit_fence"}));
}

TEST(Observer, SeesWhatAsksNothingOfTheMediumNot) {
    alignas(line_bytes) std::uint64_t home[8] = {};
    recorder seen(home);
    write_back({false, 0}, home, 64, site::undo_write_back);
    write_back(plain, home, 0, site::undo_write_back);
    order_for_kill();
    EXPECT_TRUE(seen.calls.empty());
}

TEST(Observer, SeesTheEffectOfAStore) {
    alignas(line_bytes) std::uint64_t home[8] = {};
    test::cutter cut(1);
    EXPECT_THROW(store_word(&home[0], 9, 0xFF, site::undo_home), simulated_crash);
    EXPECT_EQ(home[0], 9u) << "the observer comes after the effect";
}

TEST(Observer, MayCutAtEachCall) {
    alignas(line_bytes) std::uint64_t home[16] = {};
    const std::uint64_t from[2] = {1, 2};
    const auto run = [&] {
        store_word(&home[0], 1, 0xFF, site::undo_home);
        copy(&home[2], from, 16, site::redo_fresh);
        write_back(plain, home, 8, site::undo_write_back);
        stream(plain, &home[8], from, 16, site::log_record);
        fence(plain, site::undo_home_fence);
    };
    for (std::uint64_t call = 1; call <= 6; ++call) {
        test::cutter cut(call);
        EXPECT_THROW(run(), simulated_crash) << call;
    }
    test::cutter none(7);
    EXPECT_NO_THROW(run());
}

TEST(Observer, SeesFileOperationsAndADurableGroupAsOneWrite) {
    const test::scratch_directory scratch;
    auto made = *test::create_file(scratch.file("pool"), 0600);
    ASSERT_TRUE(made.allocate(65536));
    auto mapped = *mapping::map(made, 0, 65536, 65536, mapping::kind::shared);
    recorder seen(nullptr);
    ASSERT_TRUE(made.write_at(16, "home", 4, site::log_checkpoint_home));
    EXPECT_EQ(seen.written, "home");
    ASSERT_TRUE(made.sync(site::log_checkpoint_home_sync));
    std::string first = "one", second = "two";
    const iovec pieces[] = {{first.data(), 3}, {second.data(), 3}};
    ASSERT_TRUE(made.write_durable(32, pieces, site::log_group));
    EXPECT_EQ(seen.written, "onetwo");
    ASSERT_TRUE(mapped.sync_all(site::pool_strengthen));
    EXPECT_EQ(seen.calls,
              (std::vector<std::string>{"write 16+4 log_checkpoint_home", "sync log_checkpoint_home_sync",
                                        "durable 32+6 log_group", "sync pool_strengthen"}));
}

TEST(Observer, HearsNothingOfWhatFailed) {
    const test::scratch_directory scratch;
    ASSERT_TRUE(test::create_file(scratch.file("pool"), 0600));
    auto opened = *file::open(scratch.file("pool"), file::access::read_only);
    recorder seen(nullptr);
    EXPECT_FALSE(opened.write_at(0, "x", 1, site::measure));
    EXPECT_TRUE(seen.calls.empty());
}

TEST(Observer, TheOneBeforeComesBack) {
    recorder outer(nullptr);
    {
        recorder inner(nullptr);
        fence(plain, site::measure);
        EXPECT_EQ(inner.calls.size(), 2u);
    }
    EXPECT_TRUE(outer.calls.empty());
    fence(plain, site::measure);
    EXPECT_EQ(outer.calls.size(), 2u);
}

}  // namespace
}  // namespace holdfast::persist
