// The workloads of containers: a small universe of operations, and the same on standard containers.
#pragma once

#include <crash/subjects/expectation.hpp>

#include <holdfast/container/btree_map.hpp>
#include <holdfast/container/hash_map.hpp>
#include <holdfast/container/list.hpp>
#include <holdfast/container/queue.hpp>
#include <holdfast/container/string.hpp>
#include <holdfast/container/vector.hpp>
#include <holdfast/heap/heap_format.hpp>

#include <cstdint>
#include <deque>
#include <iterator>
#include <list>
#include <map>
#include <string>
#include <string_view>
#include <vector>

namespace holdfast::crash {

template <template <class, class, class> class Map, class Engine>
struct map_workload {
    using container = Map<std::uint64_t, std::uint64_t, Engine>;
    using ordinary = std::map<std::uint64_t, std::uint64_t>;
    static constexpr unsigned keys = 3;
    static constexpr unsigned universe = 2 * keys;
    /// Enough to be about to grow.
    static constexpr std::uint64_t entries_before = 4;

    static std::string describe(unsigned operation) {
        return (operation < keys ? "assign key " : "erase key ") + std::to_string(operation % keys);
    }
    template <class Target>
    static void apply(Target& target, unsigned operation, std::uint64_t value) {
        const std::uint64_t key = operation % keys;
        if (operation < keys) {
            target.insert_or_assign(key, value);
        } else {
            target.erase(key);
        }
    }
    template <class Target>
    static void prepare(Target& target) {
        for (std::uint64_t i = 0; i < entries_before; ++i) target.insert_or_assign(keys - 1 + i, 1000 + i);
    }
    static contents contents_of(const ordinary& from) {
        contents all;
        for (const auto& [key, value] : from) all.insert(all.end(), {key, value});
        return all;
    }
    /// What `contents_of` made contents of.
    static ordinary restored(const contents& from) {
        ordinary made;
        for (std::size_t i = 0; i + 1 < from.size(); i += 2) made.emplace(from[i], from[i + 1]);
        return made;
    }
    static contents contents_of(const container& from) {
        ordinary sorted;
        for (const auto& entry : from) sorted.emplace(entry.first.get(), entry.second.get());
        return contents_of(sorted);
    }
};

template <class Engine>
struct hash_map_workload : map_workload<hash_map, Engine> {
    static constexpr std::string_view name = "hash_map";
};
template <class Engine>
struct btree_map_workload : map_workload<btree_map, Engine> {
    static constexpr std::string_view name = "btree_map";
};

template <class Engine>
struct vector_workload {
    using container = vector<std::uint64_t, Engine>;
    using ordinary = std::vector<std::uint64_t>;
    static constexpr std::string_view name = "vector";
    static constexpr std::string_view operations[] = {"push_back", "pop_back", "assign the first", "clear"};
    static constexpr unsigned universe = std::size(operations);

    static std::string describe(unsigned operation) { return std::string(operations[operation]); }
    template <class Target>
    static void apply(Target& target, unsigned operation, std::uint64_t value) {
        switch (operation) {
            case 0: target.push_back(value); break;
            case 1:
                if (!target.empty()) target.pop_back();
                break;
            case 2:
                if (!target.empty()) target[0] = value;
                break;
            default: target.clear();
        }
    }
    template <class Target>
    static void prepare(Target& target) {
        for (std::uint64_t i = 0; i < 4; ++i) target.push_back(1000 + i);
    }
    static contents contents_of(const ordinary& from) { return from; }
    static ordinary restored(const contents& from) { return from; }
    static contents contents_of(const container& from) { return contents(from.begin(), from.end()); }
};

template <class Engine>
struct queue_workload {
    using container = queue<std::uint64_t, Engine>;
    using ordinary = std::deque<std::uint64_t>;
    static constexpr std::string_view name = "queue";
    static constexpr std::string_view operations[] = {"push", "pop", "push and roll back"};
    static constexpr unsigned universe = std::size(operations);

    static std::string describe(unsigned operation) { return std::string(operations[operation]); }
    static bool rolls_back(unsigned operation) { return operation == 2; }
    static void apply(container& target, unsigned operation, std::uint64_t value) {
        if (operation != 1) {
            target.push(value);
        } else if (!target.empty()) {
            target.pop();
        }
    }
    static void apply(ordinary& target, unsigned operation, std::uint64_t value) {
        if (operation != 1) {
            target.push_back(value);
        } else if (!target.empty()) {
            target.pop_front();
        }
    }
    template <class Target>
    static void prepare(Target& target) {
        for (std::uint64_t i = 0; i < 2; ++i) apply(target, 0, 1000 + i);
    }
    static contents contents_of(const ordinary& from) { return {from.begin(), from.end()}; }
    static ordinary restored(const contents& from) { return {from.begin(), from.end()}; }
    static contents contents_of(const container& from) { return contents(from.begin(), from.end()); }
};

template <class Engine>
struct list_workload {
    using container = list<std::uint64_t, Engine>;
    using ordinary = std::list<std::uint64_t>;
    static constexpr std::string_view name = "list";
    static constexpr std::string_view operations[] = {"push_back", "erase the second", "move the last to the front",
                                                      "erase the second and roll back"};
    static constexpr unsigned universe = std::size(operations);

