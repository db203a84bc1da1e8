// Values from before stores: of local variables, for a restart; of shared memory, for a cancel of a nested block.
#pragma once

#include <holdfast/base/assertion.hpp>
#include <holdfast/base/words.hpp>
#include <holdfast/itm/planted.hpp>
#include <holdfast/itm/state.hpp>

#include <cstddef>
#include <cstdint>
#include <cstring>
#include <utility>

#include <pthread.h>

namespace holdfast::itm {

/// Loads and stores of an algorithm as load_bytes and store_bytes (base/words.hpp) want them.
template <class Algorithm>
struct words_of {
    Algorithm& algorithm;
    std::uint64_t load(const pool_word* home) { return algorithm.load(reinterpret_cast<const stm::word*>(home)); }
    void store(pool_word* home, std::uint64_t value, std::uint8_t mask) {
        algorithm.store(reinterpret_cast<stm::word*>(home), value, mask);
    }
};

/// Whether `address` is in a frame that was born after `frames_below` was the stack pointer: dead after a jump there,
/// and until then perhaps the frame of who asks.
inline bool in_younger_frame(const void* address, std::uintptr_t frames_below) noexcept {
    const auto at = reinterpret_cast<std::uintptr_t>(address);
    const auto here = reinterpret_cast<std::uintptr_t>(__builtin_frame_address(0));
    constexpr std::uintptr_t below_me = 64 * 1024;  // frames of what this one calls, and red zones
    return at < frames_below && at >= here - below_me;
}

inline constexpr std::size_t entry_words = sizeof(undo_entry) / 8;
static_assert(sizeof(undo_entry) == 16);

/// Appends an entry; the old bytes go where the result points to.
inline void* push_undo(thread_state& thread, void* home, std::size_t bytes, bool shared) noexcept {
    const std::size_t words = (bytes + 7) / 8;
    std::uint64_t* const at = thread.undo.extend(words + entry_words);
    const undo_entry entry{home, static_cast<std::uint32_t>(bytes), shared};
    std::memcpy(at + words, &entry, sizeof entry);
    thread.used_lists = true;
    return at;
}

/// Notes a variable of this thread that is about to be stored to without a barrier.
inline void note_local(thread_state& thread, const void* variable, std::size_t bytes) noexcept {
    if (thread.depth == 0) return;
    std::memcpy(push_undo(thread, const_cast<void*>(variable), bytes, false), variable, bytes);
}

/// The stack that the system gave this thread; fibers have others.
struct stack_of_thread {
    std::uintptr_t begin = 0;
    std::uintptr_t end = 0;

