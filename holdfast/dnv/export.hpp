// HOLDFAST_DNV_RUNTIME(Family): an algorithm of stm/ over staged homes; over that the compiler's runtime, dnv_malloc
// and dnv_free, and their forms for instrumented code. Stands once in a program, in one source, which is compiled
// without -fgnu-tm: one object file, of which begin takes all (itm/export.hpp).
#pragma once

#include <holdfast/dnv/between_attempts_run.hpp>
#include <holdfast/dnv/dnv.hpp>
#include <holdfast/dnv/heap_run.hpp>
#include <holdfast/dnv/home.hpp>
#include <holdfast/ecc/repair.hpp>
#include <holdfast/itm/export.hpp>
#include <holdfast/stm/atomically.hpp>

#include <new>
#include <span>

namespace holdfast::dnv {

/// Outside of blocks a transaction of its own.
template <class Algorithm>
void* allocate_alone(std::size_t bytes, protection how) noexcept {
    void* block = nullptr;
    stm::atomically<Algorithm>(
        [&] { block = staged_heap<Algorithm>::allocate(Algorithm::of_this_thread(), bytes, how); });
    return block;
}
template <class Algorithm>
void free_alone(void* block) noexcept {
    if (block == nullptr) return;
    stm::atomically<Algorithm>([&] { staged_heap<Algorithm>::free(Algorithm::of_this_thread(), block); });
}

/// In a block; behind one whose inner block was cancelled there may be such calls, too.
template <class Algorithm>
void* allocate_inside(std::size_t bytes, protection how) noexcept {
    Algorithm& open = Algorithm::of_this_thread();
    return open.active() ? staged_heap<Algorithm>::allocate(open, bytes, how) : allocate_alone<Algorithm>(bytes, how);
}
template <class Algorithm>
void free_inside(void* block) noexcept {
    Algorithm& open = Algorithm::of_this_thread();
    if (!open.active()) return free_alone<Algorithm>(block);
    staged_heap<Algorithm>::free(open, block);
}

template <class Algorithm>
bool rewrite_words(std::span<const stm::word* const> words) noexcept {
    if (Algorithm::of_this_thread().active()) return false;
    detail::leavable attempt;
    try {
        return static_cast<bool>(attempt.outcome(stm::atomically<Algorithm>([&] {
            Algorithm& open = Algorithm::of_this_thread();
            for (const stm::word* each : words) {
                // A load of what nothing corrects would ask a handler. What somebody stores just now is in his record.
                if (!home::look(each).sound && !ecc::repair(*place_of(each))) continue;
                open.store(const_cast<stm::word*>(each), open.load(each), 0xFF);
            }
        })));
    } catch (const std::bad_alloc&) {
        return false;
    }
}

}  // namespace holdfast::dnv

#define HOLDFAST_DNV_RUNTIME(Family)                                                                                  \
    namespace holdfast::stm {                                                                                         \
    using staged_algorithm = Family<dnv::home>;                                                                       \
    [[gnu::tls_model("initial-exec")]] constinit thread_local staged_algorithm staged_of_this_thread;                 \
    template <>                                                                                                       \
    staged_algorithm& staged_algorithm::of_this_thread() noexcept {                                                   \
        return staged_of_this_thread;                                                                                 \
    }                                                                                                                 \
    template class Family<dnv::home>;                                                                                 \
    static_assert(stm::algorithm<staged_algorithm>);                                                                  \
    }                                                                                                                 \
    bool holdfast::dnv::home::between_attempts() noexcept {                                                           \
        return settle_attempt<stm::staged_algorithm>();                                                               \
    }                                                                                                                 \
    void holdfast::dnv::home::wait_for_others() noexcept { stm::staged_algorithm::wait_for_others(); }                \
    bool holdfast::dnv::home::rewrite(std::span<const stm::word* const> words) noexcept {                             \
        return rewrite_words<stm::staged_algorithm>(words);                                                           \
    }                                                                                                                 \
    HOLDFAST_ITM_EXPORT(holdfast::stm::staged_algorithm)                                                              \
    static_assert(!holdfast::itm::alone_blocks<holdfast::stm::staged_algorithm>::exist);                              \
    extern "C" {                                                                                                      \
    void* dnv_malloc(std::size_t bytes) noexcept {                                                                    \
        return holdfast::dnv::allocate_alone<holdfast::stm::staged_algorithm>(                                        \
            bytes, holdfast::dnv::protection::as_pool);                                                               \
    }                                                                                                                 \
    void* dnv_malloc_unprotected(std::size_t bytes) noexcept {                                                        \
        return holdfast::dnv::allocate_alone<holdfast::stm::staged_algorithm>(                                        \
            bytes, holdfast::dnv::protection::none);                                                                  \
    }                                                                                                                 \
    void dnv_free(void* block) noexcept { holdfast::dnv::free_alone<holdfast::stm::staged_algorithm>(block); }        \
    void* _ZGTt10dnv_malloc(std::size_t bytes) noexcept {                                                             \
        return holdfast::dnv::allocate_inside<holdfast::stm::staged_algorithm>(                                       \
            bytes, holdfast::dnv::protection::as_pool);                                                               \
    }                                                                                                                 \
    void* _ZGTt22dnv_malloc_unprotected(std::size_t bytes) noexcept {                                                 \
        return holdfast::dnv::allocate_inside<holdfast::stm::staged_algorithm>(                                       \
            bytes, holdfast::dnv::protection::none);                                                                  \
    }                                                                                                                 \
    void _ZGTt8dnv_free(void* block) noexcept { holdfast::dnv::free_inside<holdfast::stm::staged_algorithm>(block); } \
    }
