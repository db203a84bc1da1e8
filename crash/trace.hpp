// What a program did to a pool, in program order.
#pragma once

#include <holdfast/persist/site.hpp>

#include <cstdint>
#include <optional>
#include <vector>

namespace holdfast::crash {

enum class event_kind : std::uint8_t {
    store,             ///< one aligned word through the cache
    stream,            ///< one aligned word past it
    write_back,        ///< of whole lines; complete with the next fence
    fence,
    operation_begins,  ///< from here on its effect may be there
    operation_done,    ///< from here on it must be
};

struct event {
    event_kind kind;
    std::optional<persist::site> where;  ///< none: a store of the program's own
    std::uint64_t place = 0;             ///< store, stream: the word's index in the pool; write_back: the first line's
    std::uint64_t value = 0;             ///< store, stream: the whole word afterwards; write_back: how many lines
    const void* code = nullptr;          ///< the instruction that stored
};

struct trace {
    std::vector<std::uint64_t> before;  ///< the pool's words when it began, all durable
    std::vector<event> events;
};

}  // namespace holdfast::crash