    [[gnu::noinline, gnu::cold]] void find() noexcept {
        begin = end = 1;
        pthread_attr_t attributes;
        if (::pthread_getattr_np(::pthread_self(), &attributes) != 0) return;
        void* lowest = nullptr;
        std::size_t bytes = 0;
        if (::pthread_attr_getstack(&attributes, &lowest, &bytes) == 0) {
            begin = reinterpret_cast<std::uintptr_t>(lowest);
            end = begin + bytes;
        }
        ::pthread_attr_destroy(&attributes);
    }
};
inline constinit thread_local stack_of_thread own_stack;

/// Whether `address` is of a variable of the function that has the block, or of its callers. Not on a fiber's stack.
inline bool is_variable_from_before(thread_state& thread, const void* address) noexcept {
    if (own_stack.end == 0) [[unlikely]]
        own_stack.find();
    const auto at = reinterpret_cast<std::uintptr_t>(address);
    const std::uintptr_t below = thread.nested.empty() ? thread.frames_below : thread.nested.back().frames_below;
    return at >= below && at < own_stack.end && below >= own_stack.begin;
}

/// Notes shared memory, as the transaction sees it, before it stores there. Requires: a nested block is open that may
/// be cancelled. A long range is noted in pieces.
template <class Algorithm>
[[gnu::noinline, gnu::cold]] void note_shared(Algorithm& algorithm, thread_state& thread, void* home,
                                              std::size_t bytes) {
    if (in_younger_frame(home, thread.nested.back().frames_below)) return;
    constexpr std::size_t piece = std::size_t{1} << 30;
    for (auto* at = static_cast<std::byte*>(home); bytes > 0;) {
        const std::size_t now = bytes < piece ? bytes : piece;
        // Read first: a conflict inside must not find an entry without its bytes.
        if (now <= 32) {
            std::byte old[32];
            words_of<Algorithm> words{algorithm};
            load_bytes(words, at, old, now);
            std::memcpy(push_undo(thread, at, now, true), old, now);
        } else {
            void* const room = push_undo(thread, at, now, true);
            const std::size_t size_with = thread.undo.size();
            thread.undo.keep(size_with - (now + 7) / 8 - entry_words);
            algorithm.read_range(room, at, now);
            thread.undo.keep(size_with);
        }
        at += now;
        bytes -= now;
    }
}

/// Takes one entry back; shared ones through `algorithm`, unless it is nullptr: then they are left to its roll-back.
template <class Algorithm>
void take_back(const undo_entry& entry, const std::uint64_t* old, Algorithm* algorithm, std::uintptr_t frames_below) {
    if (in_younger_frame(entry.home, frames_below)) return;
    if (!entry.shared) {
        if (!is_planted(fault::locals_not_restored)) std::memcpy(entry.home, old, entry.bytes);
    } else if (algorithm != nullptr && !is_planted(fault::nested_undoes_nothing)) {
        if (entry.bytes <= 32) {
            words_of<Algorithm> words{*algorithm};
            store_bytes(words, entry.home, old, entry.bytes);
        } else {
            algorithm->write_range(entry.home, old, entry.bytes);
        }
    }
}

/// Takes back what the log has above `mark`, newest first. A conflict inside leaves the log as far as it has come.
template <class Algorithm>
void take_back_entries(thread_state& thread, std::size_t mark, Algorithm* algorithm, std::uintptr_t frames_below) {
    while (thread.undo.size() > mark) {
        undo_entry entry;
        std::memcpy(&entry, thread.undo.end() - entry_words, sizeof entry);
        const std::size_t words = (entry.bytes + 7) / 8 + entry_words;
        take_back(entry, thread.undo.end() - words, algorithm, frames_below);
        thread.undo.keep(thread.undo.size() - words);
    }
    HOLDFAST_ASSERT(thread.undo.size() == mark, "a mark is between two entries");
}

/// The same, with the fault that takes back in the wrong order.
template <class Algorithm>
void take_back_to(thread_state& thread, std::size_t mark, Algorithm* algorithm, std::uintptr_t frames_below) {
    auto& undo = thread.undo;
    if (is_planted(fault::nested_undone_forwards) && algorithm != nullptr) {
        grown<std::uint64_t> backwards;
        while (undo.size() > mark) {
            undo_entry entry;
            std::memcpy(&entry, undo.end() - entry_words, sizeof entry);
            const std::size_t words = (entry.bytes + 7) / 8 + entry_words;
            std::memcpy(backwards.extend(words), undo.end() - words, words * 8);
            undo.keep(undo.size() - words);
        }
        std::swap(undo, backwards);
        take_back_entries(thread, 0, algorithm, frames_below);
        backwards.release();
        return;
    }
    take_back_entries(thread, mark, algorithm, frames_below);
}

/// Forgets notes of shared memory above `mark`, which no cancel can ask for any more, unless locals are among them.
inline void forget_shared(thread_state& thread, std::size_t mark) noexcept {
    std::size_t at = thread.undo.size();
    while (at > mark) {
        undo_entry entry;
        std::memcpy(&entry, thread.undo.data() + at - entry_words, sizeof entry);
        if (!entry.shared) return;
        at -= (entry.bytes + 7) / 8 + entry_words;
    }
    thread.undo.keep(mark);
}

}  // namespace holdfast::itm
