// What a transaction promises, whatever the engine.
#include <holdfast/engine/engine_test_support.hpp>

#include <csignal>
#include <cstring>
#include <exception>
#include <functional>
#include <mutex>
#include <shared_mutex>
#include <thread>
#include <vector>

namespace holdfast {
namespace {

using namespace holdfast::test;

error no_such_thing() {
    error reason;
    reason.code = errc::not_found;
    reason.what = "no such thing";
    return reason;
}

template <class Engine>
class Transaction : public ::testing::Test {
protected:
    template <class T>
    using field = typename Engine::template field<T>;
    struct account {
        field<long> left, right;
    };

    account* make() { return this->pool->template root<account>("account").value(); }
    void expect(long left, long right) const {
        EXPECT_EQ(data->left, left);
        EXPECT_EQ(data->right, right);
    }
    /// Whether another thread could take the lock now.
    template <class Lock>
    static bool is_free(Lock& lock) {
        bool taken = false;
        std::thread([&] {
            taken = lock.try_lock();
            if (taken) lock.unlock();
        }).join();
        return taken;
    }

    test_pool<Engine> pool;
    account* data = make();
};
TYPED_TEST_SUITE(Transaction, all_engines);

TYPED_TEST(Transaction, CommitsAndReturnsWhatTheFunctionReturns) {
    const auto sum = this->pool->atomically([&] {
        this->data->left = 3;
        this->data->right = 4;
        return this->data->left + this->data->right;
    });
    ASSERT_TRUE(sum);
    EXPECT_EQ(*sum, 7);
    this->expect(3, 4);
}

TYPED_TEST(Transaction, AUserExceptionRollsBackAndPropagates) {
    EXPECT_THROW(ignore(this->pool->atomically([&] {
                     this->data->left = 3;
                     throw std::string("mine");
                 })),
                 std::string);
    this->expect(0, 0);
    EXPECT_FALSE(TypeParam::in_transaction());
    ASSERT_TRUE(this->pool->atomically([&] { this->data->left = 5; }));
    this->expect(5, 0);
}

TYPED_TEST(Transaction, ALibraryFailureRollsBackAndIsReturned) {
    const auto done = this->pool->atomically([&] {
        this->data->left = 3;
        fail(errc::not_found, "no such thing");
    });
    EXPECT_EQ(code_of(done), errc::not_found);
    this->expect(0, 0);
}

TYPED_TEST(Transaction, AReturnedErrorRollsBackAndIsReturned) {
    const auto done = this->pool->atomically([&]() -> result<int> {
        this->data->left = 3;
        return no_such_thing();
    });
    EXPECT_EQ(code_of(done), errc::not_found);
    this->expect(0, 0);
}

TYPED_TEST(Transaction, AnInnerCallJoinsTheOuter) {
    bool inner_committed = false;
    EXPECT_THROW(ignore(this->pool->atomically([&] {
                     this->data->left = 1;
                     const auto inner = this->pool->atomically([&] {
                         this->data->right = this->data->left + 1;
                         return 9;
                     });
                     inner_committed = inner && *inner == 9;
                     EXPECT_EQ(this->data->right, 2);
                     throw 1;
                 })),
                 int);
    EXPECT_TRUE(inner_committed);
    this->expect(0, 0);
}

TYPED_TEST(Transaction, AnExceptionThatLeavesAnInnerCallDoomsTheOuter) {
    const auto done = this->pool->atomically([&] {
        this->data->left = 1;
        try {
            ignore(this->pool->atomically([] { throw 1; }));
        } catch (int) {
        }
    });
    EXPECT_EQ(code_of(done), errc::aborted);
    this->expect(0, 0);
}

TYPED_TEST(Transaction, AnInnerErrorThatIsSwallowedStillDoomsTheOuter) {
    for (const bool thrown : {false, true}) {
        const auto done = this->pool->atomically([&] {
            this->data->left = 1;
            const auto inner = this->pool->atomically([&]() -> result<void> {
                if (thrown) fail(errc::not_found, "no such thing");
                return no_such_thing();
            });
            EXPECT_EQ(code_of(inner), errc::not_found);
        });
        EXPECT_EQ(code_of(done), errc::not_found);
        this->expect(0, 0);
    }
    EXPECT_TRUE(this->pool->atomically([&] { this->data->left = 1; })) << "the doom ends with its transaction";
}

TYPED_TEST(Transaction, TwoPoolsInOneAreMisuseAndNeitherIsChanged) {
    test_pool<TypeParam> other({.order = 1});
    auto* there = other->template root<typename TestFixture::account>("account").value();
    const auto done = this->pool->atomically([&] {
        this->data->left = 1;
        EXPECT_EQ(code_of(other->atomically([&] { there->left = 1; })), errc::misuse);
    });
    EXPECT_EQ(code_of(done), errc::misuse) << "half of it would be missing";
    this->expect(0, 0);
    EXPECT_EQ(there->left, 0);
}

TYPED_TEST(Transaction, AWriteOutsideIsMisuseAndChangesNothing) {
    const auto misused = [](auto&& f) {
        try {
            f();
            return false;
        } catch (const failure& reason) {
            return reason.reason().code == errc::misuse;
        }
    };
    EXPECT_TRUE(misused([&] { this->data->left = 1; }));
    EXPECT_TRUE(misused([&] { ++this->data->left; }));
    EXPECT_TRUE(misused([&] { TypeParam::allocate(16); }));
    EXPECT_TRUE(misused([&] { TypeParam::deallocate(this->data); }));
    EXPECT_TRUE(misused([&] { TypeParam::fill_zero(this->data, 8); }));
    EXPECT_TRUE(misused([&] { TypeParam::on_commit([] {}); }));
    this->expect(0, 0);
}

TYPED_TEST(Transaction, AnExchangeWithAFieldOutsideThePoolIsMisuseAndLosesNoValue) {
    typename TestFixture::template field<long> outside, another;
    ASSERT_TRUE(this->pool->atomically([&] {
        this->data->left = 1;
        this->data->right = 2;
        outside = 3;
        another = 4;
    }));
    const auto out = this->pool->atomically([&] { swap(this->data->left, outside); });
    EXPECT_EQ(code_of(out), errc::misuse);
    const auto in = this->pool->atomically([&] { swap(outside, this->data->left); });
    EXPECT_EQ(code_of(in), errc::misuse);
    this->expect(1, 2);
    EXPECT_EQ(outside, 3) << "rolled back it would be nowhere";
    ASSERT_TRUE(this->pool->atomically([&] {
        swap(this->data->left, this->data->right);
        swap(outside, another);
        EXPECT_EQ(this->data->left, 2);
    }));
    this->expect(2, 1);
    EXPECT_EQ(outside, 4);
    EXPECT_EQ(another, 3);
}

TYPED_TEST(Transaction, RollingBackStoresToNoFieldOutsideThePool) {
    // It may be gone by then: its place on the stack is another's.
    typename TestFixture::template field<long> outside;
    EXPECT_THROW(ignore(this->pool->atomically([&] {
                     outside = 1;
                     outside = 2;
                     this->data->left = 3;
                     throw 1;
                 })),
                 int);
    EXPECT_EQ(outside, 2);
    this->expect(0, 0);
}

TYPED_TEST(Transaction, LocksAreHeldDuringTheCallAndFreeAfterwards) {
    std::mutex one;
    std::shared_mutex two;
    ASSERT_TRUE(this->pool->atomically(one, two, [&] {
        EXPECT_FALSE(this->is_free(one));
        EXPECT_FALSE(this->is_free(two));
    }));
    EXPECT_TRUE(this->is_free(one) && this->is_free(two));
    EXPECT_THROW(ignore(this->pool->atomically(one, [&] { throw 1; })), int);
    EXPECT_TRUE(this->is_free(one));
}

TYPED_TEST(Transaction, LocksOfAnInnerCallAreHeldUntilTheOuterIsDecided) {
    std::mutex outer, inner, second;
    for (const bool commits : {true, false}) {
        try {
            ignore(this->pool->atomically(outer, [&] {
                const auto write = [&] { this->data->left = 1; };
                for (int i = 0; i < 2; ++i) EXPECT_TRUE(this->pool->atomically(inner, second, write));
                EXPECT_TRUE(this->pool->atomically(outer, [&] { this->data->right = 1; })) << "held already";
                EXPECT_FALSE(this->is_free(inner)) << "its writes are not committed yet";
                EXPECT_FALSE(this->is_free(second));
                EXPECT_FALSE(this->is_free(outer));
                if (!commits) throw 1;
            }));
        } catch (int) {
        }
        EXPECT_TRUE(this->is_free(inner) && this->is_free(second) && this->is_free(outer));
    }
}

TYPED_TEST(Transaction, SideEffectsRunInOrderAfterTheLocksAreFree) {
    std::mutex lock;
    std::string seen;
    ASSERT_TRUE(this->pool->atomically(lock, [&] {
        TypeParam::on_commit([&] { seen += this->is_free(lock) ? 'a' : 'x'; });
        TypeParam::on_abort([&] { seen += 'z'; });
        TypeParam::on_commit([&] {
            seen += 'b';
            // An action may run transactions of its own.
            ignore(this->pool->atomically([&] {
                this->data->left = 8;
                TypeParam::on_commit([&] { seen += 'c'; });
            }));
        });
    }));
    EXPECT_EQ(seen, "abc");
    this->expect(8, 0);
    seen.clear();
    EXPECT_THROW(ignore(this->pool->atomically(lock, [&] {
                     TypeParam::on_commit([&] { seen += 'z'; });
                     TypeParam::on_abort([&] { seen += this->is_free(lock) ? 'a' : 'x'; });
                     TypeParam::on_abort([&] { seen += this->data->left.get() == 8 ? 'b' : 'x'; });
                     this->data->left = 9;
                     throw 1;
                 })),
                 int);
    EXPECT_EQ(seen, "ab");
    ASSERT_TRUE(this->pool->atomically([&] { this->data->left = 1; }));
    EXPECT_EQ(seen, "ab") << "actions are forgotten with their transaction";
}

std::vector<std::string> thrown_by_actions;
void note_thrown(std::exception_ptr thrown) noexcept {
    try {
        std::rethrow_exception(std::move(thrown));
    } catch (const std::string& what) {
        thrown_by_actions.push_back(what);
    } catch (...) {
        thrown_by_actions.push_back("something else");
    }
}

TYPED_TEST(Transaction, AnActionThatThrowsChangesNeitherTheOutcomeNorTheOtherActions) {
    const action_failure_handler before = set_action_failure_handler(&note_thrown);
    thrown_by_actions.clear();
    std::string seen;
    const auto done = this->pool->atomically([&] {
        TypeParam::on_commit([&] { seen += 'a'; });
        TypeParam::on_commit([] { throw std::string("first"); });
        TypeParam::on_commit([&] { seen += 'b'; });
        TypeParam::on_commit([] { throw 2; });
        TypeParam::on_commit([&] { seen += 'c'; });
        this->data->left = 4;
        return 7;
    });
    ASSERT_TRUE(done) << "it is committed";
    EXPECT_EQ(*done, 7);
    this->expect(4, 0);
    EXPECT_EQ(seen, "abc");
    EXPECT_EQ(thrown_by_actions, (std::vector<std::string>{"first", "something else"}));
    seen.clear();
    thrown_by_actions.clear();
    EXPECT_THROW(ignore(this->pool->atomically([&] {
                     TypeParam::on_abort([] { throw std::string("aborted"); });
                     TypeParam::on_abort([&] { seen += 'd'; });
                     this->data->left = 5;
                     throw 1;
                 })),
                 int)
        << "what left f, not what left the action";
    EXPECT_EQ(code_of(this->pool->atomically([&]() -> result<void> {
        TypeParam::on_abort([] { throw std::string("refused"); });
        TypeParam::on_abort([&] { seen += 'e'; });
        return no_such_thing();
    })), errc::not_found);
    EXPECT_EQ(seen, "de");
    EXPECT_EQ(thrown_by_actions, (std::vector<std::string>{"aborted", "refused"}));
    this->expect(4, 0);
    EXPECT_EQ(set_action_failure_handler(before), &note_thrown);
}

TYPED_TEST(Transaction, WhatAnActionThrowsIsPrintedWhereNobodyAskedForIt) {
    testing::internal::CaptureStderr();
    ASSERT_TRUE(this->pool->atomically([] {
        TypeParam::on_commit([] { throw failure(no_such_thing()); });
        TypeParam::on_commit([] { throw 1; });
    }));
    EXPECT_EQ(testing::internal::GetCapturedStderr(),
              "holdfast: an action of a transaction threw: no such thing\n"
              "holdfast: an action of a transaction threw something that is not a std::exception\n");
}

TYPED_TEST(Transaction, AnEmptyWriteSetCostsNothingOnTheMedium) {
    const auto before = persist::thread_counters();
    for (int i = 0; i < 10; ++i) {
        ASSERT_TRUE(this->pool->atomically([&] { return this->data->left.get(); }));
        EXPECT_THROW(ignore(this->pool->atomically([&] { throw this->data->left.get(); })), long);
    }
    EXPECT_TRUE(persist::thread_counters() - before == persist::counters{});
}

std::function<void()> in_handler;
void handler(int) { in_handler(); }

TYPED_TEST(Transaction, AreRefusedInSignalHandlers) {
    struct sigaction action {}, before {};
    action.sa_handler = handler;
    ASSERT_EQ(::sigaction(SIGUSR1, &action, &before), 0);
    int refused = 0;
    in_handler = [&] {
        const auto done = this->pool->atomically([&] { this->data->left = 1; });
        if (!done && done.error().code == errc::misuse) ++refused;
    };
    // The same call site as in the handler, before it: having been here must not vouch for the handler.
    in_handler();
    ASSERT_EQ(refused, 0);
    this->expect(1, 0);
    ::raise(SIGUSR1);
    EXPECT_EQ(refused, 1);
    ::raise(SIGUSR1);
    EXPECT_EQ(refused, 2);
    EXPECT_TRUE(this->pool->atomically([&] {
        this->data->right = 1;
        ::raise(SIGUSR1);
    })) << "the interrupted transaction is not to blame";
    EXPECT_EQ(refused, 3);
    this->expect(1, 1);
    ::sigaction(SIGUSR1, &before, nullptr);
}

TYPED_TEST(Transaction, CommitsAreThereAfterClosingAndAfterAKill) {
    ASSERT_TRUE(this->pool->atomically([&] { this->data->left = 6; }));
    this->pool.reopen();
    this->expect(6, 0);
    ASSERT_TRUE(this->pool->atomically([&] { this->data->right = 7; }));
    if (TypeParam::description.recovers) this->pool.kill();
    this->expect(6, 7);
    EXPECT_EQ(this->make(), this->data);
}

TYPED_TEST(Transaction, OutOfSpaceChangesNothingAndThePoolGoesOn) {
    const auto before = this->pool->usage().allocated_bytes;
    const auto done = this->pool->atomically([&] {
        this->data->left = 1;
        TypeParam::allocate(8 << 20);
    });
    EXPECT_EQ(code_of(done), errc::out_of_space);
    EXPECT_EQ(done.error().path, this->pool->core().path());
    const auto greedy = this->pool->atomically([&] {
        for (;;) TypeParam::allocate(1000);
    });
    EXPECT_TRUE(code_of(greedy) == errc::out_of_space || code_of(greedy) == errc::transaction_too_large);
    this->expect(0, 0);
    EXPECT_EQ(this->pool->usage().allocated_bytes, before);
    ASSERT_TRUE(this->pool->atomically([&] { this->data->left = 2; }));
    if (TypeParam::description.recovers) this->pool.kill();
    this->expect(2, 0);
}

TYPED_TEST(Transaction, MoreThanTheLogHoldsIsRefusedAndChangesNothing) {
    constexpr std::size_t bytes = 200 << 10;
    auto big = this->pool->atomically([] { return TypeParam::allocate(bytes); });
    ASSERT_TRUE(big) << big.error().text();
    ASSERT_TRUE(this->pool->checkpoint());
    const std::vector<std::byte> before(*big, *big + bytes);
    const auto done = this->pool->atomically([&] {
        this->data->left = 1;
        for (std::size_t at = 0; at < bytes; at += 64) {
            const std::uint64_t value = at;
            store_value(current_transaction<TypeParam>(), *big + at, value);
            store_value(current_transaction<TypeParam>(), *big + at + 32, value);
        }
    });
    if (!TypeParam::description.recovers) {
        EXPECT_TRUE(done) << "nothing is logged";
        return;
    }
    EXPECT_EQ(code_of(done), errc::transaction_too_large);
    this->expect(0, 0);
    EXPECT_EQ(std::memcmp(*big, before.data(), bytes), 0);
    for (int i = 0; i < 3000; ++i) ASSERT_TRUE(this->pool->atomically([&] { this->data->left = i; }));
    this->pool.kill();
    this->expect(2999, 0);
    EXPECT_EQ(std::memcmp(*big, before.data(), bytes), 0);
}

}  // namespace
}  // namespace holdfast
