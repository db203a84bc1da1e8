// The scrubber: what it corrects and lists, beside threads that use the pool, and how it ends.
#include <holdfast/dnv/dnv_test_support.hpp>
#include <holdfast/dnv/sites.hpp>
#include <holdfast/ecc/repair.hpp>
#include <holdfast/persist/replace_pair.hpp>

#include <chrono>

namespace holdfast::dnv::test {
namespace {

using namespace std::chrono_literals;

constexpr dnv_scrub_options at_once{.bytes_per_second = std::uint64_t{1} << 40, .between_rounds = 1ms};
constexpr std::size_t words = 1000;

/// Until `done`, for at most ten seconds.
bool wait_until(const std::function<bool()>& done) {
    for (int i = 0; i < 10'000; ++i) {
        if (done()) return true;
        std::this_thread::sleep_for(1ms);
    }
    return false;
}
/// While threads look at the word, and none stores there.
void flip(const std::uint64_t* at, std::uint64_t bits) { std::atomic_ref(place_of(at)->word).fetch_xor(bits); }
/// Everything was looked at after now.
void wait_for_a_round() {
    const std::uint64_t rounds = dnv_state().scrub_rounds;
    EXPECT_TRUE(wait_until([&] { return dnv_state().scrub_rounds >= rounds + 2; }));
}

TEST_F(Dnv, AScrubberCorrectsWhatNobodyReads) {
    open();
    push_some(300);
    for (int i = 0; i < 100; ++i) pop_front();
    auto* const unprotected = fill_unprotected(words, 5, [](void*) {});
    dnv_free(unprotected);
    workload::random random(7);
    std::vector<ecc::coded_word*> places{
        place_of(&the_space.staged->bins[1][3].free), place_of(&the_space.staged->chunks[0]),
        place_of(&the_space.staged_unprotected.load()->bins[1][0].free),
        place_of(the_space.chunks.find(unprotected)->links()), place_of(address_of_count())};
    for (unsigned slot = 0; slot < most_chunks; ++slot)
        if (const auto in = the_space.chunks.at_slot(slot); in && !is_unprotected(in->which.of_class))
            for (std::uint64_t at = 8; at < in->bytes; at += 8192)
                places.push_back(place_of(reinterpret_cast<const void*>(in->which.begin + at)));
    for (ecc::coded_word* each : places) *each = ecc::flipped_by(*each, ecc::random_pattern(6, random));
    ASSERT_TRUE(dnv_scrub_start(at_once));
    wait_for_a_round();
    dnv_scrub_stop();
    EXPECT_EQ(dnv_state().mended_words, places.size());
    EXPECT_EQ(dnv_state().mended_bits, 6 * places.size());
    EXPECT_GE(dnv_state().scrubbed_words, audit_open_pool(false).words);
    expect_sound_list(200);
    expect_sound_pool(200);
}

TEST_F(Dnv, AScrubberListsWhatNothingCorrectsAndGoesOn) {
    open();
    dnv_on_uncorrectable([](const damage&) {
        ADD_FAILURE() << "nobody needs the word";
        return verdict::end();
    });
    auto* const block = static_cast<std::uint64_t*>(dnv_malloc(words * sizeof(std::uint64_t)));
    fill_words(block, words, 5);
    flip(block + 3, 0x0000'0F0F'0F0F'0000);
    flip(block + 700, 1);
    ASSERT_TRUE(dnv_scrub_start(at_once));
    wait_for_a_round();
    EXPECT_EQ(dnv_state().damaged_words, 1u);
    EXPECT_EQ(dnv_state().mended_words, 1u);
    EXPECT_EQ(read_damages(*the_space.in_pool).words, std::vector<const void*>{block + 3});
    fill_words(block, words, 6);
    wait_for_a_round();
    EXPECT_EQ(dnv_state().damaged_words, 0u) << "it is sound again";
    dnv_on_uncorrectable(nullptr);
}

TEST_F(Dnv, AScrubberTakesNoStoreBackOfThreadsThatUseThePool) {
    for (unsigned way = 0; way < ways; ++way) {
        use_way(way);
        open();
        make_counters();
        auto* const block = static_cast<std::uint64_t*>(dnv_malloc(words * sizeof(std::uint64_t)));
        fill_words(block, words, 5);
        ASSERT_TRUE(dnv_scrub_start(at_once));
        std::atomic<bool> is_over{false};
        std::vector<std::thread> threads;
        for (unsigned thread = 0; thread < 3; ++thread)
            threads.emplace_back([thread, &is_over] {
                std::mt19937 random(thread);
                for (unsigned number = 0; !is_over; ++number) {
                    transfer(random() % 64, random() % 64);
                    push_front(number, random() % 300);
                    pop_front();
                    EXPECT_TRUE(mix_kinds(number));
                }
            });
        // Only where no thread stores: a flip of the test is a store.
        for (std::size_t at = 0; at < words; at += 50) {
            flip(block + at, std::uint64_t{1} << at % 64);
            std::this_thread::sleep_for(5ms);
        }
        wait_for_a_round();
        is_over = true;
        for (auto& each : threads) each.join();
        dnv_scrub_stop();
        EXPECT_EQ(dnv_state().mended_words, words / 50);
        EXPECT_EQ(dnv_state().damaged_words, 0u);
        expect_sound_bank(1);
        ASSERT_TRUE(dnv_close());
    }
}

/// A word that is flipped again and again where a thread stores: what the scrubber found is not what is there any more
/// when it has the right word.
TEST_F(Dnv, AScrubberTakesNoStoreBackThatCameWhileItCorrected) {
    constexpr std::size_t few = 50;
    open();
    auto* const block = static_cast<std::uint64_t*>(dnv_malloc(few * sizeof(std::uint64_t)));
    fill_words(block, few, 1);
    ASSERT_TRUE(dnv_scrub_start(at_once));
    std::atomic<bool> is_over{false};
    std::thread flipping([&] {
        workload::random random(7);
        while (!is_over) {
            ecc::coded_word* const place = place_of(block + random.below(few));
            const ecc::coded_word found{stm::detail::load_home(&place->word), stm::detail::load_home(&place->code)};
            std::this_thread::sleep_for(10us);
            if (!ecc::is_valid(found)) continue;
            // Seven take longest. A few patterns have two repairs.
            const ecc::coded_word flipped = ecc::flipped_by(found, ecc::random_pattern(7, random));
            if (!ecc::repair(flipped)) continue;
            persist::replace_pair(&place->word, {found.word, found.code}, {flipped.word, flipped.code},
                                  persist::site::dnv_mended);
        }
    });
    const auto until = std::chrono::steady_clock::now() + (at_full_length() ? 10s : 1s);
    std::uint64_t value = 2;
    for (; std::chrono::steady_clock::now() < until && !HasFailure(); ++value) {
        // The scrubber looks twice, a moment apart; what it does then takes microseconds.
        std::this_thread::sleep_for(std::chrono::microseconds(1200 + value * 37 % 1000));
        fill_words(block, few, value);
        const auto soon = std::chrono::steady_clock::now() + 30us;
        while (std::chrono::steady_clock::now() < soon) continue;
        EXPECT_EQ(sum_of_words(block, few), few * value);
    }
    is_over = true;
    flipping.join();
    dnv_scrub_stop();
    EXPECT_GT(dnv_state().mended_words, 0u);
    EXPECT_EQ(sum_of_words(block, few), few * (value - 1));
}

TEST_F(Dnv, AScrubberStandsStillWhenThePowerFailsAndGoesOnWhenItIsBack) {
    use_way(3);
    open();
    auto* const block = static_cast<std::uint64_t*>(dnv_malloc(words * sizeof(std::uint64_t)));
    fill_words(block, words, 5);
    ASSERT_TRUE(dnv_scrub_start(at_once));
    wait_for_a_round();
    std::uint64_t rounds[2] = {1, 2};
    handler_->fail_power(true, [&] {
        for (std::uint64_t& each : rounds) {
            each = the_space.scrub_rounds;
            ::usleep(10'000);
        }
    });
    EXPECT_EQ(rounds[0], rounds[1]);
    flip(block, 1);
    wait_for_a_round();
    EXPECT_EQ(dnv_state().mended_words, 1u);
    EXPECT_EQ(sum_of_words(block, words), 5 * words);
}

TEST_F(Dnv, AScrubberKeepsItsPace) {
    open();
    ASSERT_TRUE(dnv_scrub_start({.bytes_per_second = 160 << 10, .between_rounds = 0ms}));
    std::this_thread::sleep_for(250ms);
    dnv_scrub_stop();
    EXPECT_GT(dnv_state().scrubbed_words, 0u);
    EXPECT_LE(dnv_state().scrubbed_words, (160u << 10) / 8) << "in less than a second";
}

TEST_F(Dnv, AScrubberMayWaitForEver) {
    open();
    push_some(10);
    // The second one is the longest that nanoseconds say.
    for (const auto time : {std::chrono::milliseconds::max(), std::chrono::milliseconds::max() / 1'000'000}) {
        const std::uint64_t rounds = dnv_state().scrub_rounds;
        ASSERT_TRUE(dnv_scrub_start({.bytes_per_second = ~std::uint64_t{0}, .between_rounds = time}));
        EXPECT_TRUE(wait_until([&] { return dnv_state().scrub_rounds > rounds; }));
        std::this_thread::sleep_for(20ms);
        dnv_scrub_stop();
        EXPECT_EQ(dnv_state().scrub_rounds, rounds + 1);
    }
    const std::uint64_t looked_at = dnv_state().scrubbed_words;
    ASSERT_TRUE(dnv_scrub_start({.bytes_per_second = 1, .between_rounds = 0ms}));
    std::this_thread::sleep_for(20ms);
    dnv_scrub_stop();
    EXPECT_LE(dnv_state().scrubbed_words, looked_at + 2048) << "one step, for hours";
}

TEST_F(Dnv, AScrubberEndsWithItsPoolOrItsProgramAndThereIsOne) {
    EXPECT_EQ(dnv_scrub_start(at_once).error().code, errc::misuse);
    open();
    ASSERT_TRUE(dnv_scrub_start(at_once));
    EXPECT_EQ(dnv_scrub_start(at_once).error().code, errc::misuse);
    const pid_t child = ::fork();
    if (child == 0) {
        // Without the parent's pool and scrubber; and it ends with its own open.
        if (!dnv_open(directory_ + "/of_child", options_) || !dnv_scrub_start(at_once)) ::_exit(1);
        std::exit(0);
    }
    int status = 0;
    ::waitpid(child, &status, 0);
    EXPECT_TRUE(WIFEXITED(status) && WEXITSTATUS(status) == 0) << status;
    reopen();
    ASSERT_TRUE(dnv_scrub_start(at_once)) << "closing has stopped the other one";
    dnv_scrub_stop();
    dnv_scrub_stop();
    EXPECT_EQ(dnv_scrub_start({.bytes_per_second = 0}).error().code, errc::invalid_argument);
    ASSERT_TRUE(dnv_close());
    options_.protect = false;
    open_at(directory_ + "/unprotected");
    EXPECT_EQ(dnv_scrub_start(at_once).error().code, errc::misuse);
}

}  // namespace
}  // namespace holdfast::dnv::test
