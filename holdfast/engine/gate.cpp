#include <holdfast/engine/gate.hpp>

#include <holdfast/engine/run.hpp>
#include <holdfast/line/medium.hpp>
#include <holdfast/log/lanes.hpp>

#include <pthread.h>

#include <mutex>
#include <string>
#include <utility>

namespace holdfast::detail {
namespace {

/// The engines that this thread has used.
inline constinit thread_local thread_state* states_of_thread = nullptr;

error misuse(std::string what, const open_pool* pool = nullptr) {
    error reason{.code = errc::misuse, .what = std::move(what)};
    if (pool != nullptr) reason.path = pool->path();
    return reason;
}

bool in_transaction_on(const open_pool& pool) noexcept {
    return open_transaction != nullptr && open_transaction->pool() == &pool;
}

bool in_line_transaction_on(const open_pool& pool) noexcept {
    for (const auto* each = line_medium_state::innermost; each != nullptr; each = each->outer)
        if (pool.contains(each->object)) return true;
    return false;
}

/// Destroyed with the last action of a transaction.
struct pool_to_let_go {
    std::unique_ptr<open_pool> pool;
    letting_go how;
    pool_to_let_go(std::unique_ptr<open_pool> given, letting_go way) noexcept : pool(std::move(given)), how(way) {}
    ~pool_to_let_go() {
        if (pool && how == letting_go::abandons) pool->abandon();
    }
    pool_to_let_go(const pool_to_let_go&) = delete;
    pool_to_let_go& operator=(const pool_to_let_go&) = delete;
};

void let_go_after_transaction(std::unique_ptr<open_pool> pool, letting_go how) {
    transaction_base& open = *open_transaction;
    open_pool& leaked_if_this_throws = *pool.release();
    open.doom(misuse("the pool's handle was released inside a transaction on it", &leaked_if_this_throws));
    // Room first: then only one thing is left that may fail, and the pool stays open if it does.
    open.on_commit.reserve(open.on_commit.size() + 1);
    open.on_abort.reserve(open.on_abort.size() + 1);
    auto shared = std::make_shared<pool_to_let_go>(nullptr, how);
    open.on_commit.emplace_back([shared] { static_cast<void>(shared); });
    open.on_abort.emplace_back([shared] { static_cast<void>(shared); });
    shared->pool.reset(&leaked_if_this_throws);
}

}  // namespace

void lose_transactions() noexcept {
    for (thread_state* each = states_of_thread; each != nullptr; each = each->next_) each->lose();
}

void begin_thread() noexcept { lane_log::begin_thread(); }

thread_state::thread_state() : next_(states_of_thread) {
    static std::once_flag registered;
    std::call_once(registered, [] { pthread_atfork(nullptr, nullptr, lose_transactions); });
    begin_thread();
    states_of_thread = this;
}

thread_state::~thread_state() {
    thread_state** link = &states_of_thread;
    while (*link != nullptr && *link != this) link = &(*link)->next_;
    if (*link != nullptr) *link = next_;
}

error closed_error() { return misuse("the pool is closed"); }

error lost_in_child() {
    return misuse("the process was forked inside the transaction; it continues in the parent only");
}

kept_error refused_by_stage() {
    if (!thread_is_gone()) return refused_in_signal_handler();
    return keep(misuse("the thread is ending and its state is destroyed; use the pool earlier"));
}

result<void> check_entry_without_pool() {
    if (is_handler_frame(__builtin_frame_address(0), __builtin_return_address(0))) return refused_in_signal_handler();
    return {};
}

result<void> check_entry(const open_pool* pool, inside_transaction rule) {
    if (pool == nullptr) return closed_error();
    if (pool->is_inherited()) return refused_in_child(*pool);
    if (is_handler_frame(__builtin_frame_address(0), __builtin_return_address(0))) return refused_in_signal_handler();
    if (rule == inside_transaction::allowed) return {};
    if (pool->is_in_barrier_here()) return refused_in_barrier(*pool);
    if (in_transaction_on(*pool) || in_line_transaction_on(*pool)) {
        error reason = misuse("the call would wait for the enclosing transaction, or close its pool", pool);
        reason.remedy = "make the call when atomically has returned";
        return reason;
    }
    return {};
}

void require_entry(const open_pool* pool, inside_transaction rule) {
    if (auto entered = check_entry(pool, rule); !entered) throw failure(entered.error());
}

bool can_let_go(const open_pool& pool) noexcept {
    if (pool.is_inherited()) return true;
    return !inside_signal_handler() && !in_transaction_on(pool) && !in_line_transaction_on(pool) &&
           !pool.is_in_barrier_here();
}

void let_go(std::unique_ptr<open_pool> pool, letting_go how) noexcept {
    if (!pool) return;
    if (can_let_go(*pool)) {
        if (how == letting_go::abandons) pool->abandon();
        return;
    }
    if (inside_signal_handler() || !in_transaction_on(*pool)) {
        static_cast<void>(pool.release());
        return;
    }
    try {
        let_go_after_transaction(std::move(pool), how);
    } catch (const std::bad_alloc&) {
        // Then it stays open until the process ends.
    }
}

}  // namespace holdfast::detail
