// HOLDFAST_DNV_EXPORT(Algorithm): dnv_malloc and dnv_free, and their forms for instrumented code, over an algorithm.
#pragma once

#include <holdfast/dnv/heap_run.hpp>
#include <holdfast/stm/atomically.hpp>

namespace holdfast::dnv {

/// Outside of blocks a transaction of its own.
template <class Algorithm>
void* allocate_alone(std::size_t bytes) noexcept {
    void* block = nullptr;
    stm::atomically<Algorithm>(
        [&] { block = staged_heap<Algorithm>::allocate(Algorithm::of_this_thread(), bytes); });
    return block;
}
template <class Algorithm>
void free_alone(void* block) noexcept {
    if (block == nullptr) return;
    stm::atomically<Algorithm>([&] { staged_heap<Algorithm>::free(Algorithm::of_this_thread(), block); });
}

/// In a block; behind one whose inner block was cancelled there may be such calls, too.
template <class Algorithm>
void* allocate_inside(std::size_t bytes) noexcept {
    Algorithm& open = Algorithm::of_this_thread();
    return open.active() ? staged_heap<Algorithm>::allocate(open, bytes) : allocate_alone<Algorithm>(bytes);
}
template <class Algorithm>
void free_inside(void* block) noexcept {
    Algorithm& open = Algorithm::of_this_thread();
    if (!open.active()) return free_alone<Algorithm>(block);
    staged_heap<Algorithm>::free(open, block);
}

}  // namespace holdfast::dnv

#define HOLDFAST_DNV_EXPORT(Algorithm)                                                                                \
    extern "C" {                                                                                                      \
    void* dnv_malloc(std::size_t bytes) noexcept { return holdfast::dnv::allocate_alone<Algorithm>(bytes); }         \
    void dnv_free(void* block) noexcept { holdfast::dnv::free_alone<Algorithm>(block); }                             \
    void* _ZGTt10dnv_malloc(std::size_t bytes) noexcept { return holdfast::dnv::allocate_inside<Algorithm>(bytes); } \
    void _ZGTt8dnv_free(void* block) noexcept { holdfast::dnv::free_inside<Algorithm>(block); }                      \
    }
