// The same as model.hpp, in a pool: what the worker changes and the test compares.
#pragma once

#include "model.hpp"

#include <holdfast/container/btree_map.hpp>
#include <holdfast/container/hash_map.hpp>
#include <holdfast/container/queue.hpp>
#include <holdfast/container/string.hpp>
#include <holdfast/container/vector.hpp>
#include <holdfast/engine/undo.hpp>
#include <holdfast/handle/pool.hpp>

#include <string>
#include <type_traits>

namespace holdfast::kill {

/// A thread's own: changed by it alone, without a lock.
template <class Engine>
struct thread_state {
    typename Engine::template field<std::uint64_t> done;
    hash_map<std::uint64_t, std::uint64_t, Engine> numbers;
    btree_map<string<Engine>, string<Engine>, Engine> words;
    vector<std::uint64_t, Engine> list;
    queue<std::uint64_t, Engine> line;
    vector<std::uint64_t, Engine> table;
};

/// Changed by all threads, under one lock.
template <class Engine>
struct shared_state {
    typename Engine::template field<std::uint64_t> count;
    hash_map<std::uint64_t, std::uint64_t, Engine> latest;
};

inline std::string thread_root(std::uint64_t thread) { return "thread " + std::to_string(thread); }
inline constexpr const char* shared_root = "shared";

template <class Engine>
create_options options_for(level durability, bool nvram) {
    create_options options;
    options.durability = durability;
    options.tmpfs_is_nvram = nvram;
    // Small enough for many truncations and reused blocks within a few milliseconds.
    options.bytes = 24 << 20;
    options.log_bytes = 256 << 10;
    // It logs every word, also of new blocks: a table that moves.
    if constexpr (std::is_same_v<Engine, undo_paper>) options.log_bytes = 4 << 20;
    return options;
}

}  // namespace holdfast::kill
