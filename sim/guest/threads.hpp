// Threads of a guest program: one hart each.
#pragma once

#include <sim/guest/system.hpp>

namespace holdfast::guest {

/// Runs f(0) … f(threads - 1), the first of them on the caller's hart, and returns when all are done.
template <class F>
void run_threads(std::uint32_t threads, F& f);

namespace detail {

struct thread_start {
    void (*run)(void* what, std::uint32_t number);
    void* what;
    std::uint32_t number;
    std::uint32_t is_running;  ///< the kernel clears it when the thread has ended
};
void start_thread(thread_start& start) noexcept;
void join_thread(thread_start& start) noexcept;

}  // namespace detail

inline constexpr std::uint32_t most_threads = 8;

template <class F>
void run_threads(std::uint32_t threads, F& f) {
    static detail::thread_start starts[most_threads];
    for (std::uint32_t i = 1; i < threads; ++i) {
        starts[i] = {[](void* what, std::uint32_t number) { (*static_cast<F*>(what))(number); }, &f, i, 1};
        detail::start_thread(starts[i]);
    }
    f(std::uint32_t{0});
    for (std::uint32_t i = 1; i < threads; ++i) detail::join_thread(starts[i]);
}

}  // namespace holdfast::guest
