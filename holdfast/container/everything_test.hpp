// One of everything that a container can be, in one root, and the faults that its operations meet.
#pragma once

#include <holdfast/container/btree_map.hpp>
#include <holdfast/container/hash_map.hpp>
#include <holdfast/container/list.hpp>
#include <holdfast/container/queue.hpp>
#include <holdfast/container/string.hpp>
#include <holdfast/container/vector.hpp>

#include <concepts>
#include <cstdint>
#include <string>
#include <string_view>
#include <type_traits>

namespace holdfast::test {

/// What an element's constructor throws when it is told to.
struct refused {};

/// Which call fails, counted from 0; below 0: none.
struct faults {
    long allocation = -1;
    long deallocation = -1;
    long construction = -1;

    static faults& now() {
        static faults all;
        return all;
    }
    /// Whether it is this call's turn.
    static bool due(long& left) { return left >= 0 && left-- == 0; }
};

inline void on_construction() {
    if (faults::due(faults::now().construction)) throw refused();
}

/// An engine whose k-th allocation or deallocation fails, and which is `Base` otherwise.
template <class Base>
struct failing : engine_interface<failing<Base>> {
    using transaction = typename Base::transaction;
    using base = engine_interface<failing>;
    static constexpr engine_description description = Base::description;
    static constexpr bool has_shared_aliases = Base::has_shared_aliases;

    static void read(const void* home, void* to, std::size_t bytes) { Base::read(home, to, bytes); }
    static heap_block allocate_block(std::size_t bytes, std::size_t alignment) {
        if (faults::due(faults::now().allocation)) fail(errc::out_of_space, "told to have no block");
        return base::allocate_block(bytes, alignment);
    }
    static void deallocate(void* address) {
        if (address != nullptr && faults::due(faults::now().deallocation)) fail(errc::corrupt, "told not to free");
        base::deallocate(address);
    }
};

/// Trivially copyable; its constructor may throw.
struct brittle {
    long value;
    brittle() = default;
    template <std::integral Number>
    explicit brittle(Number number) : value(static_cast<long>(number)) {
        on_construction();
    }
    operator long() const { return value; }
};
static_assert(std::is_trivially_copyable_v<brittle>);

/// A program's own element, whose constructor may throw before it owns a block, and after.
template <class Engine>
struct fragile {
    basic_field<Engine, long> value;
    string<Engine> text;

    fragile() : fragile(0) {}
    explicit fragile(long number) {
        on_construction();
        value = number;
        text = "a text that needs a block, of number " + std::to_string(number);
        on_construction();
    }
    template <class F>
    void visit_blocks(F&& f) const {
        text.visit_blocks(f);
    }
};

/// A program's own element that is assigned in two steps.
template <class Engine>
struct couple {
    string<Engine> first;
    string<Engine> second;

    couple() = default;
    explicit couple(std::string_view both) { *this = both; }
    couple& operator=(std::string_view both) {
        first = both;
        second = both;
        return *this;
    }
    template <class F>
    void visit_blocks(F&& f) const {
        first.visit_blocks(f);
        second.visit_blocks(f);
    }
};

/// The first problem of those that `each` names.
template <class All>
result<void> check_each(const All& all) {
    result<void> found;
    All::each(all, [&](const auto& one) {
        if (auto checked = one.check(); !checked && found) found = std::move(checked);
    });
    return found;
}

template <class Engine>
struct everything {
    using text = string<Engine>;
    using element = fragile<Engine>;
    using number = std::uint64_t;

    vector<int, Engine> numbers;
    vector<int, Engine> other_numbers;
    vector<text, Engine> texts;
    vector<text, Engine> other_texts;
    vector<element, Engine> elements;
    vector<brittle, Engine> brittles;
    text line;
    text other_line;
    hash_map<number, number, Engine> hash;
    hash_map<text, text, Engine> hash_of_texts;
    hash_map<text, element, Engine> hash_of_elements;
    hash_map<number, brittle, Engine> hash_of_brittles;
    hash_map<number, couple<Engine>, Engine> hash_of_couples;
    btree_map<number, number, Engine> tree;
    btree_map<text, text, Engine> tree_of_texts;
    btree_map<text, element, Engine> tree_of_elements;
    btree_map<number, brittle, Engine> tree_of_brittles;
    btree_map<number, couple<Engine>, Engine> tree_of_couples;
    hash_map<number, number, Engine> other_hash;
    btree_map<number, number, Engine> other_tree;
    queue<number, Engine> waiting;
    queue<text, Engine> waiting_texts;
    queue<element, Engine> waiting_elements;
    queue<brittle, Engine> waiting_brittles;
    list<number, Engine> chain;
    list<number, Engine> other_chain;
    list<text, Engine> chain_texts;
    list<text, Engine> other_chain_texts;
    list<element, Engine> chain_elements;
    list<brittle, Engine> chain_brittles;
    basic_field<Engine, element*> made;
    /// What a transaction does besides, so that it has something to commit.
    basic_field<Engine, number> turn;

    /// Calls f with each container.
    template <class F>
    static void each(auto& all, F&& f) {
        f(all.numbers), f(all.other_numbers), f(all.texts), f(all.other_texts), f(all.elements), f(all.brittles);
        f(all.line), f(all.other_line);
        f(all.hash), f(all.hash_of_texts), f(all.hash_of_elements), f(all.hash_of_brittles), f(all.hash_of_couples);
        f(all.tree), f(all.tree_of_texts), f(all.tree_of_elements), f(all.tree_of_brittles), f(all.tree_of_couples);
        f(all.other_hash), f(all.other_tree);
        f(all.waiting), f(all.waiting_texts), f(all.waiting_elements), f(all.waiting_brittles);
        f(all.chain), f(all.other_chain), f(all.chain_texts), f(all.other_chain_texts), f(all.chain_elements);
        f(all.chain_brittles);
    }
    /// Inside a transaction.
    void clear() {
        each(*this, [](auto& one) {
            one.clear();
            if constexpr (requires { one.shrink_to_fit(); }) one.shrink_to_fit();
        });
        if (made.get() != nullptr) Engine::destroy(made.get());
        made = nullptr;
    }
    template <class F>
    void visit_blocks(F&& f) const {
        each(*this, [&](const auto& one) { one.visit_blocks(f); });
        if (made.get() == nullptr) return;
        f(static_cast<const void*>(made.get()));
        made.get()->visit_blocks(f);
    }
    result<void> check() const { return check_each(*this); }
};

template <class Held>
std::string written(const Held& held) {
    if constexpr (requires { held.str(); }) {
        return held.str();
    } else if constexpr (requires { held.first.str(); held.second.str(); }) {
        return held.first.str() + "&" + held.second.str();
    } else if constexpr (requires { held.text.str(); }) {
        return std::to_string(held.value.get()) + "=" + held.text.str();
    } else if constexpr (requires { held.first; held.second; }) {
        return written(held.first) + ":" + written(held.second);
    } else {
        return std::to_string(held.get());
    }
}

/// All that stands in those that `each` names, to compare.
template <class All>
std::string written_each(const All& all) {
    std::string text;
    All::each(all, [&](const auto& one) {
        text += std::to_string(one.size()) + "[";
        if constexpr (requires { one.str(); }) {
            text += one.str();
        } else {
            for (const auto& element : one) text += written(element) + ",";
        }
        text += "] ";
    });
    return text;
}
template <class Engine>
std::string written(const everything<Engine>& all) {
    return written_each(all) + (all.made.get() == nullptr ? "nothing made" : written(*all.made.get()));
}

}  // namespace holdfast::test
