// Transactions of several threads that share a commit: results, rollbacks and costs of each.
#include <holdfast/engine/engine_test_support.hpp>
#include <holdfast/handle/wrap.hpp>

#include <pthread.h>
#include <sys/wait.h>
#include <unistd.h>

#include <array>
#include <atomic>
#include <csignal>
#include <functional>
#include <mutex>
#include <new>
#include <stdexcept>
#include <thread>
#include <vector>

namespace holdfast {
namespace {

using namespace holdfast::test;

template <class Engine>
struct words {
    typename Engine::template field<std::uint64_t> values[64];
    typename Engine::template field<std::uint8_t> bytes[16];
    typename Engine::template field<const std::uint64_t*> blocks[16];
    template <class F>
    void visit_blocks(F&& f) const {
        for (const auto& each : blocks)
            if (each.get() != nullptr) f(each.get());
    }
};

template <class Engine>
class Combining : public testing::Test {
protected:
    Combining() : pool_({.bytes = 8 << 20}), data_(pool_->template root<words<Engine>>("words").value()) {}

    /// Runs the callers in threads of their own, while this thread leads: its function ends when all wait, in this
    /// order. Returns what this thread spent.
    persist::counters run_together(const std::vector<std::function<void()>>& callers) {
        const persist::counters before = persist::thread_counters();
        auto led = pool_->atomically(lock_, [&] {
            data_->values[63] = 1;
            for (const auto& each : callers) {
                const std::size_t waiting = lock_.waiting();
                threads_.emplace_back(each);
                while (lock_.waiting() == waiting) std::this_thread::yield();
            }
        });
        const persist::counters spent = persist::thread_counters() - before;
        for (std::thread& each : threads_) each.join();
        threads_.clear();
        EXPECT_TRUE(led);
        return spent;
    }
    void expect_home(std::initializer_list<std::uint64_t> expected) {
        const auto check = [&] {
            std::size_t at = 0;
            for (const std::uint64_t each : expected) {
                EXPECT_EQ(data_->values[at].get(), each) << "word " << at;
                ++at;
            }
        };
        check();
        if (!Engine::description.recovers) return;
        pool_.kill();
        check();
    }
    auto set(std::size_t at, std::uint64_t value) {
        return [this, at, value] {
            EXPECT_TRUE(pool_->atomically(lock_, [this, at, value] { data_->values[at] = value; }));
        };
    }

