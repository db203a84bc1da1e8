// The parts that both algorithms are made of.
#include <holdfast/stm/blocks.hpp>
#include <holdfast/stm/grown_array.hpp>
#include <holdfast/stm/old_values.hpp>
#include <holdfast/stm/stm_test_support.hpp>
#include <holdfast/stm/write_log.hpp>

#include <cfenv>
#include <csignal>
#include <map>
#include <random>
#include <utility>

namespace holdfast::stm {
namespace {

using namespace holdfast::stm::test;

TEST(WriteLog, HoldsWhatAMapHoldsAndStoresItHomeHoweverOftenItIsEmptied) {
    write_log log;
    std::vector<word> homes(20'000);
    std::mt19937_64 random(5);
    for (int round = 0; round < 30; ++round) {
        std::map<word*, std::pair<word, std::uint8_t>> model;
        const std::size_t count = random() % 5'000;
        for (std::size_t i = 0; i < count; ++i) {
            word* const home = &homes[random() % homes.size()];
            const word what = random();
            const auto mask = static_cast<std::uint8_t>(random() % 3 == 0 ? 1 + random() % 255 : 0xFF);
            log.put(home, what, mask);
            auto& each = model[home];
            each = {merged(each.first, what, mask), static_cast<std::uint8_t>(each.second | mask)};
        }
        ASSERT_EQ(log.size(), model.size());
        for (word& each : homes) {
            const write_log::entry* found = log.find(&each);
            const auto expected = model.find(&each);
            ASSERT_EQ(found != nullptr, expected != model.end());
            if (found == nullptr) continue;
            ASSERT_EQ(found->mask(), expected->second.second);
            ASSERT_EQ((found->value ^ expected->second.first) & bits_of_mask(found->mask()), 0u);
        }
        std::vector<word> after = homes;
        for (const auto& [home, stored] : model)
            after[static_cast<std::size_t>(home - homes.data())] = merged(*home, stored.first, stored.second);
        log.write_back<plain_home>();
        ASSERT_EQ(homes, after);
        log.clear();
        EXPECT_TRUE(log.empty());
        EXPECT_EQ(log.find(&homes[0]), nullptr);
    }
    log.release();
    EXPECT_EQ(log.find(&homes[0]), nullptr);
    log.put(&homes[0], 1, 0xFF);
    EXPECT_EQ(log.find(&homes[0])->value, 1u);
    log.release();
}

TEST(WriteLog, HoldsWhatAMapHoldsHoweverWordsArePutThatFollowEachOther) {
    write_log log;
    std::mt19937_64 random(7);
    std::size_t put_at_end = 0;
    for (int round = 0; round < 3'000; ++round) {
        // In few lines each word comes in any order.
        const std::size_t words = round % 50 == 0 ? 4'000 : 8 + random() % 64;
        std::vector<word> homes(words);
        for (word& each : homes) each = random();
        std::map<word*, std::pair<word, std::uint8_t>> model;
        std::size_t at = 0;
        const std::size_t count = random() % (2 * words);
        for (std::size_t i = 0; i < count; ++i) {
            at = random() % 2 == 0 ? random() % words : (at + random() % 2) % words;
            word* const home = &homes[at];
            const word what = random();
            const std::uint8_t masks[] = {0xFF, 0x0F, 0xF0, static_cast<std::uint8_t>(1 + random() % 255)};
            const std::uint8_t mask = masks[random() % 4];
            if (random() % 2 == 0 && log.put_at_end(home, what, mask))
                ++put_at_end;
            else
                log.put(home, what, mask);
            auto& each = model[home];
            each = {merged(each.first, what, mask), static_cast<std::uint8_t>(each.second | mask)};
        }
        ASSERT_EQ(log.size(), model.size()) << round;
        std::vector<word> after = homes;
        for (word& each : homes) {
            const write_log::entry* const found = log.find(&each);
            const auto expected = model.find(&each);
            ASSERT_EQ(found != nullptr, expected != model.end());
            if (found == nullptr) continue;
            const auto& [value, mask] = expected->second;
            ASSERT_EQ(found->mask(), mask);
            ASSERT_EQ((found->value ^ value) & bits_of_mask(mask), 0u);
            after[static_cast<std::size_t>(&each - homes.data())] = merged(each, value, mask);
        }
        log.write_back<plain_home>();
        ASSERT_EQ(homes, after);
        log.clear();
    }
    EXPECT_GT(put_at_end, 10'000u);
    log.release();
}

/// Keeps half of all lines, in a pattern of 64.
struct some_lines : plain_home {
    static constexpr bool keeps_words = true;
    static inline std::uint64_t chosen = 0;
    static bool keeps(const void* home) noexcept {
        return (chosen >> (reinterpret_cast<std::uintptr_t>(home) / sizeof(line) % 64) & 1) != 0;
    }
};

/// Between words of other lines, every second word of a line needs no slot of its own; alone it does.
TEST(WriteLog, HasRoomForTheWordsThatItKeepsWhateverSlotsTheyHad) {
    std::vector<line> lines(20'000);
    write_log log;
    some_lines::chosen = 0x5555'5555'5555'5555;
    for (std::size_t at = 0; at < lines.size(); at += 2)
        for (unsigned word = 0; word < 8; word += 2)
            for (std::size_t line : {at, at + 1}) log.put(&lines[line].words[word], line * 8 + word, 0xFF);
    ASSERT_EQ(log.size(), 80'000u);
    const std::size_t kept = log.words_kept_by<some_lines>();
    EXPECT_EQ(kept, 40'000u);
    ASSERT_TRUE(log.make_room_to_keep(kept));
    log.keep_only_words_of<some_lines>();
    ASSERT_EQ(log.size(), kept);
    for (std::size_t line = 0; line < lines.size(); ++line)
        for (unsigned word = 0; word < 8; ++word) {
            const write_log::entry* const found = log.find(&lines[line].words[word]);
            ASSERT_EQ(found != nullptr, word % 2 == 0 && some_lines::keeps(&lines[line]));
            if (found == nullptr) continue;
            ASSERT_EQ(found->value, line * 8 + word);
        }
    log.release();
}

TEST(WriteLog, HoldsTheLinesThatItDoesNotForgetInTheirOrder) {
    write_log log;
    std::vector<line> lines(3'000);
    std::mt19937_64 random(7);
    for (int round = 0; round < 200; ++round) {
        std::map<word*, word> model;
        const std::size_t count = random() % 2'000;
        for (std::size_t i = 0; i < count; ++i) {
            word* const home = &lines[random() % (1 + count / 4)].words[random() % 8];
            log.put(home, model[home] = random(), 0xFF);
        }
        some_lines::chosen = random();
        std::vector<word*> order;
        for (const write_log::entry& each : log)
            if (some_lines::keeps(each.home())) order.push_back(each.home());
        ASSERT_EQ(log.words_kept_by<some_lines>(), order.size());
        ASSERT_TRUE(log.make_room_to_keep(order.size()));
        log.keep_only_words_of<some_lines>();
        ASSERT_EQ(log.size(), order.size());
        for (std::size_t at = 0; at < order.size(); ++at) ASSERT_EQ(log.begin()[at].home(), order[at]);
        for (const auto& [home, what] : model) {
            const write_log::entry* const found = log.find(home);
            ASSERT_EQ(found != nullptr, some_lines::keeps(home));
            if (found == nullptr) continue;
            ASSERT_EQ(found->value, what);
        }
        log.clear();
    }
    log.release();
}

/// In a table where pages overlap a walk by short strides through full pages would take as many steps as there are
/// words.
TEST(WriteLog, LargeSetsInTheOrderOfMemoryAreFoundWhereverTheyBegin) {
    std::vector<word> homes(400'000);
    for (std::size_t begin = 0; begin < 200'000; begin += 39'999) {
        write_log log;
        for (std::size_t i = 0; i < 200'000; ++i) log.put(&homes[begin + i], i, 0xFF);
        ASSERT_EQ(log.size(), 200'000u);
        for (std::size_t i = 0; i < 200'000; ++i) ASSERT_EQ(log.find(&homes[begin + i])->value, i);
        log.release();
    }
}

TEST(WriteLog, WordsThatArePutTogetherAreFoundLikeWordsThatArePutOneByOne) {
    write_log log;
    std::vector<line> lines(300);
    std::mt19937_64 random(11);
    for (int round = 0; round < 20; ++round) {
        std::map<word*, word> model;
        for (int i = 0; i < 400; ++i) {
            const std::size_t in_line = random() % 8;
            const auto count = static_cast<unsigned>(1 + random() % (8 - in_line));
            word* const first = &lines[random() % lines.size()].words[in_line];
            word values[8];
            for (unsigned at = 0; at < count; ++at) model[first + at] = values[at] = random();
            if (!log.put_words_at_once(first, values, count))
                for (unsigned at = 0; at < count; ++at) log.put(first + at, values[at], 0xFF);
        }
        ASSERT_EQ(log.size(), model.size());
        for (line& of_eight : lines)
            for (word& each : of_eight.words) {
                const auto expected = model.find(&each);
                const write_log::entry* const found = log.find(&each);
                ASSERT_EQ(found != nullptr, expected != model.end());
                ASSERT_EQ(found == nullptr ? 0 : found->value, expected == model.end() ? 0 : expected->second);
            }
        log.clear();
    }
    log.release();
}

TEST(OldValues, ThatAreNotedAMillionTimesAreTheOldestOfEachByte) {
    old_values old;
    std::vector<word> homes(100);
    std::mt19937_64 random(3);
    for (word& each : homes) each = random();
    const std::vector<word> before = homes;
    for (int i = 0; i < 2'500'000; ++i) {
        word& home = homes[random() % homes.size()];
        const auto mask = static_cast<std::uint8_t>(i % 4 == 0 ? 1 + random() % 255 : 0xFF);
        if (mask != 0xFF || !old.note_at_once(&home, mask)) old.note(&home, mask);
        home = merged(home, random(), mask);
    }
    EXPECT_NE(homes, before);
    old.put_back();
    EXPECT_EQ(homes, before);
    homes[0] = 1;
    old.put_back();
    EXPECT_EQ(homes[0], 1u) << "what was put back is forgotten";
    old.release();
}

TEST(FreshWords, AreThoseOfTheBlocksAndNoOthers) {
    fresh_words fresh;
    std::vector<word> area(10'000);
    std::vector<bool> model(area.size());
    std::mt19937_64 random(7);
    for (int round = 0; round < 20; ++round) {
        for (int i = 0; i < 50; ++i) {
            const std::size_t begin = random() % (area.size() - 200);
            const std::size_t words = 1 + random() % (i % 10 == 0 ? 150 : 8);
            // A part of a word at the end belongs to somebody else.
            fresh.add(&area[begin], words * 8 + random() % 8);
            std::fill_n(model.begin() + static_cast<std::ptrdiff_t>(begin), words, true);
            EXPECT_TRUE(fresh.last_holds(&area[begin], words * 8));
            EXPECT_FALSE(fresh.last_holds(&area[begin], words * 8 + 8));
        }
        for (std::size_t i = 0; i < area.size(); ++i) ASSERT_EQ(fresh.holds(&area[i]), model[i]) << i;
        fresh.clear();
        model.assign(model.size(), false);
        ASSERT_FALSE(fresh.holds(&area[random() % area.size()]));
    }
    fresh.release();
}

std::vector<void*> came_back;
void remember(void* block, std::size_t, std::size_t) { came_back.push_back(block); }

TEST(Limbo, GivesBackWhatIsOldEnoughInOrderAndKeepsTheRest) {
    limbo waiting;
    std::vector<line> blocks(600);
    came_back.clear();
    for (std::size_t i = 0; i < 255; ++i) waiting.add({&blocks[i], 64, 64, remember}, i);
    EXPECT_FALSE(waiting.is_due());
    waiting.add({&blocks[255], 64, 64, remember}, 255);
    EXPECT_TRUE(waiting.is_due());
    waiting.give_back_until(99);
    ASSERT_EQ(came_back.size(), 100u);
    for (std::size_t i = 0; i < 100; ++i) EXPECT_EQ(came_back[i], &blocks[i]);
    EXPECT_FALSE(waiting.is_due()) << "not again before there is much more";
    EXPECT_FALSE(waiting.empty());
    waiting.give_back_until(registry::inactive);
    EXPECT_EQ(came_back.size(), 256u);
    EXPECT_TRUE(waiting.empty());
    waiting.add({&blocks[0], std::size_t{2} << 20, 64, remember}, 1000);
    EXPECT_TRUE(waiting.is_due()) << "a block that is large is due at once";
    waiting.give_back_until(1000);
    waiting.release();
}

TEST(Registry, GivesEachSlotToOneThread) {
    static registry threads;
    std::vector<registry::slot*> all;
    for (unsigned i = 0; i < registry::most_threads; ++i) {
        all.push_back(threads.claim());
        ASSERT_NE(all.back(), nullptr);
        EXPECT_EQ(threads.index_of(*all.back()), i);
    }
    EXPECT_EQ(threads.claim(), nullptr);
    EXPECT_EQ(threads.oldest(), registry::inactive);
    registry::publish(*all[5], 50);
    registry::publish_cheaply(*all[250], 20);
    EXPECT_EQ(threads.oldest(), 20u);
    registry::retract(*all[250]);
    EXPECT_EQ(threads.oldest(), 50u);
    threads.wait_for_older(50, nullptr);
    threads.wait_for_all(all[5]);
    threads.forget_others(all[5]);
    EXPECT_EQ(threads.oldest(), 50u);
    EXPECT_EQ(threads.claim(), all[0]);
    EXPECT_EQ(threads.claim(), all[1]);
}

TEST(BackOff, AsksForASerialRunAfterTheMostConflicts) {
    back_off pauses;
    for (unsigned i = 0; i < back_off::most_conflicts; ++i) {
        EXPECT_FALSE(pauses.should_be_serial());
        pauses.conflict();
    }
    EXPECT_TRUE(pauses.should_be_serial());
    pauses.reset();
    EXPECT_FALSE(pauses.should_be_serial());
}

#ifndef HOLDFAST_STM_LONG_JUMPS

word deeper(const checkpoint& here, int depth, word mixed);
/// Through a pointer: compilers see that no call of deeper returns.
word (*volatile next_deeper)(const checkpoint&, int, word) = deeper;

/// Several frames further down, with registers full of something else.
[[gnu::noinline]] word deeper(const checkpoint& here, int depth, word mixed) {
    if (depth == 0) {
        std::fesetround(FE_TOWARDZERO);
        resume(here, static_cast<int>(mixed % 1000) + 1);
    }
    const word a = mixed * 3, b = mixed * 5, c = mixed * 7, d = mixed * 11, e = mixed * 13, f = mixed * 17;
    const word below = next_deeper(here, depth - 1, mixed + 1);
    return a ^ b ^ c ^ d ^ e ^ f ^ below;
}

TEST(Checkpoint, ResumingReturnsAgainWithRegistersAndRoundingAsTheyWere) {
    checkpoint here;
    // Values that a compiler keeps in registers across the calls.
    const volatile word source = 1000;
    const word a = source + 1, b = source + 2, c = source + 3, d = source + 4, e = source + 5, f = source + 6;
    const volatile double quarter = 0.25;
    const double x = quarter + 1, y = quarter + 2;
    static int returns;
    returns = 0;
    const int result = holdfast_stm_save(&here);
    ++returns;
    ASSERT_EQ(std::fegetround(), FE_TONEAREST);
    ASSERT_EQ(a + b + c + d + e + f, 6021u);
    ASSERT_EQ(x + y, 3.5);
    if (returns == 1)
        ASSERT_EQ(result, 0);
    else
        ASSERT_NE(result, 0);
    if (returns < 50) next_deeper(here, returns % 7, a * static_cast<word>(returns));
    EXPECT_EQ(returns, 50);
}

#endif

TEST(GrownArray, MakesRoomForAnyNumberAndKeepsWhatItHolds) {
    grown_array<word> all;
    std::vector<word> model;
    std::mt19937_64 random(7);
    for (int round = 0; round < 400; ++round) {
        // Whether it is empty, was emptied, or has little room left: each number fits.
        const std::size_t count = random() % (round % 20 == 0 ? 5'000 : 300);
        word* const at = all.extend(count);
        for (std::size_t i = 0; i < count; ++i) model.push_back(at[i] = random());
        all.push(static_cast<word>(round));
        model.push_back(static_cast<word>(round));
        ASSERT_TRUE(std::equal(all.begin(), all.end(), model.begin(), model.end()));
        const std::size_t kept = round % 7 == 0 ? 0 : random() % (model.size() + 1);
        all.keep(kept);
        model.resize(kept);
        if (round % 50 == 49) {
            all.release();
            model.clear();
            ASSERT_TRUE(all.empty());
        }
    }
    all.release();
}

TEST(GrownArray, KeepsItsCapacityWhenItIsEmptied) {
    grown_array<word> all;
    all.extend(10'000);
    const word* const first = all.begin();
    all.clear();
    EXPECT_EQ(all.extend(10'000), first);
    all.release();
}

template <class A>
class InSignalHandlers : public ::testing::Test {};
TYPED_TEST_SUITE(InSignalHandlers, algorithms, algorithm_names);

TYPED_TEST(InSignalHandlers, TransactionsEndTheProgramWithAMessage) {
    static word counted = 0;
    const auto count = [] {
        TypeParam& open = TypeParam::of_this_thread();
        open.store(&counted, open.load(&counted) + 1, 0xFF);
    };
    const auto before = std::signal(SIGUSR1, [](int) { atomically<TypeParam>([] {}); });
    EXPECT_DEATH(atomically<TypeParam>([&] {
                     count();
                     std::raise(SIGUSR1);
                 }),
                 "signal handler");
    EXPECT_DEATH(std::raise(SIGUSR1), "signal handler");
    std::signal(SIGUSR1, [](int) {});
    EXPECT_TRUE(atomically<TypeParam>([&] {
        count();
        std::raise(SIGUSR1);
    }));
    std::signal(SIGUSR1, before);
    EXPECT_EQ(std::exchange(counted, 0), 1u);
}

}  // namespace
}  // namespace holdfast::stm
