// What each command does, and random commands against the model, on ordinary memory.
#include <workload/conflicting_access_test.hpp>
#include <workload/cache/model_test.hpp>
#include <workload/counted_access.hpp>
#include <workload/plain_access_test.hpp>

#include <holdfast/base/test_run.hpp>

#include <gtest/gtest.h>

#include <string>

namespace holdfast::workload::test {
namespace {

constexpr std::uint64_t day_s = 24 * 60 * 60;

class CacheCommands : public ::testing::Test {
protected:
    using cache_type = cache<plain_access>;

    CacheCommands() { make({.limit_bytes = 4096, .move_after_s = 10}); }
    ~CacheCommands() override {
        EXPECT_TRUE(check().ok()) << check().problem;
        EXPECT_TRUE(all().dispose());
        EXPECT_EQ(memory_.live_blocks, 0) << "blocks were lost";
    }

    void make(const cache_settings& settings) {
        ASSERT_TRUE(all().dispose());
        ASSERT_TRUE(all().create(settings));
    }
    cache_type all() { return {plain_access(memory_), &root_}; }
    check_report check() {
        const cache_type whole = all();
        return cache_check<plain_access>(plain_access(memory_), whole).run();
    }

    static cache_key key(const std::string& text) { return {text.data(), text.size()}; }
    cache_answer set(const std::string& name, const std::string& text, std::int64_t lifetime_s = 0,
                     std::uint32_t flags = 0) {
        return all().set(key(name), {text.data(), text.size(), flags, lifetime_s}, now_s_);
    }
    /// The value, or "-" where there is none.
    std::string get(const std::string& name) {
        char room[1024];
        found_ = {room, sizeof room};
        return all().get(key(name), now_s_, found_) == cache_answer::found ? std::string(room, found_.bytes) : "-";
    }
    std::uint64_t unique(const std::string& name) { return get(name) == "-" ? 0 : found_.unique; }
    cache_statistics statistics() {
        cache_statistics counts{};
        EXPECT_TRUE(all().statistics(counts));
        return counts;
    }
    std::string order() {
        std::string names;
        const cache_type whole = all();
        for (const model_item& each : items_in(plain_access(memory_), whole, 0)) names += each.key + " ";
        return names;
    }

