// What line<T>::transact and lines<T>::transact have in common.
#pragma once

#include <new>
#include <type_traits>
#include <utility>

namespace holdfast::cache_line {

/// Runs f on the active T of `open`, commits, and returns what f returned.
template <class T, class Transaction, class F>
decltype(auto) run(Transaction& open, F&& f) {
    T& active = *std::launder(static_cast<T*>(open.active()));
    if constexpr (std::is_void_v<std::invoke_result_t<F&, T&>>) {
        std::forward<F>(f)(active);
        open.commit();
    } else {
        std::invoke_result_t<F&, T&> returned = std::forward<F>(f)(active);
        open.commit();
        return returned;
    }
}

}  // namespace holdfast::cache_line
