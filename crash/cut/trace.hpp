// What a program did to a pool, in program order.
#pragma once

#include <crash/cut/call_stack.hpp>

#include <holdfast/persist/site.hpp>

#include <cstdint>
#include <optional>
#include <vector>

namespace holdfast::crash {

enum class event_kind : std::uint8_t {
    store,             ///< one aligned word through the cache
    stream,            ///< one aligned word past it
    write_back,        ///< of whole lines; complete with the next fence of its thread
    fence,
    order,             ///< of stores to one line, before and after it; completes nothing
    file_word,         ///< one aligned word of a write to the file
    file_write,        ///< that write is done
    file_range_sync,   ///< these words of the file are durable
    file_sync,         ///< all of the file is, and its size
    file_resize,       ///< the file has another size
    file_publish,      ///< the file has its name
    directory_sync,    ///< the name is durable
    operation_begins,  ///< from here on its effect may be there
    operation_done,    ///< from here on it must be
};

inline constexpr unsigned threads_at_most = 4;

struct event {
    event_kind kind;
    std::optional<persist::site_id> where;  ///< none: a store of the program's own
    /// store, stream, file_word, file_range_sync: the word's index; write_back: the first line's.
    std::uint64_t place = 0;
    /// store, stream, file_word: the whole word afterwards; write_back: how many lines; file_range_sync: how many
    /// words; file_resize: how many bytes.
    std::uint64_t value = 0;
    const void* code = nullptr;  ///< the instruction that stored
    std::uint8_t thread = 0;
    stack_id stack = 0;          ///< who called, where that is noted
    bool with_before = false;    ///< store: by the instruction of the event before, which no kill splits
};

/// The write-back of every line that holds a byte of the range, which begins at `offset` of the pool.
inline event write_back_of(std::uint64_t offset, std::uint64_t size, persist::site_id where) {
    const std::uint64_t first = offset / 64;
    return {event_kind::write_back, where, first, (offset + size - 1) / 64 - first + 1};
}

/// Calls that order or complete something, as opposed to those that store.
constexpr bool completes(event_kind kind) noexcept {
    return kind == event_kind::fence || kind == event_kind::file_range_sync || kind == event_kind::file_sync ||
           kind == event_kind::directory_sync;
}

struct trace {
    std::vector<std::uint64_t> before;  ///< the pool's words when it began, all durable
    std::vector<event> events;
    std::uint64_t bytes_before = 0;     ///< the file's size when it began
    bool named_before = true;           ///< whether it had its name
    /// Cuts before this event are those of a shorter workload.
    std::size_t explored_from = 0;
    /// Before which events transactions and wraps had committed, oldest first.
    std::vector<std::size_t> commits{};
};

}  // namespace holdfast::crash
