// What a failure does to the open transaction when it goes on: nothing, or it dooms it.
//
// A function that is strong does all that may fail first, on blocks that nothing names and on bytes
// that nobody reads, and then changes what others see. What fails in between, such as a store without
// room in the log, leaves a change half made: the transaction is then doomed.
#pragma once

#include <holdfast/engine/transaction.hpp>

#include <cstddef>
#include <exception>
#include <memory>
#include <type_traits>
#include <utility>

#ifdef HOLDFAST_OBSERVED
#include <holdfast/persist/observer.hpp>
#endif

namespace holdfast::detail {

/// Dooms the transaction for the exception that is being handled. Requires: inside a handler.
void doom_by_exception(transaction_base& transaction) noexcept;

/// The same, and the exception goes on; a failure then says that the transaction is doomed.
[[noreturn]] void rethrow_doomed(transaction_base& transaction);

/// Runs f. The transaction is doomed when an exception leaves.
template <class F>
decltype(auto) all_or_doom(transaction_base& transaction, F&& f) {
    try {
        return f();
#ifdef HOLDFAST_OBSERVED
    } catch (const persist::simulated_crash&) {
        throw;
#endif
    } catch (...) {
        rethrow_doomed(transaction);
    }
}

/// Runs f, which frees something, in a destructor: what fails dooms the transaction, and does not leave while another
/// exception is on its way.
template <class F>
void free_or_doom(transaction_base& transaction, F&& f) {
    try {
        f();
#ifdef HOLDFAST_OBSERVED
    } catch (const persist::simulated_crash&) {
        if (std::uncaught_exceptions() == 0) throw;
#endif
    } catch (...) {
        if (std::uncaught_exceptions() == 0) rethrow_doomed(transaction);
        doom_by_exception(transaction);
    }
}

/// Runs the destructor of an object in the pool. One that must not throw does not: of an engine that isolates by itself
/// a conflict waits until it is through.
/// Requires: a transaction is open.
template <class T>
void destroy_in_pool(T* object) {
    if constexpr (std::is_nothrow_destructible_v<T>) {
        transaction_base& transaction = *open_transaction;
        transaction.hold_conflicts();
        std::destroy_at(object);
        transaction.release_conflicts();
    } else {
        std::destroy_at(object);
    }
}

/// A block that nothing names yet: it is freed again unless somebody keeps it. Inside a transaction.
template <class Engine>
class new_block {
public:
    new_block() = default;
    /// Throws failure as Engine::allocate.
    new_block(std::size_t bytes, std::size_t alignment) : block_(Engine::allocate_block(bytes, alignment)) {}
    new_block(new_block&& other) noexcept : block_(std::exchange(other.block_, {})) {}
    new_block& operator=(new_block&& other) noexcept {
        std::swap(block_, other.block_);
        return *this;
    }
    ~new_block() {
        if (block_.address != nullptr) give_back();
    }

    explicit operator bool() const noexcept { return block_.address != nullptr; }
    std::size_t bytes() const noexcept { return block_.bytes; }
    template <class T>
    T* as() const noexcept {
        return reinterpret_cast<T*>(block_.address);
    }
    /// Frees it now. Dooms the transaction when that fails.
    void free() {
        all_or_doom(current_transaction<Engine>(), [&] { Engine::deallocate(std::exchange(block_.address, nullptr)); });
    }
    /// Somebody names the block now.
    void keep() noexcept { block_.address = nullptr; }

private:
    void give_back() noexcept {
        auto& transaction = current_transaction<Engine>();
        try {
            Engine::deallocate(block_.address);
#ifdef HOLDFAST_OBSERVED
        } catch (const persist::simulated_crash&) {
            // The process "died" before: nothing is freed any more.
            return;
#endif
        } catch (...) {
            doom_by_exception(transaction);
        }
    }

    heap_block block_;
};

}  // namespace holdfast::detail
