// Pools of lines on every medium and level, killed and reopened, and shared by two processes.
#include <holdfast/handle/line_pool.hpp>
#include <holdfast/persist/test_scratch.hpp>

#include <gtest/gtest.h>

#include <sys/wait.h>
#include <unistd.h>

#include <array>
#include <barrier>
#include <csignal>
#include <cstdint>
#include <filesystem>
#include <optional>
#include <string>
#include <thread>

namespace holdfast {
namespace {

struct pair_of_words {
    std::uint64_t first = 0;
    std::uint64_t second = 0;
};
struct record {
    std::array<std::uint64_t, 30> words{};
};

using pairs = line_array<pair_of_words, 8>;
using records = lines_array<record, 4>;

struct place {
    const char* name;
    const char* directory;
    bool is_nvram;
    level durability;
};

// Elsewhere nothing would make them durable.
static_assert(made_of_lines<pairs> && made_of_lines<records> && made_of_lines<line<int>> && made_of_lines<lines<int>>);
static_assert(!made_of_lines<pair_of_words> && !made_of_lines<redo::field<int>>);

constexpr place places[] = {{"nvram at power", "/dev/shm", true, level::power},
                            {"nvram at process", "/dev/shm", true, level::process},
                            {"tmpfs at process", "/dev/shm", false, level::process},
                            {"a file at power", ".", false, level::power},
                            {"a file at process", ".", false, level::process}};

class LinePool : public testing::TestWithParam<place> {
protected:
    LinePool() : directory_(GetParam().directory) {
        options_.durability = GetParam().durability;
        options_.tmpfs_is_nvram = GetParam().is_nvram;
        options_.bytes = 1 << 20;
        options_.reserved_bytes = std::uint64_t{1} << 30;
        options_.base = HOLDFAST_TEST_BASE_ADDRESS;
    }

    std::string path() const { return directory_.file("lines"); }
    line_pool create() { return line_pool::create(path(), options_).value(); }
    line_pool open() { return line_pool::open(path(), options_).value(); }