    test_pool<Engine> pool_;
    words<Engine>* data_;
    combining_mutex lock_;
    std::vector<std::thread> threads_;
};
#ifdef HOLDFAST_FEW_PLACES
using combined_engines = ::testing::Types<redo, undo, softwrap>;
#else
using combined_engines = all_engines;
#endif
TYPED_TEST_SUITE(Combining, combined_engines);

template <class Engine>
constexpr bool shares = detail::combines<Engine, combining_mutex>;

TYPED_TEST(Combining, FunctionsThatWaitShareOneFenceWhereTheEngineHasParts) {
    const persist::counters spent = this->run_together({this->set(0, 10), this->set(1, 11), this->set(2, 12)});
    if (shares<TypeParam>) {
        EXPECT_EQ(spent.fences, 1u);
    }
    this->expect_home({10, 11, 12});
}

TYPED_TEST(Combining, EachCallerHasItsOwnResult) {
    const auto returns = [&](std::size_t at) {
        return [&, at] {
            const auto returned = this->pool_->atomically(this->lock_, [&]() -> result<std::uint64_t> {
                this->data_->values[at] = at + 20;
                if (at == 1) return error{.code = errc::not_found, .what = "nothing"};
                return at + 100;
            });
            EXPECT_EQ(returned.has_value(), at != 1);
            if (at == 1) {
                EXPECT_EQ(code_of(returned), errc::not_found);
            } else {
                EXPECT_EQ(*returned, at + 100);
            }
        };
    };
    this->run_together({returns(0), returns(1), returns(2)});
    this->expect_home({20, 0, 22});
}

TYPED_TEST(Combining, AnExceptionReachesItsCallerAndTakesOnlyItsOwnWordsBack) {
    const auto throws = [&] {
        const auto overwrites = [&] {
            for (std::size_t at = 0; at < 40; ++at) this->data_->values[at] = 900 + at;
            for (auto& each : this->data_->bytes) each = 9;
            throw std::runtime_error("no");
        };
        EXPECT_THROW(ignore(this->pool_->atomically(this->lock_, overwrites)), std::runtime_error);
    };
    const auto stores = [&] {
        EXPECT_TRUE(this->pool_->atomically(this->lock_, [&] {
            for (std::size_t at = 0; at < 5; ++at) this->data_->values[at] = 30 + at;
            this->data_->bytes[1] = 1;
        }));
    };
    const auto goes_on = [&] {
        EXPECT_TRUE(this->pool_->atomically(this->lock_, [&] {
            EXPECT_EQ(this->data_->values[2], 32u) << "as the caller before left it";
            EXPECT_EQ(this->data_->values[5], 0u);
            EXPECT_EQ(this->data_->bytes[1].get(), 1u);
            EXPECT_EQ(this->data_->bytes[2].get(), 0u);
            this->data_->values[2] = 50;
            this->data_->values[5] = 51;
        }));
    };
    this->run_together({stores, throws, goes_on, throws});
    this->expect_home({30, 31, 50, 33, 34, 51, 0});
    EXPECT_EQ(this->data_->bytes[1].get(), 1u);
    EXPECT_EQ(this->data_->bytes[2].get(), 0u);
}

TYPED_TEST(Combining, TheLeaderMayFailAndTheOthersCommit) {
    std::thread other;
    const auto leads = [&] {
        return this->pool_->atomically(this->lock_, [&]() -> result<void> {
            this->data_->values[0] = 7;
            other = std::thread(this->set(1, 8));
            while (this->lock_.waiting() == 0) std::this_thread::yield();
            return error{.code = errc::busy, .what = "no"};
        });
    };
    EXPECT_EQ(code_of(leads()), errc::busy);
    other.join();
    this->expect_home({0, 8});
}

TYPED_TEST(Combining, ActionsRunOnTheThreadThatAskedWithItsOwnFate) {
    std::atomic<int> committed{0};
    std::atomic<int> aborted{0};
    const auto acts = [&](bool fails) {
        return [&, fails] {
            const auto caller = std::this_thread::get_id();
            ignore(this->pool_->atomically(this->lock_, [&, caller]() -> result<void> {
                TypeParam::on_commit([&, caller] { committed += std::this_thread::get_id() == caller ? 1 : 100; });
                TypeParam::on_abort([&, caller] { aborted += std::this_thread::get_id() == caller ? 1 : 100; });
                this->data_->values[0] = 3;
                if (fails) return error{.code = errc::busy, .what = "no"};
                return {};
            }));
        };
    };
    this->run_together({acts(false), acts(true), acts(false)});
    EXPECT_EQ(committed, 2);
    EXPECT_EQ(aborted, 1);
}

TYPED_TEST(Combining, ABlockOfAFunctionThatFailsIsFreeAgainAndThoseOfOthersStay) {
    const auto replaces = [&](std::size_t at, std::size_t bytes, bool fails) {
        return [&, at, bytes, fails] {
            const auto done = this->pool_->atomically(this->lock_, [&]() -> result<void> {
                if (auto* gone = this->data_->blocks[at].get()) TypeParam::deallocate(gone);
                auto* made = reinterpret_cast<std::uint64_t*>(TypeParam::allocate(bytes));
                this->data_->blocks[at] = made;
                const std::uint64_t value = at + bytes;
                TypeParam::template construct_at<const std::uint64_t>(made, value);
                if (fails) return error{.code = errc::busy, .what = "no"};
                return {};
            });
            EXPECT_NE(done.has_value(), fails);
        };
    };
    for (int round = 0; round < 40; ++round) {
        // Sizes that fill slabs, make others, and blocks of pages: what a part did that another may depend on.
        const std::size_t small = 16 + static_cast<std::size_t>(round) * 40;
        const std::size_t large = 5000 + static_cast<std::size_t>(round) * 1000;
        this->run_together({replaces(0, small, false), replaces(1, small, true), replaces(0, small + 8, true),
                            replaces(2, large, round % 3 == 0), replaces(3, small, false), replaces(2, small, true),
                            replaces(1, large, round % 2 == 0)});
    }
    EXPECT_TRUE(this->pool_.audit(*this->data_));
    const std::uint64_t kept = read_value<TypeParam>(this->data_->blocks[3].get());
    if (TypeParam::description.recovers) this->pool_.kill();
    EXPECT_TRUE(this->pool_.audit(*this->data_));
    EXPECT_EQ(read_value<TypeParam>(this->data_->blocks[3].get()), kept);
    // What was rolled back can be had again: nothing is lost until the pool is opened again.
    for (int round = 0; round < 100; ++round) this->run_together({replaces(1, 60'000, true), replaces(1, 3000, true)});
}

TYPED_TEST(Combining, AFunctionThatDoesNotFitFailsAlone) {
    if (!TypeParam::description.recovers) GTEST_SKIP() << "the engine has no log that could be too small";
    const auto is_too_large = [&] {
        const auto done = this->pool_->atomically(this->lock_, [&] {
            // Free pages, each second word of them: no run makes the record shorter.
            for (std::uint64_t i = 0; i < 20'000; ++i)
                current_transaction<TypeParam>().store(
                    reinterpret_cast<pool_word*>(this->pool_->core().base() + (2 << 20)) + i * 2, i, 0xFF);
        });
        EXPECT_EQ(code_of(done), errc::transaction_too_large);
    };
    this->run_together({this->set(0, 5), this->set(1, 6), is_too_large, this->set(2, 7)});
    this->expect_home({5, 6, 7});
}

TYPED_TEST(Combining, LocksOfAJoinedCallEndTheGroup) {
    std::mutex first;
    std::mutex second;
    const auto joins = [&](std::mutex& inner, std::size_t at) {
        return [&, at] {
            EXPECT_TRUE(this->pool_->atomically(this->lock_, [&] {
                EXPECT_TRUE(this->pool_->atomically(inner, this->lock_, [&] { this->data_->values[at] = at + 40; }));
            }));
        };
    };
    this->run_together({joins(first, 0), joins(second, 1), joins(first, 2)});
    EXPECT_TRUE(first.try_lock());
    EXPECT_TRUE(second.try_lock());
    first.unlock();
    second.unlock();
    this->expect_home({40, 41, 42});
}

TYPED_TEST(Combining, InsideATransactionOrWithOtherLocksItIsALockLikeOthers) {
    std::mutex other;
    ASSERT_TRUE(this->pool_->atomically(other, [&] {
        ASSERT_TRUE(this->pool_->atomically(this->lock_, [&] { this->data_->values[0] = 1; }));
        EXPECT_FALSE(this->lock_.try_lock());
    }));
    ASSERT_TRUE(this->pool_->atomically(other, this->lock_, [&] { this->data_->values[1] = 2; }));
    {
        const std::lock_guard guard(this->lock_);
        EXPECT_FALSE(this->lock_.try_lock());
        ASSERT_TRUE(this->pool_->atomically([&] { this->data_->values[2] = 3; }));
    }
    ASSERT_TRUE(this->lock_.try_lock());
    this->lock_.unlock();
    this->expect_home({1, 2, 3});
}

TYPED_TEST(Combining, WhoWantsTheLockAloneGetsItInTurn) {
    std::uint64_t seen = 0;
    const auto looks = [&] {
        const std::lock_guard guard(this->lock_);
        seen = this->data_->values[0].get();
    };
    this->run_together({this->set(0, 5), looks, this->set(0, 6)});
    EXPECT_EQ(seen, 5u);
    this->expect_home({6});
}

TYPED_TEST(Combining, CallsOfAnotherPoolAreNotOfTheGroup) {
    if constexpr (!TypeParam::description.recovers) GTEST_SKIP() << "the engine has no groups";
    test_pool<redo> second({.order = 1});
    auto* const theirs = second->root<words<redo>>("words").value();
    const auto elsewhere = [&] {
        EXPECT_TRUE(second->atomically(this->lock_, [&] { theirs->values[0] = 77; }));
    };
    this->run_together({this->set(0, 1), elsewhere, this->set(1, 2)});
    EXPECT_EQ(theirs->values[0].get(), 77u);
    this->expect_home({1, 2});
}

TYPED_TEST(Combining, AThreadThatEndsInAFunctionTakesTheGroupBackAndLetsOthersOn) {
    std::thread leader([&] {
        ignore(this->pool_->atomically(this->lock_, [&] {
            this->data_->values[0] = 1;
            this->threads_.emplace_back([&] {
                const auto done = this->pool_->atomically(this->lock_, [&] {
                    this->data_->values[1] = 2;
                    pthread_exit(nullptr);
                });
                EXPECT_TRUE(shares<TypeParam>);
                EXPECT_EQ(code_of(done), errc::aborted);
            });
            while (this->lock_.waiting() < 1) std::this_thread::yield();
            this->threads_.emplace_back(this->set(2, 3));
            while (this->lock_.waiting() < 2) std::this_thread::yield();
        }));
        EXPECT_FALSE(shares<TypeParam>) << "it ended in the function of another";
    });
    leader.join();
    for (std::thread& each : this->threads_) each.join();
    this->threads_.clear();
    this->expect_home({shares<TypeParam> ? 0u : 1u, 0, 3});
}

TYPED_TEST(Combining, ManyThreadsLoseNothing) {
    constexpr unsigned threads = 8;
    constexpr std::uint64_t rounds = 400;
    std::vector<std::thread> all;
    for (unsigned thread = 0; thread < threads; ++thread)
        all.emplace_back([&, thread] {
            for (std::uint64_t i = 0; i < rounds; ++i) {
                const bool fails = i % 7 == thread;
                const auto done = this->pool_->atomically(this->lock_, [&]() -> result<std::uint64_t> {
                    ++this->data_->values[thread];
                    const std::uint64_t now = ++this->data_->values[10];
                    if (auto* gone = this->data_->blocks[thread].get()) TypeParam::deallocate(gone);
                    this->data_->blocks[thread] = TypeParam::template make<const std::uint64_t>(now);
                    if (fails) return error{.code = errc::busy, .what = "no"};
                    return now;
                });
                ASSERT_NE(done.has_value(), fails);
                if (i % 50 == 0) {
                    const std::lock_guard guard(this->lock_);
                    ASSERT_GE(this->data_->values[10].get(), this->data_->values[thread].get());
                }
            }
        });
    for (std::thread& each : all) each.join();
    std::uint64_t sum = 0;
    for (unsigned thread = 0; thread < threads; ++thread) sum += this->data_->values[thread].get();
    EXPECT_EQ(this->data_->values[10].get(), sum);
    EXPECT_TRUE(this->pool_.audit(*this->data_));
    if (TypeParam::description.recovers) this->pool_.kill();
    EXPECT_EQ(this->data_->values[10].get(), sum);
}

TYPED_TEST(Combining, AFunctionThatIsDoomedFailsAlone) {
    const auto ignores_an_error = [&] {
        const auto done = this->pool_->atomically(this->lock_, [&] {
            this->data_->values[0] = 5;
            ignore(this->pool_->atomically([&]() -> result<void> {
                this->data_->values[1] = 6;
                return error{.code = errc::not_found, .what = "ignored"};
            }));
        });
        EXPECT_EQ(code_of(done), errc::not_found);
    };
    this->run_together({ignores_an_error, this->set(2, 7), ignores_an_error, this->set(3, 8)});
    this->expect_home({0, 0, 7, 8});
}

TYPED_TEST(Combining, AForkInAFunctionLeavesTheChildNothingOfTheGroup) {
    if (!TypeParam::description.recovers) GTEST_SKIP() << "the engine has no groups";
    std::atomic<pid_t> child{-1};
    const auto child_ends = [&](const result<void>& done) {
        const bool is_lost = code_of(done) == errc::misuse && this->lock_.try_lock();
        ::_exit(is_lost ? 0 : 1);
    };
    std::thread other;
    const auto led = this->pool_->atomically(this->lock_, [&] {
        this->data_->values[0] = 1;
        other = std::thread([&] {
            const auto done = this->pool_->atomically(this->lock_, [&] {
                this->data_->values[1] = 2;
                child = ::fork();
            });
            if (child == 0) child_ends(done);
            EXPECT_TRUE(done);
        });
        while (this->lock_.waiting() == 0) std::this_thread::yield();
    });
    if (child == 0) child_ends(led);
    EXPECT_TRUE(led);
    other.join();
    int status = 1;
    ASSERT_EQ(::waitpid(child.load(), &status, 0), child.load());
    EXPECT_TRUE(WIFEXITED(status) && WEXITSTATUS(status) == 0);
    this->expect_home({1, 2});
}

std::function<errc()>* in_handler = nullptr;
errc seen_in_handler{};
void handle(int) { seen_in_handler = (*in_handler)(); }

TYPED_TEST(Combining, ASignalHandlerInAFunctionIsRefused) {
    std::function<errc()> starts = [&] {
        return code_of(this->pool_->atomically(this->lock_, [&] { this->data_->values[1] = 9; }));
    };
    in_handler = &starts;
    const auto before = std::signal(SIGUSR1, handle);
    const auto raises = [&] {
        EXPECT_TRUE(this->pool_->atomically(this->lock_, [&] {
            seen_in_handler = errc::not_found;
            std::raise(SIGUSR1);
            EXPECT_EQ(seen_in_handler, errc::misuse);
            this->data_->values[0] = 4;
        }));
    };
    this->run_together({raises, this->set(2, 5)});
    std::signal(SIGUSR1, before);
    this->expect_home({4, 0, 5});
}

template <class Engine>
class CombiningOfWraps : public testing::Test {};
TYPED_TEST_SUITE(CombiningOfWraps, wrapping_engines);

TYPED_TEST(CombiningOfWraps, AGroupWhoseOnlyStoresAreTakenBackGivesItsPlaceInTheLogUp) {
    struct many {
        typename TypeParam::template field<std::uint64_t> values[300];
    };
    test_pool<TypeParam> pool({.bytes = 8 << 20});
    auto* const data = pool->template root<many>("many").value();
    combining_mutex lock;
    const auto bytes_sent_early = [&] {
        const std::uint64_t before = persist::thread_counters().streamed_bytes;
        for (auto& each : data->values) each = 2;
        return persist::thread_counters().streamed_bytes - before;
    };
    std::thread other;
    const auto led = pool->atomically(lock, [&]() -> result<void> {
        other = std::thread([&] { pool->atomically(lock, [&] { return data->values[0].get(); }).value(); });
        while (lock.waiting() == 0) std::this_thread::yield();
        EXPECT_GT(bytes_sent_early(), 0u);
        return error{.code = errc::not_found, .what = "nothing"};
    });
    other.join();
    EXPECT_EQ(code_of(led), errc::not_found);
    // Only one of a thread's wraps and transactions has the place.
    struct plain {
        std::uint64_t values[300];
    };
    auto* const wrapped = pool->template plain_root<plain>("plain").value();
    auto wrap = OpenWrap(*pool);
    const std::uint64_t before = persist::thread_counters().streamed_bytes;
    for (auto& each : wrapped->values) wrapStore(wrap, &each, std::uint64_t{77});
    EXPECT_GT(persist::thread_counters().streamed_bytes, before);
    EXPECT_TRUE(CloseWrap(wrap));
    pool.kill();
    EXPECT_EQ(read_value<TypeParam>(&wrapped->values[299]), 77u);
}

TEST(CombiningOnAFile, EveryCallerIsDurableWhenItReturns) {
    test_pool<redo> pool({.bytes = 4 << 20, .directory = "."});
    auto* const data = pool->root<words<redo>>("words").value();
    combining_mutex lock;
    std::atomic<std::uint64_t> acknowledged{0};
    std::vector<std::thread> threads;
    for (unsigned thread = 0; thread < 4; ++thread)
        threads.emplace_back([&, thread] {
            for (unsigned i = 0; i < 40; ++i) {
                const bool fails = i % 5 == thread;
                const auto done = pool->atomically(lock, [&]() -> result<void> {
                    ++data->values[0];
                    ++data->values[1 + thread];
                    if (fails) return error{.code = errc::busy, .what = "no"};
                    return {};
                });
                ASSERT_NE(done.has_value(), fails);
                acknowledged += done ? 1 : 0;
            }
        });
    for (std::thread& each : threads) each.join();
    pool.kill();
    EXPECT_EQ(data->values[0].get(), acknowledged);
    std::uint64_t sum = 0;
    for (unsigned thread = 0; thread < 4; ++thread) sum += data->values[1 + thread].get();
    EXPECT_EQ(sum, acknowledged);
}

}  // namespace
}  // namespace holdfast
