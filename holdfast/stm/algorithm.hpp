// What a concurrency control is: the interface that `value` and `versioned` have in common, and how both touch memory
// that threads share.
#pragma once

#include <holdfast/base/words.hpp>

#include <concepts>
#include <cstddef>
#include <cstdint>
#include <cstring>

namespace holdfast::stm {

using word = std::uint64_t;

/// What a transaction begins with.
struct start {
    /// Promised: no store will come. The first attempt keeps no read set; an attempt after a conflict keeps one.
    bool read_only = false;
    /// Alone: no other transaction loads or commits until this one ends. Stores can still be rolled back.
    bool serial = false;
    /// The stack pointer at the beginning. Frames between the current stack pointer and this were born inside the
    /// transaction: they are loaded and stored directly. 0: there are none. (Variables that AddressSanitizer keeps
    /// elsewhere are in no frame: such programs run with detect_stack_use_after_return=0.)
    std::uintptr_t frames_below = 0;
    /// What a load or store calls at a conflict. It calls roll_back(), and begins again or throws. If it returns, the
    /// transaction is over: a load then gives 0, a store does nothing.
    void (*restart)() = nullptr;
};

/// Gives a block back to the allocator that it came from.
using give_back = void (*)(void* block, std::size_t bytes, std::size_t alignment);

/// A transactional memory of whole aligned words, opaque: every load of every attempt, also of one that will be
/// restarted, returns what one serial order of the committed transactions explains (Guerraoui, Kapalka, PPoPP 2008).
///
/// One constant-initialised object per thread, A::of_this_thread(), reached without a guard. Members are called by that
/// thread alone, loads and stores while active() only. No member throws but what start.restart does, and std::bad_alloc
/// where there is no memory for a read or write set. None allocates once warm. Nothing survives the process.
///
///   begin(start)          opens a transaction. Requires: not active
///   load(home)            the word as the transaction sees it. At a conflict it calls start.restart, as do all that
///                         load or store
///   load_after_read, load_after_write, load_for_write
///                         the same for a word that was loaded, was stored to, will be stored to in this transaction
///   store(home, value, byte_mask)
///                         stores the bytes of `value` that the mask names: for others, when the transaction commits.
///                         Home gets them then, or at once if no transaction of another thread can look
///   store_after_read, store_after_write    the same with such knowledge
///   read_range(to, from, bytes)   from shared to private memory, any alignment; write_range from private to shared;
///   copy_range(to, from, bytes)   shared to shared, may overlap; fill_range(to, byte, bytes)
///   commit()              true: all stores are home, inactive. False: conflict, or refused by the home; still open:
///                         roll back, begin again
///   roll_back()           nothing happened; blocks noted as allocated are given back; inactive
///   become_irrevocable()  true: alone, no other transaction is open, all stores are home, loads and stores go home
///                         directly from now on, commit cannot fail and roll_back must not be called. False: conflict;
///                         roll back, begin again serial
///   note_allocated(block, bytes, alignment, give_back)
///                         the block is private until commit: its stores go straight home
///   free_at_commit(block, bytes, alignment, give_back)
///                         given back once no transaction can load from it any more
///
/// All loads and stores, of ranges too, may be called while inactive, and are plain ones then. After a word was loaded
/// for write, it may be stored to by store_after_write.
template <class A>
concept algorithm = requires(A& each, const A& open, const start& how, word* home, const word* from, void* to,
                             const void* other, std::size_t bytes, std::uint8_t mask, give_back back) {
    { A::of_this_thread() } noexcept -> std::same_as<A&>;
    { open.active() } noexcept -> std::same_as<bool>;
    { each.begin(how) } noexcept;
    { each.load(from) } -> std::same_as<word>;
    { each.load_after_read(from) } -> std::same_as<word>;
    { each.load_after_write(from) } -> std::same_as<word>;
    { each.load_for_write(from) } -> std::same_as<word>;
    each.store(home, word{}, mask);
    each.store_after_read(home, word{}, mask);
    each.store_after_write(home, word{}, mask);
    each.read_range(to, other, bytes);
    each.write_range(to, other, bytes);
    each.copy_range(to, other, bytes);
    each.fill_range(to, int{}, bytes);
    { each.commit() } noexcept -> std::same_as<bool>;
    { each.roll_back() } noexcept;
    { each.become_irrevocable() } noexcept -> std::same_as<bool>;
    { open.irrevocable() } noexcept -> std::same_as<bool>;
    { each.note_allocated(to, bytes, bytes, back) } noexcept;
    { each.free_at_commit(to, bytes, bytes, back) } noexcept;
};

namespace detail {

/// A shared word. Acquire: what is loaded next, a sequence or a lock, is not older than this value.
inline word load_home(const word* home) noexcept {
    return __atomic_load_n(reinterpret_cast<const pool_word*>(home), __ATOMIC_ACQUIRE);
}

/// Shared words that follow each other. Acquire, as load_home, of all of them together: what is loaded next is not
/// older than any.
inline void load_homes(const word* homes, std::size_t count, void* to) noexcept {
    auto* out = static_cast<unsigned char*>(to);
#if defined(__x86_64__) && !defined(__SANITIZE_THREAD__)
    // Two at once: a pair may be torn, a word of it may not, and the processor keeps loads in order.
    using pair __attribute__((vector_size(16), aligned(8), __may_alias__)) = std::uint64_t;
    for (; count >= 2; count -= 2, homes += 2, out += sizeof(pair)) {
        const pair both = *reinterpret_cast<const pair*>(homes);
        std::memcpy(out, &both, sizeof both);
        asm volatile("" ::: "memory");
    }
#endif
    for (; count != 0; --count, ++homes, out += sizeof(word)) {
        const word one = __atomic_load_n(reinterpret_cast<const pool_word*>(homes), __ATOMIC_RELAXED);
        std::memcpy(out, &one, sizeof one);
    }
    __atomic_thread_fence(__ATOMIC_ACQUIRE);
}

/// A shared word's bytes, no others: their neighbours may belong to threads that are in no transaction. Release: who
/// sees the value sees the sequence or lock that announced it.
inline void store_home(word* home, word value, std::uint8_t mask) noexcept {
    using half __attribute__((__may_alias__)) = std::uint32_t;
    if (mask == 0xFF) [[likely]] {
        __atomic_store_n(reinterpret_cast<pool_word*>(home), value, __ATOMIC_RELEASE);
    } else if (mask == 0x0F) {
        __atomic_store_n(reinterpret_cast<half*>(home), static_cast<std::uint32_t>(value), __ATOMIC_RELEASE);
    } else if (mask == 0xF0) {
        __atomic_store_n(reinterpret_cast<half*>(home) + 1, static_cast<std::uint32_t>(value >> 32), __ATOMIC_RELEASE);
    } else {
        auto* bytes = reinterpret_cast<unsigned char*>(home);
        for (unsigned i = 0; i < 8; ++i)
            if ((mask >> i & 1) != 0)
                __atomic_store_n(bytes + i, static_cast<unsigned char>(value >> (8 * i)), __ATOMIC_RELEASE);
    }
}

/// Where the stack ends now. Below it a leaf function may still have variables.
[[gnu::always_inline]] inline std::uintptr_t stack_end() noexcept {
    [[maybe_unused]] constexpr std::intptr_t red_zone_bytes = 128;
#if defined(__x86_64__)
    std::uintptr_t stack_pointer;
    asm("lea %c1(%%rsp), %0" : "=r"(stack_pointer) : "i"(-red_zone_bytes));
    return stack_pointer;
#elif defined(__aarch64__)
    std::uintptr_t stack_pointer;
    asm("mov %0, sp" : "=r"(stack_pointer));
    return stack_pointer - std::uintptr_t{red_zone_bytes};
#else
    return reinterpret_cast<std::uintptr_t>(__builtin_frame_address(0)) - 4096;
#endif
}

/// Whether `address` is in a frame that was born inside the transaction.
[[gnu::always_inline]] inline bool is_own_frame(const void* address, std::uintptr_t frames_below) noexcept {
    const auto at = reinterpret_cast<std::uintptr_t>(address);
    // Most addresses are below the stack: that is asked first.
    return at >= stack_end() && at < frames_below;
}

}  // namespace detail
}  // namespace holdfast::stm
