// The instructions of the seam for each processor: write back a line, stream words, fence.
#pragma once

#include <cstddef>
#include <cstdint>
#include <string_view>

namespace holdfast::persist {

#ifdef HOLDFAST_OBSERVED
inline constexpr bool noexcept_seam = false;
#else
inline constexpr bool noexcept_seam = true;
#endif

/// The write-back instructions, best last. `clean_*` are aarch64's DC CVAC and DC CVAP. The first value stands for the
/// one that every processor of its kind has, so that memory that is only zero names no other.
enum class write_back_kind : std::uint8_t { clflush, clflushopt, clwb, clean_to_coherency, clean_to_persistence };

/// The best kind this processor has (CPUID, or the auxiliary vector).
write_back_kind detect_write_back_kind() noexcept;
std::string_view name_of(write_back_kind kind) noexcept;

namespace detail {
/// A class, for only those can be constructed before the other statics of a program.
struct chosen_kind {
    write_back_kind kind;
};
extern const chosen_kind chosen_write_back;
}  // namespace detail

/// What this process uses; fixed at start, before ordinary statics are constructed. What is asked for still earlier is
/// right as well, and slower.
inline write_back_kind chosen_write_back_kind() noexcept { return detail::chosen_write_back.kind; }

#if defined(__x86_64__)

namespace detail {
/// A whole line as an operand, so that the compiler keeps every earlier store to any of its bytes
/// in front of the write-back, and nothing else.
struct [[gnu::may_alias]] line_operand {
    unsigned char bytes[64];
};
}  // namespace detail

/// Writes one line back with the named instruction. Requires: the processor has it, and `line` is
/// 64-byte aligned.
inline void write_back_line_with(write_back_kind kind, const void* line) noexcept {
    auto& operand = *static_cast<detail::line_operand*>(const_cast<void*>(line));
    if (kind == write_back_kind::clwb) [[likely]] {
        asm volatile("clwb %0" : "+m"(operand));
    } else if (kind == write_back_kind::clflushopt) {
        asm volatile("clflushopt %0" : "+m"(operand));
    } else {
        asm volatile("clflush %0" : "+m"(operand));
    }
}

inline void persist_fence() noexcept { asm volatile("sfence" ::: "memory"); }

/// The processor keeps stores in order by itself.
inline void order_visible_stores() noexcept { asm volatile("" ::: "memory"); }

/// One store of 16 bytes, behind all stores before it. Requires: 16-aligned.
inline void store_both_words(std::uint64_t* home, std::uint64_t first, std::uint64_t second) noexcept {
    using pair __attribute__((vector_size(16), may_alias)) = std::uint64_t;
    asm volatile("movaps %1, %0" : "=m"(*reinterpret_cast<pair*>(home)) : "x"(pair{first, second}) : "memory");
}

/// PREFETCHW: every 64-bit processor takes it, and those that do not know it do nothing.
inline void prefetch_line_for_store(const void* at) noexcept {
    asm volatile("prefetchw %0" : : "m"(*static_cast<const char*>(at)));
}

inline void stream_words(std::uint64_t* home, const std::uint64_t* from, std::size_t count) noexcept {
    // MOVNTI as the compilers have it built in: their header of intrinsics would cost every source a third of a second,
    // and an asm statement is not unrolled.
    const auto word = [=](std::size_t i) {
#if defined(__clang__)
        __builtin_nontemporal_store(from[i], home + i);
#else
        __builtin_ia32_movnti64(reinterpret_cast<long long*>(home + i), static_cast<long long>(from[i]));
#endif
    };
    std::size_t done = 0;
    for (; done + 8 <= count; done += 8) {
        word(done), word(done + 1), word(done + 2), word(done + 3);
        word(done + 4), word(done + 5), word(done + 6), word(done + 7);
    }
    for (; done < count; ++done) word(done);
}

/// Whole lines, 16 bytes at once. Requires: `home` 64-aligned, `from` 8-aligned, bytes a multiple of 64 and not 0.
inline void stream_lines(void* home, const void* from, std::size_t bytes) noexcept {
    using pair __attribute__((vector_size(16), may_alias)) = long long;
    auto* to = static_cast<pair*>(home);
    const auto* at = static_cast<const unsigned char*>(from);
    const unsigned char* const end = at + bytes;
    const auto stream_pair = [&](int i) {
        pair both;
        __builtin_memcpy(&both, at + 16 * i, sizeof both);
#if defined(__clang__)
        __builtin_nontemporal_store(both, to + i);
#else
        __builtin_ia32_movntdq(to + i, both);
#endif
    };
    do {
        stream_pair(0), stream_pair(1), stream_pair(2), stream_pair(3);
        to += 4;
        at += 64;
    } while (at != end);
}

#elif defined(__aarch64__)

/// Writes one line back with the named instruction. Requires: the processor has it, `line` is
/// 64-byte aligned, and the processor's lines are not smaller (no server core has smaller ones).
inline void write_back_line_with(write_back_kind kind, const void* line) noexcept {
    if (kind == write_back_kind::clean_to_persistence) {
        // DC CVAP by its encoding, so that assemblers without the v8.2 extension accept it.
        asm volatile("sys #3, c7, c12, #1, %0" ::"r"(line) : "memory");
    } else {
        asm volatile("dc cvac, %0" ::"r"(line) : "memory");
    }
}

/// The whole system, not only the inner shareable domain: the point of persistence lies outside.
inline void persist_fence() noexcept { asm volatile("dsb sy" ::: "memory"); }

inline void order_visible_stores() noexcept { asm volatile("dmb ishst" ::: "memory"); }

/// By one instruction, behind all stores before it: a kill leaves both or none, another thread may see the first alone.
inline void store_both_words(std::uint64_t* home, std::uint64_t first, std::uint64_t second) noexcept {
    asm volatile("dmb ish\n\tstp %1, %2, [%0]" : : "r"(home), "r"(first), "r"(second) : "memory");
}

inline void prefetch_line_for_store(const void* at) noexcept { __builtin_prefetch(at, 1); }

/// aarch64 has no store whose durability a fence alone completes: store, then clean the lines.
inline void stream_words(std::uint64_t* home, const std::uint64_t* from, std::size_t count) noexcept {
    for (std::size_t i = 0; i < count; ++i) home[i] = from[i];
    const auto end = reinterpret_cast<std::uintptr_t>(home + count);
    for (auto line = reinterpret_cast<std::uintptr_t>(home) & ~std::uintptr_t{63}; line < end; line += 64)
        write_back_line_with(chosen_write_back_kind(), reinterpret_cast<const void*>(line));
}

inline void stream_lines(void* home, const void* from, std::size_t bytes) noexcept {
    stream_words(static_cast<std::uint64_t*>(home), static_cast<const std::uint64_t*>(from), bytes / 8);
}

#else
#error "Holdfast runs on x86-64 and aarch64"
#endif

inline void write_back_line(const void* line) noexcept { write_back_line_with(chosen_write_back_kind(), line); }

}  // namespace holdfast::persist
