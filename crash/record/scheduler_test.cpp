#include <crash/record/scheduler.hpp>

#include <gtest/gtest.h>

#include <pthread.h>

#include <array>
#include <chrono>
#include <condition_variable>
#include <mutex>
#include <set>
#include <shared_mutex>
#include <stdexcept>
#include <string>
#include <thread>

namespace holdfast::crash {
namespace {

using functions = std::vector<std::function<void()>>;

/// Each thread writes its letter `times` times, with a step behind each.
functions writers(std::string& text, unsigned threads, unsigned times) {
    functions all;
    for (unsigned i = 0; i < threads; ++i)
        all.push_back([&text, times, letter = static_cast<char>('a' + i)] {
            for (unsigned n = 0; n < times; ++n) {
                text += letter;
                scheduled::step();
            }
        });
    return all;
}

std::string written(unsigned threads, unsigned times, const schedule& order) {
    std::string text;
    EXPECT_TRUE(run_threads(writers(text, threads, times), order));
    return text;
}

TEST(Scheduler, WithoutPreemptionsOneThreadEndsBeforeTheNextBegins) {
    EXPECT_EQ(written(3, 2, {}), "aabbcc");
    EXPECT_EQ(written(3, 2, {2, {}}), "ccaabb");
}

TEST(Scheduler, APreemptionHandsOnBehindItsStep) {
    EXPECT_EQ(written(2, 2, {0, {1}}), "abba");
    EXPECT_EQ(written(2, 2, {0, {1, 2}}), "abab") << "back at the second step";
    EXPECT_EQ(written(3, 2, {0, {1, 2}}), "abccab");
    EXPECT_EQ(written(2, 2, {0, {100}}), "aabb") << "a step that does not come";
}

TEST(Scheduler, AllSchedulesWithOnePreemptionAreAllInterleavingsThatOneMakes) {
    std::set<std::string> texts;
    for (unsigned first = 0; first < 2; ++first) {
        std::string text;
        const std::uint64_t steps = run_threads(writers(text, 2, 2), {first, {}}).value();
        EXPECT_EQ(steps, 4u);
        texts.insert(text);
        for (std::uint64_t step = 1; step <= steps; ++step) texts.insert(written(2, 2, {first, {step}}));
    }
    EXPECT_EQ(texts, (std::set<std::string>{"aabb", "bbaa", "abba", "baab"}));
    // Of the six that there are, these take a second one.
    texts.insert(written(2, 2, {0, {1, 2}}));
    texts.insert(written(2, 2, {1, {1, 2}}));
    EXPECT_EQ(texts.size(), 6u);
}

TEST(Scheduler, ADrawnScheduleIsThatOfItsSeed) {
    std::set<std::vector<std::uint64_t>> drawn;
    for (std::uint64_t seed = 0; seed < 50; ++seed) {
        const schedule each = draw_schedule(seed, 3, 2, 10);
        EXPECT_EQ(each, draw_schedule(seed, 3, 2, 10));
        EXPECT_LT(each.first, 3u);
        EXPECT_LE(each.preemptions.size(), 2u);
        for (const std::uint64_t step : each.preemptions) EXPECT_TRUE(step >= 1 && step <= 10);
        EXPECT_TRUE(std::is_sorted(each.preemptions.begin(), each.preemptions.end()));
        drawn.insert(each.preemptions);
        EXPECT_EQ(written(3, 4, each), written(3, 4, each));
    }
    EXPECT_GT(drawn.size(), 20u);
    EXPECT_TRUE(draw_schedule(1, 2, 3, 0).preemptions.empty());
}

TEST(Scheduler, ThreadsAreNumberedInTheirOrder) {
    std::array<unsigned, 4> numbers{};
    functions all;
    for (unsigned& each : numbers) all.push_back([&each] { each = scheduled::thread(); });
    ASSERT_TRUE(run_threads(all, {3, {}}));
    EXPECT_EQ(numbers, (std::array<unsigned, 4>{0, 1, 2, 3}));
    EXPECT_FALSE(scheduled::is_on());
}

/// Calls f with a schedule for each place where two threads may be preempted once.
template <class F>
void with_every_preemption(F&& f) {
    for (unsigned first = 0; first < 2; ++first) {
        const std::uint64_t steps = f(schedule{first, {}});
        for (std::uint64_t step = 1; step <= steps; ++step) f(schedule{first, {step}});
    }
}

TEST(Scheduler, AMutexKeepsOthersOut) {
    std::set<std::string> texts;
    with_every_preemption([&](const schedule& order) {
        std::mutex mutex;
        std::string text;
        const auto write = [&](char letter) {
            const std::lock_guard guard(mutex);
            for (unsigned i = 0; i < 3; ++i) {
                text += letter;
                scheduled::step();
            }
        };
        const std::uint64_t steps = run_threads(functions{[&] { write('a'); }, [&] { write('b'); }}, order).value();
        texts.insert(text);
        return steps;
    });
    EXPECT_EQ(texts, (std::set<std::string>{"aaabbb", "bbbaaa"}));
}

TEST(Scheduler, AReadLockLetsReadersInAndAWriteLockNobody) {
    std::set<std::string> texts;
    with_every_preemption([&](const schedule& order) {
        std::shared_mutex mutex;
        std::string text;
        const auto write = [&](char letter) {
            text += letter;
            scheduled::step();
            text += letter;
        };
        const functions all{[&] {
                                const std::shared_lock guard(mutex);
                                write('r');
                            },
                            [&] {
                                {
                                    const std::shared_lock guard(mutex);
                                    write('s');
                                }
                                const std::unique_lock guard(mutex);
                                write('W');
                            }};
        const std::uint64_t steps = run_threads(all, order).value();
        texts.insert(text);
        return steps;
    });
    EXPECT_TRUE(texts.contains("rssr") || texts.contains("rssrWW"));
    for (const std::string& each : texts) EXPECT_NE(each.find("WW"), std::string::npos) << each;
}

TEST(Scheduler, AConditionVariableHandsOn) {
    with_every_preemption([](const schedule& order) {
        std::mutex mutex;
        std::condition_variable changed;
        std::string text;
        bool filled = false;
        const auto take_turns = [&](bool waits_for, char letter) {
            for (unsigned i = 0; i < 3; ++i) {
                std::unique_lock lock(mutex);
                changed.wait(lock, [&] { return filled == waits_for; });
                text += letter;
                filled = !filled;
                changed.notify_one();
            }
        };
        const functions all{[&] { take_turns(false, 'p'); }, [&] { take_turns(true, 'c'); }};
        const std::uint64_t steps = run_threads(all, order).value();
        EXPECT_EQ(text, "pcpcpc");
        return steps;
    });
}

TEST(Scheduler, ANotificationOfOneWakesWhoWaitsLongest) {
    std::mutex mutex;
    std::condition_variable changed;
    std::string text;
    const auto wait = [&](char letter) {
        std::unique_lock lock(mutex);
        changed.wait(lock);
        text += letter;
    };
    const auto notify = [&] {
        changed.notify_one();
        std::this_thread::yield();
        changed.notify_one();
    };
    ASSERT_TRUE(run_threads(functions{[&] { wait('a'); }, notify, [&] { wait('b'); }}, {2, {}}));
    EXPECT_EQ(text, "ba");
}

TEST(Scheduler, AWaitWithALimitEndsByItOnlyWhenNobodyElseCanGoOn) {
    using namespace std::chrono;
    std::mutex mutex;
    std::condition_variable changed;
    std::string text;
    const auto wait = [&](const char* name, hours limit) {
        std::unique_lock lock(mutex);
        const auto begin = steady_clock::now();
        const bool late = !changed.wait_for(lock, limit, [&] { return text.ends_with("go "); });
        text += std::string(name) + (late ? " late " : " woken ");
        EXPECT_EQ(late, steady_clock::now() - begin >= limit);
    };
    const auto write = [&] {
        text += "others ";
        changed.notify_all();
        std::this_thread::sleep_for(minutes(1));
        text += "write ";
    };
    const functions all{[&] { wait("long", hours(2)); }, [&] { wait("short", hours(1)); }, write};
    ASSERT_TRUE(run_threads(all, {}));
    EXPECT_EQ(text, "others write short late long late ");
    text.clear();
    ASSERT_TRUE(run_threads(functions{[&] { wait("long", hours(2)); },
                                      [&] {
                                          text += "go ";
                                          changed.notify_all();
                                      }},
                            {}));
    EXPECT_EQ(text, "go long woken ");
}

TEST(Scheduler, AThreadThatLooksAtTheClockSeesTimePass) {
    using namespace std::chrono;
    const auto began = steady_clock::now();
    const functions all{[] {
        const auto begin = system_clock::now();
        while (system_clock::now() - begin < milliseconds(100)) {
        }
        std::this_thread::sleep_until(steady_clock::now() + hours(1));
    }};
    ASSERT_TRUE(run_threads(all, {}));
    EXPECT_LT(steady_clock::now() - began, hours(1)) << "outside the run it is as late as it is";
}

TEST(Scheduler, ASpinThatYieldsLetsTheOtherGoOn) {
    bool done = false;
    unsigned looks = 0;
    const auto spin = [&] {
        while (!done) {
            ++looks;
            std::this_thread::yield();
        }
    };
    ASSERT_TRUE(run_threads(functions{spin, [&] { done = true; }}, {}));
    EXPECT_EQ(looks, 1u);
}

TEST(Scheduler, ADeadlockIsAnErrorThatSaysWhoWaitsForWhat) {
    // Threads that stay keep what they use.
    auto& first = *new std::mutex;
    auto& second = *new std::mutex;
    const auto lock_both = [](std::mutex& one, std::mutex& other) {
        one.lock();
        scheduled::step();
        other.lock();
        other.unlock();
        one.unlock();
    };
    unsigned deadlocks = 0;
    with_every_preemption([&](const schedule& order) {
        if (deadlocks != 0) return std::uint64_t{0};
        const functions all{[&] { lock_both(first, second); }, [&] { lock_both(second, first); }};
        const auto ran = run_threads(all, order);
        if (ran) return *ran;
        ++deadlocks;
        EXPECT_EQ(ran.error().code, errc::busy);
        char places[2][32];
        std::snprintf(places[0], sizeof places[0], "%p", static_cast<void*>(&first));
        std::snprintf(places[1], sizeof places[1], "%p", static_cast<void*>(&second));
        EXPECT_NE(ran.error().text().find("thread 0 waits for the mutex " + std::string(places[1])), std::string::npos)
            << ran.error().text();
        EXPECT_NE(ran.error().text().find("thread 1 waits for the mutex " + std::string(places[0])), std::string::npos);
        return std::uint64_t{0};
    });
    EXPECT_EQ(deadlocks, 1u) << "one preemption makes it";
}

TEST(Scheduler, AWaitThatNobodyEndsIsAnError) {
    auto& mutex = *new std::mutex;
    auto& changed = *new std::condition_variable;
    const auto ran = run_threads(functions{[&] {
                                               std::unique_lock lock(mutex);
                                               changed.wait(lock);
                                           },
                                           [] {}},
                                 {});
    ASSERT_FALSE(ran);
    EXPECT_NE(ran.error().text().find("thread 0 waits for the condition"), std::string::npos) << ran.error().text();
    EXPECT_NE(ran.error().text().find("thread 1 has ended"), std::string::npos);
}

TEST(Scheduler, ThreadsThatGoRoundInCirclesAreAnError) {
    const auto ran = run_threads(functions{[] {
                                     for (;;) scheduled::step();
                                 }},
                                 {});
    ASSERT_FALSE(ran);
    EXPECT_NE(ran.error().text().find("without end"), std::string::npos) << ran.error().text();
}

TEST(Scheduler, WhatAThreadThrowsTheCallerGetsAfterAllHaveEnded) {
    bool other_ended = false;
    const functions all{[] { throw std::runtime_error("thrown inside"); }, [&] { other_ended = true; }};
    EXPECT_THROW(static_cast<void>(run_threads(all, {})), std::runtime_error);
    EXPECT_TRUE(other_ended);
}

struct says_goodbye {
    explicit says_goodbye(std::string& to) : text(to) {}
    ~says_goodbye() {
        text += "(";
        scheduled::step();
        text += ")";
    }
    std::string& text;
};

TEST(Scheduler, TheEndOfThreadLocalsIsPartOfAThreadsTurn) {
    const auto leave = [](std::string& text) {
        static thread_local says_goodbye last(text);
        last.text += ".";
    };
    std::string text;
    ASSERT_TRUE(run_threads(functions{[&] { leave(text); }, [&] { leave(text); }}, {}));
    EXPECT_EQ(text, ".().()");
    text.clear();
    ASSERT_TRUE(run_threads(functions{[&] { leave(text); }, [&] { leave(text); }}, {0, {1}}));
    EXPECT_EQ(text, ".(.())");
}

TEST(Scheduler, WrongNumbersAreRefused) {
    const auto none = run_threads({}, {});
    ASSERT_FALSE(none);
    EXPECT_EQ(none.error().code, errc::invalid_argument);
    EXPECT_FALSE(run_threads(functions{[] {}}, {1, {}}));
    EXPECT_FALSE(run_threads(functions(threads_at_most + 1, [] {}), {}));
}

TEST(Scheduler, OtherThreadsLockAsEver) {
    std::mutex mutex;
    unsigned count = 0;
    std::vector<std::thread> threads;
    for (unsigned i = 0; i < 3; ++i)
        threads.emplace_back([&] {
            for (unsigned n = 0; n < 1000; ++n) {
                const std::lock_guard guard(mutex);
                ++count;
            }
        });
    for (std::thread& each : threads) each.join();
    EXPECT_EQ(count, 3000u);
}

}  // namespace
}  // namespace holdfast::crash