    persist::test::scratch_directory directory_;
    create_options options_;
};

std::string name_of_place(const testing::TestParamInfo<place>& info) {
    std::string name(info.param.name);
    for (char& each : name)
        if (each == ' ') each = '_';
    return name;
}
INSTANTIATE_TEST_SUITE_P(Everywhere, LinePool, testing::ValuesIn(places), name_of_place);

TEST_P(LinePool, KeepsEveryTransactionThatReturnedThroughAKill) {
    line_pool pool = create();
    auto* const all = pool.root<pairs>("pairs").value();
    auto* const many = pool.root<records>("records").value();
    for (std::uint64_t i = 1; i <= 100; ++i) {
        (*all)[i % 8].transact([&](pair_of_words& active) { active = {i, ~i}; });
        (*many)[i % 4].transact([&](record& active) { active.words.fill(i); });
    }
    pool.abandon();
    pool = open();
    auto* const again = pool.root<pairs>("pairs").value();
    EXPECT_EQ(again, all) << "at the same address";
    for (std::uint64_t i = 93; i <= 100; ++i) {
        EXPECT_EQ((*again)[i % 8]->first, i);
        EXPECT_EQ((*again)[i % 8]->second, ~i);
    }
    auto* const same = pool.root<records>("records").value();
    for (std::uint64_t i = 97; i <= 100; ++i) EXPECT_EQ((*same)[i % 4]->words[29], i);
}

TEST_P(LinePool, ANewRootIsNotMadeAnewByReplay) {
    line_pool pool = create();
    // More roots afterwards leave records in the log that must not name the first one's bytes.
    auto* const all = pool.root<pairs>("first").value();
    (*all)[0].transact([](pair_of_words& active) { active.first = 7; });
    static_cast<void>(pool.root<pairs>("second").value());
    (*all)[1].transact([](pair_of_words& active) { active.first = 8; });
    pool.abandon();
    pool = open();
    auto* const again = pool.root<pairs>("first").value();
    EXPECT_EQ((*again)[0]->first, 7u);
    EXPECT_EQ((*again)[1]->first, 8u);
}

TEST_P(LinePool, KeepsAllRootsThatTwoThreadsMakeAtOnce) {
    using single = line<pair_of_words>;
    constexpr int rounds = 12;
    line_pool pool = create();
    std::barrier together(2);
    single* made[2][rounds] = {};
    const auto name_of = [](int mine, int round) { return std::to_string(mine) + "." + std::to_string(round); };
    const auto make = [&](int mine) {
        for (int round = 0; round < rounds; ++round) {
            together.arrive_and_wait();
            auto root = pool.root<single>(name_of(mine, round));
            if (!root) continue;
            made[mine][round] = *root;
            made[mine][round]->transact([](pair_of_words& active) { active.first = 1; });
        }
    };
    std::thread other(make, 1);
    make(0);
    other.join();
    pool.abandon();
    pool = open();
    for (int mine = 0; mine < 2; ++mine)
        for (int round = 0; round < rounds; ++round) {
            auto* found = pool.root<single>(name_of(mine, round)).value();
            ASSERT_EQ(found, made[mine][round]) << name_of(mine, round);
            ASSERT_EQ(found->get().first, 1u) << name_of(mine, round);
        }
}

TEST_P(LinePool, ClosesAndOpensAtTheOtherLevel) {
    line_pool pool = create();
    (*pool.root<pairs>("pairs").value())[3].transact([](pair_of_words& active) { active.second = 5; });
    pool.close().value();
    const bool can_have_power = GetParam().is_nvram || std::string(GetParam().directory) == ".";
    if (can_have_power)
        options_.durability = options_.durability == level::power ? level::process : level::power;
    pool = open();
    auto& third = (*pool.root<pairs>("pairs").value())[3];
    EXPECT_EQ(third->second, 5u);
    third.transact([](pair_of_words& active) { ++active.second; });
    pool.abandon();
    pool = open();
    EXPECT_EQ((*pool.root<pairs>("pairs").value())[3]->second, 6u);
}

TEST_P(LinePool, RefusesARootOfAnotherKindSizeOrVersion) {
    line_pool pool = create();
    static_cast<void>(pool.root<line_array<std::uint32_t, 4>>("root").value());
    const auto code = [](auto&& found) { return found ? errc::io : found.error().code; };
    EXPECT_EQ(code(pool.root<line_array<std::uint64_t, 4>>("root")), errc::root_mismatch) << "as many bytes";
    EXPECT_EQ(code(pool.root<line_array<std::uint32_t, 5>>("root")), errc::root_mismatch);
    EXPECT_EQ(code(pool.root<lines_array<std::uint32_t, 2>>("root")), errc::root_mismatch);
    EXPECT_EQ(code(pool.root<line_array<std::uint32_t, 4>>("root", "2")), errc::root_mismatch);
    EXPECT_TRUE((pool.root<line_array<std::uint32_t, 4>>("root")));
    EXPECT_EQ(pool.roots().value().front().version, "line<4> 1");
}

TEST_P(LinePool, CostsOfACommit) {
    line_pool pool = create();
    auto& one = (*pool.root<pairs>("pairs").value())[0];
    const auto before = persist::thread_counters();
    one.transact([](pair_of_words& active) { ++active.first; });
    const auto spent = persist::thread_counters() - before;
    const bool on_media = GetParam().is_nvram && GetParam().durability == level::power;
    const bool in_log = !GetParam().is_nvram && GetParam().durability == level::power;
    EXPECT_EQ(spent.write_backs, on_media ? 1u : 0u);
    EXPECT_EQ(spent.fences, on_media ? 1u : 0u);
    EXPECT_EQ(spent.syncs, in_log ? 1u : 0u);
}

TEST_P(LinePool, IsSharedByProcessesOfWhichOneDies) {
    const bool in_log = !GetParam().is_nvram && GetParam().durability == level::power;
    {
        line_pool pool = create();
        static_cast<void>(pool.root<pairs>("pairs").value());
        static_cast<void>(pool.root<records>("records").value());
        pool.close().value();
    }
    if (in_log) {
        const auto refused = line_pool::open_shared(path(), options_);
        ASSERT_FALSE(refused);
        EXPECT_EQ(refused.error().code, errc::level_unavailable);
        return;
    }
    int ready[2];
    ASSERT_EQ(::pipe(ready), 0);
    const pid_t child = ::fork();
    if (child == 0) {
        auto pool = line_pool::open_shared(path(), options_).value();
        auto& one = (*pool.root<pairs>("pairs").value())[2];
        auto& many = (*pool.root<records>("records").value())[1];
        one.transact([](pair_of_words& active) { active = {1, 1}; });
        many.transact([](record& active) { active.words.fill(1); });
        // Dies in the middle of these.
        many.transact([&](record& active) {
            active.words[0] = 2;
            one.transact([&](pair_of_words& half) {
                half.first = 2;
                static_cast<void>(!::write(ready[1], "x", 1));
                ::pause();
            });
        });
        ::_exit(1);
    }
    char byte;
    ASSERT_EQ(::read(ready[0], &byte, 1), 1);
    {
        auto pool = line_pool::open_shared(path(), options_);
        ASSERT_TRUE(pool) << pool.error().text();
        auto& one = (*pool->root<pairs>("pairs").value())[2];
        auto& many = (*pool->root<records>("records").value())[1];
        EXPECT_EQ(one->first, 1u) << "what the other has not committed is not seen";
        const auto alone = line_pool::open(path(), options_);
        ASSERT_FALSE(alone);
        EXPECT_EQ(alone.error().code, errc::busy);
        ::kill(child, SIGKILL);
        ::waitpid(child, nullptr, 0);
        EXPECT_EQ(one->first, 1u);
        one.transact([](pair_of_words& active) { EXPECT_EQ(active.second, 1u); });
        ASSERT_TRUE(many.recover());
        EXPECT_EQ(many->words[0], 1u);
        many.transact([](record& active) { active.words[29] = 3; });
        const auto unknown = pool->root<pairs>("another");
        ASSERT_FALSE(unknown);
        EXPECT_EQ(unknown.error().code, errc::not_found);
        pool->close().value();
    }
    EXPECT_TRUE(open_pool::info(path()).value().clean) << "the last to close";
    line_pool pool = open();
    EXPECT_EQ((*pool.root<records>("records").value())[1]->words[29], 3u);
    ::close(ready[0]);
    ::close(ready[1]);
}

template <class Object, class F>
errc error_of(Object& object, F&& f) {
    try {
        object.transact(f);
    } catch (const failure& refused) {
        return refused.reason().code;
    }
    return errc{};
}

TEST(LinePoolOnAFailingDevice, TakesBackWhatItRefuses) {
    persist::test::scratch_directory directory(".");
    create_options options;
    options.durability = level::power;
    options.bytes = 1 << 20;
    const std::string path = directory.file("lines");
    {
        line_pool pool = line_pool::create(path, options).value();
        ASSERT_TRUE(pool.core().homes_are_private()) << "the working directory is on no ordinary file system";
        auto& pair = (*pool.root<pairs>("pairs").value())[0];
        auto& record_of_words = (*pool.root<records>("records").value())[0];
        pair.transact([](pair_of_words& each) { each.first = 1; });
        record_of_words.transact([](record& each) { each.words[7] = 1; });
        const auto change_pair = [](pair_of_words& each) { each.first = 2; };
        const auto change_record = [](record& each) { each.words[7] = 2; };
        {
            const persist::test::failing_device broken;
            EXPECT_EQ(error_of(pair, change_pair), errc::outcome_unknown);
            EXPECT_EQ(error_of(record_of_words, change_record), errc::poisoned);
        }
        EXPECT_EQ(pair->first, 1u);
        EXPECT_EQ(record_of_words->words[7], 1u);
        // The device works again, but what it dropped is not known.
        EXPECT_EQ(error_of(pair, change_pair), errc::poisoned);
        EXPECT_EQ(error_of(pair, [&](pair_of_words&) { pair.transact(change_pair); }), errc::poisoned) << "nested";
        EXPECT_EQ(pair->first, 1u);
        pool.abandon();
    }
    line_pool pool = line_pool::open(path, options).value();
    auto& pair = (*pool.root<pairs>("pairs").value())[0];
    auto& record_of_words = (*pool.root<records>("records").value())[0];
    EXPECT_EQ(pair->first, 1u) << "the write that failed wrote nothing";
    EXPECT_EQ(record_of_words->words[7], 1u);
    pair.transact([](pair_of_words& each) { ++each.second; });
    EXPECT_EQ(pair->first, 1u);
    EXPECT_EQ(pair->second, 1u);
}

TEST(LinePoolMisuse, IsToldByValues) {
    persist::test::scratch_directory directory("/dev/shm");
    create_options options;
    options.durability = level::process;
    options.bytes = 1 << 20;
    line_pool pool = line_pool::create(directory.file("lines"), options).value();
    const auto twice = line_pool::open_shared(directory.file("lines"), options);
    ASSERT_FALSE(twice);
    EXPECT_EQ(twice.error().code, errc::busy);
    pool.close().value();
    EXPECT_EQ(pool.root<pairs>("pairs").error().code, errc::misuse);
    EXPECT_EQ(pool.close().error().code, errc::misuse);
    options.durability = level::power;
    EXPECT_EQ(line_pool::open(directory.file("lines"), options).error().code, errc::level_unavailable);
}

}  // namespace
}  // namespace holdfast