    static std::string describe(unsigned operation) { return std::string(operations[operation]); }
    static bool rolls_back(unsigned operation) { return operation == 3; }
    template <class Target>
    static void apply(Target& target, unsigned operation, std::uint64_t value) {
        if (operation == 0) {
            target.push_back(value);
        } else if (operation == 2) {
            if (!target.empty()) target.splice(target.begin(), target, std::prev(target.end()));
        } else if (target.size() > 1) {
            target.erase(std::next(target.begin()));
        }
    }
    template <class Target>
    static void prepare(Target& target) {
        for (std::uint64_t i = 0; i < 3; ++i) target.push_back(1000 + i);
    }
    static contents contents_of(const ordinary& from) { return {from.begin(), from.end()}; }
    static ordinary restored(const contents& from) { return {from.begin(), from.end()}; }
    static contents contents_of(const container& from) { return contents(from.begin(), from.end()); }
};

/// A block of many pages: stored to without logging while it is fresh, and logged in several parts afterwards.
template <class Engine>
struct large_vector_workload {
    using container = vector<std::uint64_t, Engine>;
    using ordinary = std::vector<std::uint64_t>;
    static constexpr std::string_view name = "large_vector";
    static constexpr std::string_view operations[] = {"set the last", "set the first", "fill",
                                                      "set the first and free"};
    static constexpr unsigned universe = std::size(operations);
    /// Two fills do not fit into the log; with a record for each store one of 2,100 words would not either.
    static constexpr std::size_t words = Engine::description.name == std::string_view("redo") ? 2100 : 400;
    /// Each has many words: fewer will do.
    static constexpr std::uint64_t images_of_a_cut = 64;
    static constexpr std::uint64_t nested_less_often = 16;

    static std::string describe(unsigned operation) { return std::string(operations[operation]); }
    template <class Target>
    static void apply(Target& target, unsigned operation, std::uint64_t value) {
        if (operation == 2) {
            // Each workload's next fill has words that no record of the one before names.
            target.assign(words + value / 100 % 100, value);
        } else if (!target.empty()) {
            if (operation == 0) {
                target[target.size() - 1] = value;
            } else {
                target[0] = value;
            }
            if (operation != 3) return;
            target.clear();
            target.shrink_to_fit();
        }
    }
    template <class Target>
    static void prepare(Target& target) {
        // Room for the longer ones that come.
        target.reserve(words + 16);
        target.assign(words, 1000);
    }
    static ordinary restored(const contents& from) {
        ordinary made;
        for (std::size_t i = 0; i + 1 < from.size(); i += 2) made.insert(made.end(), from[i + 1], from[i]);
        return made;
    }
    /// Runs of equal values.
    template <class From>
    static contents contents_of(const From& from) {
        contents all;
        for (const std::uint64_t each : from) {
            if (all.empty() || all[all.size() - 2] != each) all.insert(all.end(), {each, 0});
            ++all.back();
        }
        return all;
    }
};

/// Blocks that fill a slab, so that one that is freed is the next to be given away.
template <class Engine>
struct blocks {
    static constexpr std::uint32_t bytes = 3072;
    static constexpr std::size_t count = heap_format::make_class(bytes).blocks;
    using word = typename Engine::template field<std::uint64_t>;

    /// Each block's first word.
    typename Engine::template field<word*> owned[count];

    /// Frees first: were the freed block reused at once, undoing would not bring its content back.
    void replace(std::size_t index, std::uint64_t value) {
        if (owned[index].get() != nullptr) Engine::deallocate(owned[index].get());
        owned[index] = new (Engine::allocate(bytes)) word(value);
    }
    result<void> check() const { return {}; }
    template <class F>
    void visit_blocks(F&& f) const {
        for (const auto& each : owned)
            if (each.get() != nullptr) f(static_cast<const void*>(each.get()));
    }
};

template <class Engine>
struct blocks_workload {
    using container = blocks<Engine>;
    using ordinary = std::vector<std::uint64_t>;
    static constexpr std::string_view name = "blocks";
    static constexpr std::string_view operations[] = {"replace the first", "replace the last",
                                                      "replace the first and roll back"};
    static constexpr unsigned universe = std::size(operations);

    static std::string describe(unsigned operation) { return std::string(operations[operation]); }
    static bool rolls_back(unsigned operation) { return operation == 2; }
    static void apply(container& target, unsigned operation, std::uint64_t value) {
        target.replace(operation == 1 ? container::count - 1 : 0, value);
    }
    static void apply(ordinary& target, unsigned operation, std::uint64_t value) {
        (operation == 1 ? target.back() : target.front()) = value;
    }
    static void prepare(container& target) {
        for (std::size_t i = 0; i < container::count; ++i) target.replace(i, 1000 + i);
    }
    static void prepare(ordinary& target) {
        for (std::size_t i = 0; i < container::count; ++i) target.push_back(1000 + i);
    }
    static contents contents_of(const ordinary& from) { return from; }
    static ordinary restored(const contents& from) { return from; }
    static contents contents_of(const container& from) {
        contents all;
        for (const auto& each : from.owned) all.push_back(each.get()->get());
        return all;
    }
};

template <class Engine>
struct string_workload {
    using container = string<Engine>;
    using ordinary = std::string;
    static constexpr std::string_view name = "string";
    static constexpr std::string_view operations[] = {"assign a short text", "assign a long text", "append", "clear"};
    static constexpr unsigned universe = std::size(operations);

    static std::string describe(unsigned operation) { return std::string(operations[operation]); }
    template <class Target>
    static void apply(Target& target, unsigned operation, std::uint64_t value) {
        const auto letter = static_cast<char>('a' + value % 26);
        switch (operation) {
            case 0: target.assign(std::string(5, letter)); break;
            case 1: target.assign(std::string(40, letter)); break;
            case 2: target.append(std::string(9, letter)); break;
            default: target.clear();
        }
    }
    template <class Target>
    static void prepare(Target& target) {
        target.assign("before");
    }
    static contents contents_of(const ordinary& from) { return {from.begin(), from.end()}; }
    static ordinary restored(const contents& from) { return {from.begin(), from.end()}; }
    static contents contents_of(const container& from) { return contents_of(from.str()); }
};

}  // namespace holdfast::crash