    plain_memory memory_;
    cache_root root_{};
    std::uint64_t now_s_ = 100 * day_s;
    cache_found found_{};
};

TEST_F(CacheCommands, StoreOnlyWhereTheirRuleAllowsIt) {
    const cache_entry given{"new", 3};
    EXPECT_EQ(all().replace(key("a"), given, now_s_), cache_answer::not_stored);
    EXPECT_EQ(all().append(key("a"), given, now_s_), cache_answer::not_stored);
    EXPECT_EQ(all().prepend(key("a"), given, now_s_), cache_answer::not_stored);
    EXPECT_EQ(all().cas(key("a"), given, 1, now_s_), cache_answer::not_found);
    EXPECT_EQ(get("a"), "-");
    EXPECT_EQ(all().add(key("a"), given, now_s_), cache_answer::stored);
    EXPECT_EQ(all().add(key("a"), {"other", 5}, now_s_), cache_answer::not_stored);
    EXPECT_EQ(get("a"), "new");
    EXPECT_EQ(all().replace(key("a"), {"other", 5}, now_s_), cache_answer::stored);
    EXPECT_EQ(get("a"), "other");
    EXPECT_EQ(all().remove(key("a"), now_s_), cache_answer::deleted);
    EXPECT_EQ(all().remove(key("a"), now_s_), cache_answer::not_found);
}

TEST_F(CacheCommands, CasStoresOnlyIfNobodyDidSince) {
    set("a", "1");
    const std::uint64_t first = unique("a");
    set("b", "1");
    EXPECT_NE(unique("b"), first);
    EXPECT_EQ(all().cas(key("a"), {"2", 1}, first, now_s_), cache_answer::stored);
    EXPECT_EQ(all().cas(key("a"), {"3", 1}, first, now_s_), cache_answer::exists);
    EXPECT_EQ(get("a"), "2");
    const std::uint64_t second = unique("a");
    std::uint64_t sum = 0;
    all().increment(key("a"), 0, now_s_, sum);
    EXPECT_EQ(all().cas(key("a"), {"3", 1}, second, now_s_), cache_answer::exists);
    const std::uint64_t third = unique("a");
    EXPECT_EQ(all().touch(key("a"), 5, now_s_), cache_answer::touched);
    EXPECT_EQ(all().cas(key("a"), {"3", 1}, third, now_s_), cache_answer::stored) << "touch changes no value";
}

TEST_F(CacheCommands, UniquesOfAllPartitionsDiffer) {
    make({.limit_bytes = 1 << 16, .partitions = 8});
    std::vector<std::uint64_t> uniques;
    for (int i = 0; i < 200; ++i) {
        set(std::to_string(i), "v");
        uniques.push_back(unique(std::to_string(i)));
    }
    std::sort(uniques.begin(), uniques.end());
    EXPECT_EQ(std::adjacent_find(uniques.begin(), uniques.end()), uniques.end());
    EXPECT_GT(uniques.front(), 0u);
}

TEST_F(CacheCommands, WhatADueFlushTakesIsNoEvictionInAnyPartition) {
    make({.limit_bytes = 1 << 20, .partitions = 2});
    for (int i = 0; i < 40; ++i) set(std::to_string(i), "v");
    all().flush_all(10, now_s_);
    std::uint64_t evicted = 0;
    EXPECT_TRUE(all().evict_beside(key("0"), now_s_ + 10, evicted));
    cache_statistics counts{};
    all().statistics(counts);
    EXPECT_EQ(counts.evictions, 0u);
    EXPECT_EQ(counts.flushed, 40u);
}

TEST_F(CacheCommands, IncrementWrapsAtTwoToThe64AndDecrementStopsAtZero) {
    std::uint64_t result = 0;
    set("a", "18446744073709551615", 0, 7);
    EXPECT_EQ(all().increment(key("a"), 2, now_s_, result), cache_answer::stored);
    EXPECT_EQ(result, 1u);
    EXPECT_EQ(get("a"), "1");
    EXPECT_EQ(found_.flags, 7u);
    EXPECT_EQ(all().decrement(key("a"), 5, now_s_, result), cache_answer::stored);
    EXPECT_EQ(get("a"), "0");
    EXPECT_EQ(all().increment(key("b"), 1, now_s_, result), cache_answer::not_found);
    for (const char* text :
         {"18446744073709551616", "", "-1", "1 ", "x", "99999999999999999999", "000000000000000000001"}) {
        set("a", text);
        EXPECT_EQ(all().increment(key("a"), 1, now_s_, result), cache_answer::not_a_number) << text;
        EXPECT_EQ(get("a"), text);
    }
}

TEST_F(CacheCommands, AppendAndPrependKeepFlagsAndExpiry) {
    set("a", "middle", 100, 42);
    EXPECT_EQ(all().append(key("a"), {" end", 4, 1, -1}, now_s_), cache_answer::stored);
    EXPECT_EQ(all().prepend(key("a"), {"begin ", 6, 2, 5000}, now_s_), cache_answer::stored);
    now_s_ += 99;
    EXPECT_EQ(get("a"), "begin middle end");
    EXPECT_EQ(found_.flags, 42u);
    now_s_ += 1;
    EXPECT_EQ(get("a"), "-");
}

TEST_F(CacheCommands, EveryLengthIsJoinedToEveryOther) {
    make({.limit_bytes = 1 << 16});
    const std::string letters = "abcdefghijklmnopqrstuvwxyz";
    for (std::size_t front = 0; front < 20; ++front) {
        for (std::size_t back = 0; back < 20; ++back) {
            set("a", letters.substr(0, front));
            const std::string given = letters.substr(26 - back);
            all().append(key("a"), {given.data(), back}, now_s_);
            ASSERT_EQ(get("a"), letters.substr(0, front) + given);
            all().prepend(key("a"), {given.data(), back}, now_s_);
            ASSERT_EQ(get("a"), given + letters.substr(0, front) + given);
        }
    }
}

TEST_F(CacheCommands, LifetimesAreSecondsUpToThirtyDaysAndTimesAbove) {
    set("seconds", "v", 30 * day_s);
    set("time", "v", static_cast<std::int64_t>(now_s_ + 7));
    set("past", "v", 30 * day_s + 1);
    set("negative", "v", -1);
    set("never", "v", 0);
    EXPECT_EQ(get("negative"), "-");
    EXPECT_EQ(get("past"), "-");
    now_s_ += 6;
    EXPECT_EQ(get("time"), "v");
    now_s_ += 1;
    EXPECT_EQ(get("time"), "-");
    now_s_ += 30 * day_s - 8;
    EXPECT_EQ(get("seconds"), "v");
    now_s_ += 1;
    EXPECT_EQ(get("seconds"), "-");
    now_s_ += 10000 * day_s;
    EXPECT_EQ(get("never"), "v");
    EXPECT_EQ(all().touch(key("never"), -1, now_s_), cache_answer::touched);
    EXPECT_EQ(get("never"), "-");
    EXPECT_EQ(statistics().expired, 5u);
}

/// The latest time is also what time() returns when it fails, as an unsigned number.
TEST_F(CacheCommands, WhatEndsBehindTheLatestTimeNeverEnds) {
    constexpr std::uint64_t latest_s = ~std::uint64_t{0};
    set("never", "v", 0);
    now_s_ = latest_s - 10;
    set("short", "v", 5);
    set("long", "v", 30 * day_s);
    EXPECT_EQ(all().touch(key("never"), 60, now_s_), cache_answer::touched);
    EXPECT_TRUE(all().flush_all(60, now_s_));
    EXPECT_EQ(get("long"), "v");
    now_s_ += 4;
    EXPECT_EQ(get("short"), "v");
    now_s_ += 1;
    EXPECT_EQ(get("short"), "-");
    EXPECT_EQ(get("never"), "v");
    EXPECT_TRUE(all().flush_all(30 * day_s + 1, now_s_)) << "in place of the other one, and long ago";
    EXPECT_EQ(get("never"), "-");
    now_s_ = latest_s;
    set("never", "v", 0);
    EXPECT_EQ(get("never"), "v");
}

TEST_F(CacheCommands, FlushTakesWhatIsThereAtItsTime) {
    set("a", "v");
    EXPECT_TRUE(all().flush_all(0, now_s_));
    EXPECT_EQ(get("a"), "-");
    set("b", "v");
    EXPECT_TRUE(all().flush_all(10, now_s_));
    now_s_ += 9;
    set("c", "v");
    EXPECT_EQ(get("b"), "v");
    now_s_ += 1;
    set("d", "v");
    EXPECT_EQ(get("b"), "-");
    EXPECT_EQ(get("c"), "-");
    EXPECT_EQ(get("d"), "v");
    EXPECT_TRUE(all().flush_all(-3, now_s_));
    EXPECT_EQ(get("d"), "-");
    EXPECT_EQ(statistics().flushed, 4u);
    EXPECT_EQ(statistics().flushes, 3u);
}

TEST_F(CacheCommands, KeysOfTheWrongFormAreRefused) {
    for (const std::string& name : {std::string(), std::string(251, 'k'), std::string("a b"), std::string("a\n"),
                                    std::string("\x7F"), std::string("a\0", 2), std::string("a\t")}) {
        EXPECT_EQ(set(name, "v"), cache_answer::bad_key) << name;
        EXPECT_EQ(all().remove(key(name), now_s_), cache_answer::bad_key);
        EXPECT_EQ(get(name), "-");
    }
    EXPECT_EQ(set(std::string(250, 'k'), "v"), cache_answer::stored);
    EXPECT_EQ(set("\xC3\xA9", "v"), cache_answer::stored);
    EXPECT_EQ(statistics().get_misses, 0u);
}

TEST_F(CacheCommands, WhatIsTooLargeChangesNothing) {
    make({.limit_bytes = 4096, .value_bytes_max = 100});
    set("a", std::string(60, 'a'));
    set("b", "v");
    const std::string before = order();
    EXPECT_EQ(set("a", std::string(101, 'x')), cache_answer::too_large);
    const std::string half(50, 'x');
    EXPECT_EQ(all().append(key("a"), {half.data(), half.size()}, now_s_), cache_answer::too_large);
    EXPECT_EQ(order(), before);
    EXPECT_EQ(get("a"), std::string(60, 'a'));
    make({.limit_bytes = 200});
    EXPECT_EQ(set("a", std::string(120, 'x')), cache_answer::stored);
    EXPECT_EQ(set("a", std::string(121, 'x')), cache_answer::too_large) << "it would have no room alone";
    EXPECT_EQ(statistics().bytes, 200u);
}

TEST_F(CacheCommands, TheLeastRecentlyUsedIsEvicted) {
    make({.limit_bytes = 4 * cache_item_bytes(1, 8), .move_after_s = 10});
    for (const char* name : {"a", "b", "c", "d"}) set(name, "12345678");
    EXPECT_EQ(order(), "d c b a ");
    get("a");
    EXPECT_EQ(order(), "d c b a ") << "it came to the front less than 10 seconds ago";
    now_s_ += 10;
    get("a");
    EXPECT_EQ(order(), "a d c b ");
    set("e", "12345678");
    EXPECT_EQ(order(), "e a d c ");
    set("c", "1234567812345678");
    EXPECT_EQ(order(), "c e a ");
    EXPECT_EQ(statistics().evictions, 2u);
    EXPECT_EQ(statistics().bytes, 2 * cache_item_bytes(1, 8) + cache_item_bytes(1, 16));
}

TEST_F(CacheCommands, AValueLongerThanItsRoomIsCut) {
    set("a", "0123456789abc");
    char room[16] = "***************";
    cache_found found{room, 10};
    EXPECT_EQ(all().get(key("a"), now_s_, found), cache_answer::found);
    EXPECT_STREQ(room, "0123456789*****");
    EXPECT_EQ(found.bytes, 13u);
}

TEST_F(CacheCommands, StoreAsOftenAsTheirHeaderSays) {
    access_counts counts;
    const counted_access<plain_access> counting(plain_access(memory_), counts);
    const cache<counted_access<plain_access>> counted(counting, &root_);
    const std::string text(100, 'x');
    for (const char* name : {"a", "b", "c"}) set(name, text);
    char room[100];
    cache_found found{room, sizeof room};
    const auto stores = [&](auto&& f) {
        const access_counts before = counts;
        f();
        return (counts - before).stores_inside;
    };
    EXPECT_EQ(stores([&] { counted.get(key("b"), now_s_, found); }), 1u);
    EXPECT_EQ(stores([&] { counted.get(key("b"), now_s_ + 10, found); }), 1u + 7u);
    EXPECT_EQ(stores([&] { counted.set(key("b"), {text.data(), 100}, now_s_ + 10); }), 3u + 13u);
    EXPECT_EQ(stores([&] { counted.set(key("b"), {text.data(), 100}, now_s_ + 11); }), 4u + 13u);
    EXPECT_EQ(stores([&] { counted.set(key("c"), {text.data(), 100}, now_s_ + 11); }), 4u + 13u + 6u);
    EXPECT_EQ(counts.stores, counts.stores_inside);
}

/// A step of a command with large evictions is run again, since another thread was in between: it is refused then, and
/// that is counted once.
TEST_F(CacheCommands, ACommandThatIsRefusedWhenItIsRepeatedIsOver) {
    set("a", "1");
    const std::uint64_t first = unique("a");
    for (int i = 0; i < 45; ++i) set(std::to_string(i), "v");
    ASSERT_EQ(statistics().evictions, 0u);
    conflicts how;
    const cache<conflicting_access> disturbed(conflicting_access(memory_, how), &root_);
    how.fails = how.begun + 1;  // for want of room
    how.repeated = how.begun + 2;
    how.meanwhile = [&] { set("a", "2"); };
    const std::string large(3800, 'x');
    EXPECT_EQ(disturbed.cas(key("a"), {large.data(), large.size()}, first, now_s_), cache_answer::exists);
    EXPECT_EQ(statistics().cas_refusals, 1u);
    EXPECT_EQ(statistics().evictions, 0u);
    EXPECT_EQ(get("a"), "2");
}

TEST_F(CacheCommands, AHashNeverChanges) {
    EXPECT_EQ(key("a").hash(), 3131087373789086725u);
    EXPECT_EQ(key("0123456789").hash(), 1226325811435972224u);
}

TEST_F(CacheCommands, TheCheckFindsEveryKindOfDamage) {
    make({.limit_bytes = 1000, .buckets = 2});
    for (const char* name : {"a", "b", "c", "d", "e"}) set(name, "12345678");
    cache_partition& here = root_.partitions[0];
    cache_item* const last = here.oldest;
    const auto damaged = [&](auto& word, auto wrong) {
        const auto right = word;
        word = wrong;
        const check_report found = check();
        word = right;
        return found.ok() ? std::string() : found.problem;
    };
    EXPECT_NE(damaged(here.counts.items, 4u), "");
    EXPECT_NE(damaged(here.counts.items, 6u), "");
    EXPECT_NE(damaged(here.counts.bytes, 5 * cache_item_bytes(1, 8) + 8), "");
    EXPECT_NE(damaged(here.counts.created, 4u), "");
    EXPECT_NE(damaged(here.counts.evictions, 1u), "");
    EXPECT_NE(damaged(here.newest, here.newest->older), "");
    EXPECT_NE(damaged(here.newest, nullptr), "");
    EXPECT_NE(damaged(here.oldest, last->newer), "");
    EXPECT_NE(damaged(here.unique, 4u), "");
    EXPECT_NE(damaged(last->newer, nullptr), "");
    EXPECT_NE(damaged(last->older, here.newest), "") << "a cycle";
    EXPECT_NE(damaged(last->newer->older, nullptr), "");
    EXPECT_NE(damaged(last->next, last), "") << "a cycle";
    EXPECT_NE(damaged(here.buckets[0], nullptr), "");
    EXPECT_NE(damaged(here.buckets[1], here.buckets[0]), "");
    EXPECT_NE(damaged(last->hash, last->hash + 1), "");
    EXPECT_NE(damaged(reinterpret_cast<char*>(last + 1)[0], 'b'), "") << "a key twice, or in the wrong bucket";
    EXPECT_NE(damaged(last->value_bytes, 9u), "");
    EXPECT_NE(damaged(root_.shape.limit_bytes, 400u), "");
    EXPECT_TRUE(check().ok());
}

void run_at_random(const cache_settings& settings, const cache_mix& mix, std::uint64_t seed, std::uint64_t commands) {
    plain_memory memory;
    cache_root root{};
    cache<plain_access> all(plain_access(memory), &root);
    ASSERT_TRUE(all.create(settings));
    cache_runner<plain_access> runner(all);
    cache_model model(settings);
    std::uint64_t answers[12]{};
    for (std::uint64_t i = 1; i <= commands; ++i) {
        const cache_command one = drawn_command(seed, i, mix);
        const cache_outcome found = runner.run(one);
        ASSERT_EQ(found, model.run(one)) << "command " << i << ": " << one;
        ++answers[static_cast<int>(found.answer)];
        if (i % 16 != 0 && i <= commands - 100) continue;
        ASSERT_EQ(difference(plain_access(memory), all, model), "") << "after command " << i << ": " << one;
    }
    const cache_statistics counts = model.statistics();
    for (const std::uint64_t count : {counts.evictions, counts.expired, counts.flushed, counts.stores, counts.deletes,
                                      counts.increments, counts.decrements, counts.touches, counts.cas_hits,
                                      counts.cas_misses, counts.cas_refusals, counts.flushes})
        EXPECT_GT(count, commands / 10000);
    EXPECT_GT(answers[static_cast<int>(cache_answer::not_stored)], 0u);
    EXPECT_GT(answers[static_cast<int>(cache_answer::not_a_number)], 0u);
    ASSERT_TRUE(all.dispose());
    EXPECT_EQ(memory.live_blocks, 0) << "blocks were lost";
}

TEST(CacheAtRandom, AnswersRandomCommandsAsTheModelDoes) {
    const std::uint64_t seed = holdfast::test::seed_of_run();
    const std::uint64_t commands = holdfast::test::at_full_length() ? 3'000'000 : 200'000;
    run_at_random({.limit_bytes = 4000, .buckets = 8, .value_bytes_max = 400, .move_after_s = 5}, {}, seed, commands);
    run_at_random({.limit_bytes = 12000, .partitions = 4, .value_bytes_max = 400, .move_after_s = 0}, {.keys = 150},
                  seed + 1, commands);
    run_at_random({.limit_bytes = 1500, .value_bytes_max = 1000, .move_after_s = 60, .counts_gets = false},
                  {.keys = 20, .longest_text = 300}, seed + 2, commands);
}

}  // namespace
}  // namespace holdfast::workload::test
