// The seam to byte-addressable media: store, copy, write back, fence, stream. Nothing else in the
// project issues these instructions. Files are the other half, in file.hpp.
//
// A build with HOLDFAST_OBSERVED asks an observer at every call; the normal build has no hook.
#pragma once

#include <holdfast/base/assertion.hpp>
#include <holdfast/persist/counters.hpp>
#include <holdfast/persist/instructions.hpp>
#include <holdfast/persist/line_path.hpp>
#include <holdfast/persist/site.hpp>

#include <cstddef>
#include <cstdint>
#include <cstring>

#ifdef HOLDFAST_OBSERVED
#include <holdfast/persist/observer.hpp>
#endif

namespace holdfast::persist {

inline constexpr std::size_t line_bytes = 64;

namespace detail {
inline constinit thread_local std::uint64_t lines_owed_delay = 0;

/// Counts lines whose delay the next fence pays.
inline void owe_delay(const line_path& path, std::uint64_t lines) noexcept {
    if (path.delay_ns != 0) [[unlikely]]
        lines_owed_delay += lines;
}
/// Spins for at least `delay_ns` for each line owed.
void pay_delay(std::uint32_t delay_ns) noexcept;

/// Stores the bytes of `mask` only. Out of line: whole words are the common case.
void store_bytes(std::uint64_t* home, std::uint64_t value, std::uint8_t mask) noexcept;

/// The number of lines that hold a byte of [begin, begin + size). Requires: size > 0.
inline std::uint64_t lines_of(const void* begin, std::size_t size) noexcept {
    return ((reinterpret_cast<std::uintptr_t>(begin) & (line_bytes - 1)) + size + line_bytes - 1) / line_bytes;
}
}  // namespace detail

/// Stores one aligned word in program order; visible to other threads at once, durable only after
/// write_back and fence. Only the bytes of `mask` (bit i = byte i) are written, never their
/// neighbours: those may belong to another thread.
inline void store_word(std::uint64_t* home, std::uint64_t value, std::uint8_t mask,
                       [[maybe_unused]] site_id where) noexcept(noexcept_seam) {
    HOLDFAST_ASSERT(reinterpret_cast<std::uintptr_t>(home) % sizeof *home == 0, "a word is stored to its own address");
    if (mask == 0xFF) {
        __atomic_store_n(home, value, __ATOMIC_RELAXED);
    } else {
        detail::store_bytes(home, value, mask);
    }
#ifdef HOLDFAST_OBSERVED
    observe_store(home, sizeof *home, where);
#endif
}

/// Stores two words that follow each other, as store_word, by one instruction, so that a kill leaves both or none.
/// Requires: `home` 16-aligned.
inline void store_pair(std::uint64_t* home, std::uint64_t first, std::uint64_t second,
                       [[maybe_unused]] site_id where) noexcept(noexcept_seam) {
    HOLDFAST_ASSERT(reinterpret_cast<std::uintptr_t>(home) % 16 == 0, "a pair of words is stored to its own address");
    store_both_words(home, first, second);
#ifdef HOLDFAST_OBSERVED
    observe_store_pair(home, where);
#endif
}

/// Copies `size` bytes to the mapping; as durable as store_word.
inline void copy(void* home, const void* from, std::size_t size,
                 [[maybe_unused]] site_id where) noexcept(noexcept_seam) {
    std::memcpy(home, from, size);
#ifdef HOLDFAST_OBSERVED
    observe_store(home, size, where);
#endif
}

/// Starts the write-back of every line that holds a byte of [begin, begin + size). The lines are
/// in the persistence domain after the next fence of this thread. Counts lines.
inline void write_back(const line_path& path, const void* begin, std::size_t size,
                       [[maybe_unused]] site_id where) noexcept(noexcept_seam) {
    if (size == 0 || !path.write_back_needed) return;
    const auto first = reinterpret_cast<std::uintptr_t>(begin) & ~(line_bytes - 1);
    const auto lines = detail::lines_of(begin, size);
    for (std::uint64_t i = 0; i < lines; ++i) write_back_line(reinterpret_cast<const void*>(first + i * line_bytes));
    detail::this_thread.write_backs += lines;
    detail::owe_delay(path, lines);
#ifdef HOLDFAST_OBSERVED
    observe_write_back(begin, size, where);
#endif
}

/// Copies `size` bytes bypassing the cache if the path needs write-backs, and through it otherwise. Durable after the
/// next fence of this thread. Counts bytes either way. Requires: both pointers and size 8-aligned, and no overlap.
inline void stream(const line_path& path, void* home, const void* from, std::size_t size,
                   [[maybe_unused]] site_id where) noexcept(noexcept_seam) {
    if (size == 0) return;
    HOLDFAST_ASSERT((reinterpret_cast<std::uintptr_t>(home) | reinterpret_cast<std::uintptr_t>(from) | size) % 8 == 0,
                    "whole words are streamed");
    if (path.write_back_needed) {
        stream_words(static_cast<std::uint64_t*>(home), static_cast<const std::uint64_t*>(from), size / 8);
        detail::owe_delay(path, detail::lines_of(home, size));
    } else {
        std::memcpy(home, from, size);
    }
    detail::this_thread.streamed_bytes += size;
#ifdef HOLDFAST_OBSERVED
    observe_stream(home, size, where);
#endif
}

/// Copies whole lines to the mapping: streamed, or stored through the cache and written back, as the path has it for
/// this size. Durable after the next fence of this thread. Counts as `stream` or `write_back`. Requires: as `stream`,
/// `home` 64-aligned, and size a multiple of 64 and not 0.
inline void send(const line_path& path, void* home, const void* from, std::size_t size,
                 site_id where) noexcept(noexcept_seam) {
    HOLDFAST_ASSERT((reinterpret_cast<std::uintptr_t>(home) | size) % line_bytes == 0 && size != 0,
                    "whole lines are sent");
    if (!path.write_back_needed) return stream(path, home, from, size, where);
    if (size < path.streamed_from_bytes) {
        copy(home, from, size, where);
        return write_back(path, home, size, where);
    }
    stream_lines(home, from, size);
    detail::owe_delay(path, size / line_bytes);
    detail::this_thread.streamed_bytes += size;
#ifdef HOLDFAST_OBSERVED
    observe_stream(home, size, where);
#endif
}

/// Ensures that everything that this thread wrote back or streamed is in the persistence domain before any of its later
/// stores becomes visible.
inline void fence(const line_path& path, [[maybe_unused]] site_id where) noexcept(noexcept_seam) {
#ifdef HOLDFAST_OBSERVED
    observe_before_fence(where);
#endif
    persist_fence();
    ++detail::this_thread.fences;
    if (path.delay_ns != 0) [[unlikely]]
        detail::pay_delay(path.delay_ns);
#ifdef HOLDFAST_OBSERVED
    observe_after_fence(where);
#endif
}

/// write_back of one whole line. Requires: line 64-aligned.
inline void write_back_one(const line_path& path, const void* line,
                           [[maybe_unused]] site_id where) noexcept(noexcept_seam) {
    HOLDFAST_ASSERT(reinterpret_cast<std::uintptr_t>(line) % line_bytes == 0, "one line is written back at once");
    if (!path.write_back_needed) return;
    write_back_line(line);
    ++detail::this_thread.write_backs;
    detail::owe_delay(path, 1);
#ifdef HOLDFAST_OBSERVED
    observe_write_back(line, line_bytes, where);
#endif
}

/// Ensures that earlier stores of this thread to a line become visible, and durable if lines are written back whole,
/// before its later stores to that line. Completes no write-back.
inline void order_stores([[maybe_unused]] site_id where) noexcept(noexcept_seam) {
    order_visible_stores();
#ifdef HOLDFAST_OBSERVED
    observe_order(where);
#endif
}

/// A hint that the line at `at` is going to be stored to: it is fetched while other work goes on. Changes nothing.
inline void prefetch_for_store(const void* at) noexcept { prefetch_line_for_store(at); }

/// The same for the lines of [begin, begin + size), at most a page of them: more would push each other out.
inline void prefetch_range_for_store(const void* begin, std::size_t size) noexcept {
    if (size <= sizeof(std::uint64_t)) return prefetch_line_for_store(begin);
    constexpr std::size_t most_bytes = 4096;
    const auto* at = static_cast<const char*>(begin);
    const auto* const end = at + (size < most_bytes ? size : most_bytes);
    for (at -= reinterpret_cast<std::uintptr_t>(at) % line_bytes; at < end; at += line_bytes)
        prefetch_line_for_store(at);
}

/// Tells the crash explorer that a transaction or a wrap committed. Costs the normal build nothing.
inline void tell_committed() noexcept(noexcept_seam) {
#ifdef HOLDFAST_OBSERVED
    observe_committed();
#endif
}

/// Keeps the compiler from moving stores across it. Sufficient against a killed process: the processor retires stores
/// in program order.
inline void order_for_kill() noexcept { __atomic_signal_fence(__ATOMIC_SEQ_CST); }

/// FENCES where a pool makes lines durable; at `process` it orders for a kill.
inline void fence_or_order(bool persists_lines, const line_path& path, site_id where) noexcept(noexcept_seam) {
    if (persists_lines) {
        fence(path, where);
    } else {
        order_for_kill();
    }
}

}  // namespace holdfast::persist
