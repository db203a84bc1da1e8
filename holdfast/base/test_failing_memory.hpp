// A program whose memory runs out in one thread at a chosen moment: replaces operator new. For one source of a test.
// ThreadSanitizer's runtime replaces it itself: there HOLDFAST_KEEPS_OPERATOR_NEW is defined, and nothing runs out.
#pragma once

#include <cstddef>
#include <cstdint>
#include <cstdlib>
#include <new>

namespace holdfast::test {

/// How many allocations of this thread succeed before all others fail; negative: none fails.
inline constinit thread_local std::int64_t allocations_left = -1;
inline constinit thread_local bool has_failed = false;
inline constinit thread_local bool fails_once = false;

inline bool must_fail() noexcept {
    if (allocations_left < 0) return false;
    if (allocations_left > 0) {
        --allocations_left;
        return false;
    }
    has_failed = true;
    if (fails_once) allocations_left = -1;
    return true;
}

/// While it lives, this thread's allocations fail from the one after `how_many` on: all of them, or just that one.
class failing_memory {
public:
    explicit failing_memory(std::int64_t how_many, bool once = false) noexcept {
        has_failed = false;
        fails_once = once;
        allocations_left = how_many;
    }
    ~failing_memory() { allocations_left = -1; }
    failing_memory(const failing_memory&) = delete;
    failing_memory& operator=(const failing_memory&) = delete;

    /// Whether one has failed so far.
    static bool was_needed() noexcept { return has_failed; }
};

[[gnu::noinline]] inline void* allocate_or_nothing(std::size_t bytes, std::size_t alignment) noexcept {
    if (must_fail()) return nullptr;
    const std::size_t whole = (bytes + alignment - 1) / alignment * alignment;
    return alignment <= alignof(std::max_align_t) ? std::malloc(bytes == 0 ? 1 : bytes)
                                                  : std::aligned_alloc(alignment, whole);
}
inline void* allocate_or_fail(std::size_t bytes, std::size_t alignment) {
    void* const made = allocate_or_nothing(bytes, alignment);
    if (made == nullptr) throw std::bad_alloc();
    return made;
}

/// Not inline: the compiler must not compare it with the operator new that it knows.
[[gnu::noinline]] inline void give_back(void* made) noexcept { std::free(made); }

}  // namespace holdfast::test

#if defined(__has_feature)
#if __has_feature(thread_sanitizer)
#define HOLDFAST_KEEPS_OPERATOR_NEW 1
#endif
#endif
#ifndef HOLDFAST_KEEPS_OPERATOR_NEW
void* operator new(std::size_t bytes) { return holdfast::test::allocate_or_fail(bytes, 1); }
void* operator new[](std::size_t bytes) { return holdfast::test::allocate_or_fail(bytes, 1); }
void* operator new(std::size_t bytes, std::align_val_t alignment) {
    return holdfast::test::allocate_or_fail(bytes, static_cast<std::size_t>(alignment));
}
void* operator new[](std::size_t bytes, std::align_val_t alignment) {
    return holdfast::test::allocate_or_fail(bytes, static_cast<std::size_t>(alignment));
}
void* operator new(std::size_t bytes, const std::nothrow_t&) noexcept {
    return holdfast::test::allocate_or_nothing(bytes, 1);
}
void* operator new[](std::size_t bytes, const std::nothrow_t&) noexcept {
    return holdfast::test::allocate_or_nothing(bytes, 1);
}
void operator delete(void* made) noexcept { holdfast::test::give_back(made); }
void operator delete[](void* made) noexcept { holdfast::test::give_back(made); }
void operator delete(void* made, std::size_t) noexcept { holdfast::test::give_back(made); }
void operator delete[](void* made, std::size_t) noexcept { holdfast::test::give_back(made); }
void operator delete(void* made, std::align_val_t) noexcept { holdfast::test::give_back(made); }
void operator delete[](void* made, std::align_val_t) noexcept { holdfast::test::give_back(made); }
void operator delete(void* made, std::size_t, std::align_val_t) noexcept { holdfast::test::give_back(made); }
void operator delete[](void* made, std::size_t, std::align_val_t) noexcept { holdfast::test::give_back(made); }
#endif
