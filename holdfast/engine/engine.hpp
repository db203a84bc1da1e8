// The interface of an engine for programs: `using store = holdfast::redo;` and then store::pool, store::field<T>,
// store::make<T>(…). To change the engine, change that one line.
#pragma once

#include <holdfast/engine/actions.hpp>
#include <holdfast/engine/change.hpp>
#include <holdfast/engine/field.hpp>
#include <holdfast/engine/lives_in_pool.hpp>
#include <holdfast/engine/pair_field.hpp>
#include <holdfast/engine/run.hpp>
#include <holdfast/engine/transaction.hpp>

#include <cstddef>
#include <memory>
#include <type_traits>
#include <utility>

namespace holdfast {

template <class Engine>
class basic_pool;
template <class Engine, class T>
class basic_wrapped;

namespace detail {

/// Calls run(function) in a transaction of its own on the pool that holds `object`. Compiled once for each engine:
/// containers have hundreds of functions, and what a program calls outside transactions is not its fastest path.
/// It checks for a signal handler on the stack itself: run_transaction would see the same caller for all of them.
template <class Engine>
[[gnu::noinline]] void run_alone(const void* object, void* function, void (*run)(void*)) {
    if (is_handler_frame(__builtin_frame_address(0), __builtin_return_address(0))) [[unlikely]]
        throw_failure(*refused_in_signal_handler());
    open_pool* pool = find_open_pool(object);
    if (pool == nullptr || pool->engine_name() != Engine::description.name ||
        pool->isolation() != Engine::description.isolation ||
        pool->where_aliases_are() != Engine::description.aliases)
        fail(errc::misuse, "the object is in no open pool of this engine");
    const auto call = [&] { run(function); };
    run_transaction<Engine>(*pool, call).value();
}

}  // namespace detail

/// The names every engine has. Empty; never instantiated by users.
template <class Engine>
struct engine_interface {
    using pool = basic_pool<Engine>;
    /// Whether its transactions can be opened by hand (wrap.hpp).
    static constexpr bool opens_wraps = false;
    /// Whether committed values may be in alias tables of the pool instead of at home. `Engine::read` finds them.
    static constexpr bool has_shared_aliases = false;
    /// Whether transactions isolate themselves, and run again after a conflict.
    static constexpr bool isolates = false;
    template <class T>
    using field = basic_field<Engine, T>;

    /// Allocates `bytes` of the open transaction's pool, uninitialised. Requires: inside a transaction.
    /// What holds if the process dies inside: a block of an uncommitted transaction is free again. Throws failure:
    /// out_of_space, misuse (outside a transaction).
    static std::byte* allocate(std::size_t bytes, std::size_t alignment = 16) {
        return Engine::allocate_block(bytes, alignment).address;
    }
    /// The same, with the block's usable size.
    static heap_block allocate_block(std::size_t bytes, std::size_t alignment) {
        return current_transaction<Engine>().allocate(bytes, alignment);
    }

    /// Frees a block; it is reused only after the commit is durable (cc_htm: numbered). nullptr does nothing.
    /// Throws failure: misuse (not an allocated block, or outside a transaction).
    static void deallocate(const void* address) {
        auto& transaction = current_transaction<Engine>();
        if (address != nullptr) transaction.deallocate(const_cast<void*>(address));
    }

    /// Allocates a T and constructs it in the open transaction. T is zero-filled and then constructed in place, and all
    /// its members must be fields or types made of them: other writes of a constructor are not logged. A value that
    /// never changes is `make<const T>`, for a trivially copyable T. Strong: if it throws, no object exists, the block
    /// is free again, and the transaction may continue.
    template <class T, class... Arguments>
    static T* make(Arguments&&... arguments) {
        detail::new_block<Engine> block(sizeof(T), alignof(T));
        construct_at<T>(block.template as<void>(), std::forward<Arguments>(arguments)...);
        T* const made = block.template as<T>();
        block.keep();
        return made;
    }

    /// The same in a block of the caller. If the constructor throws, the block's contents are undefined.
    template <class T, class... Arguments>
    static void construct_at(void* address, Arguments&&... arguments) {
        static_assert(detail::can_live<std::remove_const_t<T>,
                                       std::is_const_v<T> ? detail::held_as::value : detail::held_as::object>);
        auto& transaction = current_transaction<Engine>();
        if constexpr (std::is_trivially_copyable_v<T>) {
            const T value(std::forward<Arguments>(arguments)...);
            store_bytes(transaction, address, &value, sizeof(T));
        } else {
            fill_zero(address, sizeof(T));
            // The compiler takes the bytes under a constructor for undefined; the barriers keep the
            // zeros stored before it and make every load after it real.
            asm volatile("" : : "r"(address) : "memory");
            if constexpr (sizeof...(Arguments) == 0) {
                ::new (address) T;
            } else {
                ::new (address) T(std::forward<Arguments>(arguments)...);
            }
            asm volatile("" : : "r"(address) : "memory");
        }
    }

    /// Destroys and frees what make returned. nullptr does nothing. Throws failure like deallocate; a failure after the
    /// destructor dooms the transaction.
    template <class T>
    static void destroy(T* object) {
        if (object == nullptr) return;
        if constexpr (std::is_trivially_destructible_v<T>) {
            Engine::deallocate(object);
        } else {
            detail::all_or_doom(current_transaction<Engine>(), [&] {
                detail::destroy_in_pool(object);
                Engine::deallocate(object);
            });
        }
    }

    static void fill_zero(void* address, std::size_t bytes) {
        auto& transaction = current_transaction<Engine>();
        transaction.will_write(address, bytes);
        static constexpr std::byte zeros[256]{};
        for (std::size_t done = 0; done < bytes; done += sizeof zeros)
            store_bytes(transaction, static_cast<std::byte*>(address) + done, zeros,
                        bytes - done < sizeof zeros ? bytes - done : sizeof zeros);
    }

    /// Announces that the range is about to be written. undo logs it with one record and shares the fence; other
    /// engines ignore it. The caller's locks must isolate the range.
    static void will_write(const void* begin, std::size_t bytes) {
        current_transaction<Engine>().will_write(begin, bytes);
    }

    /// Runs `action` once the open transaction is as durable as its level promises, after the locks are released.
    /// Requires: inside a transaction. An exception of the action goes to the handler of action failures (actions.hpp):
    /// the transaction is committed, and its other actions run.
    template <class F>
    static void on_commit(F&& action) {
        current_transaction<Engine>().on_commit.emplace_back(std::forward<F>(action));
    }
    /// Runs `action` after the open transaction was rolled back. Its exceptions go to the same handler.
    template <class F>
    static void on_abort(F&& action) {
        current_transaction<Engine>().on_abort.emplace_back(std::forward<F>(action));
    }

    static bool in_transaction() noexcept { return open_transaction_of<Engine> != nullptr; }

    /// Runs f in the open transaction, or otherwise in its own on the pool that holds `object`; containers use it alone
    /// and composed. Throws failure if its own transaction fails, and misuse where none may begin (see basic_pool).
    template <class F>
    static auto transact(const void* object, F&& f) {
        using R = std::decay_t<std::invoke_result_t<F&>>;
        static_assert(!detail::unwrapped<R>::is_result, "a failure is thrown: an error would be committed");
        if (in_transaction()) return static_cast<R>(f());
        detail::held_value<R> held;
        auto hold = [&] { held.run(f); };
        detail::run_alone<Engine>(object, &hold, [](void* each) { (*static_cast<decltype(hold)*>(each))(); });
        return held.take().value();
    }
};

}  // namespace holdfast
