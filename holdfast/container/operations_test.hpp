// Every function of a container that changes it, each on a container for which it is dearest. One table, so
// that no test of failures forgets one.
#pragma once

#include <holdfast/container/everything_test.hpp>

#include <functional>
#include <iterator>
#include <ranges>
#include <string>
#include <utility>
#include <vector>

namespace holdfast::test {

template <class Engine>
struct operation {
    using root = everything<Engine>;
    const char* name;
    std::function<void(root&)> prepare;
    void (*run)(root&);
    /// Whether the guide says that an element's failure dooms the transaction.
    bool may_doom = false;
};
template <class Engine>
using operations = std::vector<operation<Engine>>;

inline std::string long_text(std::uint64_t n) {
    return "a text that is too long to stand inline: " + std::to_string(n);
}

/// `count` times f(i).
template <class F>
void times(std::uint64_t count, F&& f) {
    for (std::uint64_t i = 0; i < count; ++i) f(i);
}

/// A predicate that may throw.
inline bool unsure_oddness(long number) {
    on_construction();
    return number % 2 != 0;
}

/// Integers up to `count`, whose reading may throw.
inline auto unsure_numbers(int count) {
    return std::views::iota(0, count) | std::views::transform([](int i) {
               on_construction();
               return i;
           });
}

template <class Engine>
void add_vector_operations(operations<Engine>& to) {
    using root = everything<Engine>;
    // A block of exactly sixteen.
    constexpr auto full = +[](root& all) { times(16, [&](auto i) { all.numbers.push_back(static_cast<int>(i)); }); };
    const auto add = [&](const char* name, void (*run)(root&)) { to.push_back({name, full, run}); };
    add("vector::push_back", [](root& all) { all.numbers.push_back(5); });
    add("vector::emplace_back", [](root& all) { all.numbers.emplace_back(); });
    add("vector::emplace_back of its own", [](root& all) { all.numbers.emplace_back(all.numbers[3]); });
    add("vector::pop_back", [](root& all) { all.numbers.pop_back(); });
    add("vector::insert in front", [](root& all) { all.numbers.insert(all.numbers.begin(), all.numbers[3]); });
    add("vector::insert", [](root& all) { all.numbers.insert(all.numbers.begin() + 7, 5); });
    add("vector::emplace at the end", [](root& all) { all.numbers.emplace(all.numbers.end(), 5); });
    add("vector::erase", [](root& all) { all.numbers.erase(all.numbers.begin() + 7); });
    add("vector::erase of a range", [](root& all) { all.numbers.erase(all.numbers.begin() + 1, all.numbers.end()); });
    add("vector::reserve", [](root& all) { all.numbers.reserve(100); });
    add("vector::resize to more", [](root& all) { all.numbers.resize(40); });
    add("vector::resize to more of a value", [](root& all) { all.numbers.resize(40, 7); });
    add("vector::resize to less", [](root& all) { all.numbers.resize(3); });
    add("vector::assign of more", [](root& all) {
        const auto values = unsure_numbers(50);
        all.numbers.assign(values.begin(), values.end());
    });
    add("vector::assign of less", [](root& all) {
        const auto values = unsure_numbers(5);
        all.numbers.assign(values.begin(), values.end());
    });
    add("vector::assign of itself", [](root& all) {
        all.numbers.assign(all.numbers.begin() + 2, all.numbers.end());
    });
    add("vector::assign of a value", [](root& all) { all.numbers.assign(40, 9); });
    add("vector::append", [](root& all) {
        const std::vector<int> values(40, 3);
        all.numbers.append(values.data(), values.size());
    });
    add("vector::clear", [](root& all) { all.numbers.clear(); });
    add("vector::assign of a list", [](root& all) { all.numbers.assign({1, 2, 3}); });
    add("vector::insert of a range", [](root& all) {
        const auto values = unsure_numbers(20);
        all.numbers.insert(all.numbers.begin() + 3, values.begin(), values.end());
    });
    add("vector::insert of a value", [](root& all) { all.numbers.insert(all.numbers.begin() + 3, 5, 7); });
    add("vector::erase_if", [](root& all) { erase_if(all.numbers, unsure_oddness); });
    add("vector::operator= that moves", [](root& all) { all.other_numbers = std::move(all.numbers); });
    add("vector::operator= of a list", [](root& all) {
        all.numbers = {1, 2, 3, 4, 5, 6, 7, 8, 9, 10, 11, 12, 13, 14, 15, 16, 17, 18};
    });
    add("vector::operator=", [](root& all) { all.other_numbers = all.numbers; });
    add("swap of vectors", [](root& all) { swap(all.numbers, all.other_numbers); });
    constexpr auto spacious = +[](root& all) { all.numbers.resize(70), all.numbers.resize(5); };
    to.push_back({"vector::shrink_to_fit", spacious, [](root& all) { all.numbers.shrink_to_fit(); }});
    to.push_back({"vector::insert where there is room", spacious,
                  [](root& all) { all.numbers.insert(all.numbers.begin(), all.numbers[3]); }});
    constexpr auto emptied = +[](root& all) { all.numbers.resize(70), all.numbers.clear(); };
    to.push_back({"vector::shrink_to_fit of an empty one", emptied, [](root& all) { all.numbers.shrink_to_fit(); }});
}

template <class Engine>
void add_element_operations(operations<Engine>& to) {
    using root = everything<Engine>;
    constexpr auto full = +[](root& all) {
        times(4, [&](auto i) { all.texts.push_back(long_text(i)); });
        times(2, [&](auto i) { all.elements.emplace_back(static_cast<long>(i)); });
        times(8, [&](auto i) { all.brittles.emplace_back(static_cast<long>(i)); });
    };
    constexpr auto spacious = +[](root& all) {
        all.texts.reserve(20), all.elements.reserve(20), all.brittles.reserve(20);
        times(4, [&](auto i) { all.texts.push_back(long_text(i)); });
        times(3, [&](auto i) { all.elements.emplace_back(static_cast<long>(i)); });
        times(7, [&](auto i) { all.brittles.emplace_back(static_cast<long>(i)); });
    };
    const auto add = [&](const char* name, void (*run)(root&)) {
        to.push_back({name, full, run});
        to.push_back({name, spacious, run});
    };
    add("vector of strings, insert of a range", [](root& all) {
        all.texts.insert(all.texts.begin() + 1, {long_text(7), std::string("short"), long_text(8)});
    });
    add("vector of strings, erase_if", [](root& all) {
        erase_if(all.texts, [](const auto& each) { return unsure_oddness(each.str().back()); });
    });
    add("vector of strings, push_back that moves", [](root& all) { all.texts.push_back(std::move(all.texts[1])); });
    add("vector of strings, insert of what is moved", [](root& all) {
        all.other_texts.insert(all.other_texts.begin(), std::move_iterator(all.texts.begin()),
                               std::move_iterator(all.texts.end()));
    });
    to[to.size() - 1].may_doom = to[to.size() - 2].may_doom = true;
    add("vector of elements, insert of a range", [](root& all) {
        const auto values = unsure_numbers(3);
        all.elements.insert(all.elements.begin() + 1, values.begin(), values.end());
    });
    add("vector of strings, push_back", [](root& all) { all.texts.push_back(long_text(9)); });
    add("vector of strings, insert", [](root& all) { all.texts.insert(all.texts.begin() + 1, long_text(9)); });
    add("vector of strings, emplace at the end", [](root& all) { all.texts.emplace(all.texts.end(), long_text(9)); });
    add("vector of strings, pop_back", [](root& all) { all.texts.pop_back(); });
    add("vector of strings, erase", [](root& all) { all.texts.erase(all.texts.begin(), all.texts.begin() + 2); });
    add("vector of strings, reserve", [](root& all) { all.texts.reserve(30); });
    add("vector of strings, resize to more", [](root& all) { all.texts.resize(30); });
    add("vector of strings, resize to less", [](root& all) { all.texts.resize(1); });
    add("vector of strings, clear", [](root& all) { all.texts.clear(); });
    add("vector of strings, shrink_to_fit", [](root& all) { all.texts.shrink_to_fit(); });
    add("vector of strings, assign", [](root& all) {
        const std::vector<std::string> values{long_text(5), "short", long_text(6), long_text(7), long_text(8)};
        all.texts.assign(values.begin(), values.end());
    });
    add("vector of elements, emplace_back", [](root& all) { all.elements.emplace_back(9L); });
    add("vector of elements, emplace in front", [](root& all) { all.elements.emplace(all.elements.begin(), 9L); });
    add("vector of elements, emplace", [](root& all) { all.elements.emplace(all.elements.begin() + 1, 9L); });
    add("vector of elements, resize", [](root& all) { all.elements.resize(7); });
    add("vector of elements, assign", [](root& all) {
        const auto values = unsure_numbers(6) | std::views::filter([](int i) { return i != 2; });
        auto changing = values;
        all.elements.assign(changing.begin(), changing.end());
    });
    add("vector of values, emplace_back", [](root& all) { all.brittles.emplace_back(9L); });
    add("vector of values, emplace", [](root& all) { all.brittles.emplace(all.brittles.begin() + 1, 9L); });
    add("vector of values, resize", [](root& all) { all.brittles.resize(20, brittle(3)); });
}

template <class Engine>
void add_string_operations(operations<Engine>& to) {
    using root = everything<Engine>;
    constexpr auto brief = +[](root& all) { all.line = "sixteen letters!"; };
    constexpr auto lengthy = +[](root& all) { all.line = std::string(64, 'l'), all.other_line = long_text(2); };
    const auto add = [&](const char* name, void (*run)(root&)) {
        to.push_back({name, brief, run});
        to.push_back({name, lengthy, run});
    };
    add("string::assign of more", [](root& all) { all.line.assign(std::string(300, 'm')); });
    add("string::assign of less", [](root& all) { all.line.assign("few"); });
    add("string::assign of itself", [](root& all) {
        all.line.with_view([&](std::string_view view) { all.line.assign(view.substr(1)); });
    });
    add("string::operator=", [](root& all) { all.line = std::string(200, 'e'); });
    add("string::operator= of another", [](root& all) { all.other_line = all.line; });
    add("string::append", [](root& all) { all.line.append(long_text(3)); });
    add("string::append of itself", [](root& all) {
        all.line.with_view([&](std::string_view view) { all.line.append(view); });
    });
    add("string::append of a character", [](root& all) { all.line.append(100, 'c'); });
    add("string::operator+=", [](root& all) { all.line += 'c'; });
    add("string::push_back", [](root& all) { all.line.push_back('c'); });
    add("string::pop_back", [](root& all) { all.line.pop_back(); });
    add("string::insert", [](root& all) { all.line.insert(3, "in between"); });
    add("string::erase", [](root& all) { all.line.erase(3, 4); });
    add("string::resize to more", [](root& all) { all.line.resize(100, 'r'); });
    add("string::resize to less", [](root& all) { all.line.resize(2); });
    add("string::erase_if", [](root& all) { erase_if(all.line, unsure_oddness); });
    add("string::operator= that moves", [](root& all) { all.other_line = std::move(all.line); });
    add("string::reserve", [](root& all) { all.line.reserve(500); });
    add("string::clear", [](root& all) { all.line.clear(); });
    add("swap of strings", [](root& all) { swap(all.line, all.other_line); });
    constexpr auto spacious = +[](root& all) { all.line.reserve(1000), all.line = long_text(1); };
    to.push_back({"string::shrink_to_fit", spacious, [](root& all) { all.line.shrink_to_fit(); }});
    constexpr auto shortened = +[](root& all) { all.line.reserve(1000), all.line = "brief"; };
    to.push_back({"string::shrink_to_fit to inline", shortened, [](root& all) { all.line.shrink_to_fit(); }});
}

/// Fills the map that is the member `Map`: `count` keys in steps of two, so that there is room between. Those that are
/// texts begin at 1000, so that their order is that of the numbers.
template <auto Map, class Engine>
void fill_map(everything<Engine>& all, std::uint64_t count) {
    using key = typename std::remove_reference_t<decltype(all.*Map)>::key_type;
    times(count, [&](std::uint64_t i) {
        if constexpr (std::is_integral_v<key>) {
            if constexpr (requires { (all.*Map).begin()->second.first.str(); }) {
                (all.*Map).try_emplace(2 * i + 2, long_text(i));
            } else {
                (all.*Map).try_emplace(2 * i + 2, i);
            }
        } else if constexpr (requires { (all.*Map).begin()->second.str(); }) {
            (all.*Map).try_emplace(long_text(1000 + 2 * i), long_text(i));
        } else {
            (all.*Map).try_emplace(long_text(1000 + 2 * i), static_cast<long>(i));
        }
    });
}

/// Another map of the same kind.
template <class Engine>
auto& other_map(everything<Engine>& all, const decltype(all.hash)&) {
    return all.other_hash;
}
template <class Engine>
auto& other_map(everything<Engine>& all, const decltype(all.tree)&) {
    return all.other_tree;
}

/// Prepares a map of `count` entries. The compiler does not know the count: otherwise it would make each operation once
/// for each count.
template <auto Map, class Engine>
auto filled_map(std::uint64_t count) {
    return [count](everything<Engine>& all) { fill_map<Map>(all, count); };
}

template <auto Map, class Engine>
void add_number_map_operations(operations<Engine>& to, std::uint64_t count) {
    using root = everything<Engine>;
    const auto add = [&](const char* name, void (*run)(root&)) {
        to.push_back({name, filled_map<Map, Engine>(count), run});
    };
    add("map::try_emplace of the lowest", [](root& all) { (all.*Map).try_emplace(1u, 7u); });
    add("map::try_emplace in the middle", [](root& all) { (all.*Map).try_emplace(11u, 7u); });
    add("map::try_emplace of the highest", [](root& all) { (all.*Map).try_emplace(10'000u, 7u); });
    add("map::try_emplace of what is there", [](root& all) { (all.*Map).try_emplace(10u, 7u); });
    add("map::emplace", [](root& all) { (all.*Map).emplace(11u, 7u); });
    add("map::insert", [](root& all) { (all.*Map).insert(std::pair<std::uint64_t, std::uint64_t>(11, 7)); });
    add("map::operator[]", [](root& all) { (all.*Map)[11u] = 7u; });
    add("map::insert_or_assign of a new one", [](root& all) { (all.*Map).insert_or_assign(11u, 7u); });
    add("map::insert_or_assign", [](root& all) { (all.*Map).insert_or_assign(10u, 7u); });
    add("map::erase", [](root& all) { (all.*Map).erase(10u); });
    add("map::erase of a place", [](root& all) {
        if (auto at = (all.*Map).find(10u); at != (all.*Map).end()) (all.*Map).erase(at);
    });
    add("map::erase_some", [](root& all) { (all.*Map).erase_some(11); });
    add("map::clear", [](root& all) { (all.*Map).clear(); });
    add("map::erase of a range", [](root& all) {
        auto& map = all.*Map;
        map.erase(map.begin(), map.find(10u));
    });
    add("map::erase_if", [](root& all) {
        erase_if(all.*Map, [](const auto& each) { return unsure_oddness(static_cast<long>(each.first / 4)); });
    });
    add("swap of maps", [](root& all) { swap(all.*Map, other_map(all, all.*Map)); });
    add("map::operator= that moves", [](root& all) { other_map(all, all.*Map) = std::move(all.*Map); });
    if constexpr (requires(root& all) { (all.*Map).reserve(1); }) {
        add("hash_map::reserve", [](root& all) { (all.*Map).reserve(100); });
    } else {
        add("btree_map::assign_sorted", [](root& all) {
            const auto values = unsure_numbers(40) | std::views::transform([](int i) { return std::pair(i, i); });
            (all.*Map).assign_sorted(values.begin(), values.end());
        });
    }
}

template <auto Map, class Engine>
void add_text_map_operations(operations<Engine>& to, std::uint64_t count) {
    using root = everything<Engine>;
    const auto add = [&](const char* name, void (*run)(root&)) {
        to.push_back({name, filled_map<Map, Engine>(count), run});
    };
    add("map of strings, try_emplace in front", [](root& all) { (all.*Map).try_emplace(long_text(0), long_text(7)); });
    add("map of strings, try_emplace", [](root& all) { (all.*Map).try_emplace(long_text(1005), long_text(7)); });
    add("map of strings, try_emplace at the end", [](root& all) {
        (all.*Map).try_emplace(long_text(9999), long_text(7));
    });
    add("map of strings, insert_or_assign", [](root& all) {
        (all.*Map).insert_or_assign(long_text(1004), std::string(100, 'a'));
    });
    add("map of strings, erase", [](root& all) { (all.*Map).erase(long_text(1004)); });
    add("map of strings, erase_some", [](root& all) { (all.*Map).erase_some(9); });
    add("map of strings, clear", [](root& all) { (all.*Map).clear(); });
    if constexpr (requires(root& all, std::pair<std::string, std::string>* entry) {
                      (all.*Map).assign_sorted(entry, entry);
                  }) {
        add("map of strings, assign_sorted", [](root& all) {
            const auto values = unsure_numbers(20) | std::views::transform([](int i) {
                                    return std::pair(long_text(static_cast<std::uint64_t>(i) + 10), long_text(7));
                                });
            (all.*Map).assign_sorted(values.begin(), values.end());
        });
    }
}

template <auto Elements, auto Brittles, auto Couples, class Engine>
void add_element_map_operations(operations<Engine>& to, std::uint64_t count) {
    using root = everything<Engine>;
    const auto of_elements = filled_map<Elements, Engine>(count);
    const auto of_brittles = filled_map<Brittles, Engine>(count);
    const auto of_couples = filled_map<Couples, Engine>(count);
    to.push_back({"map of elements, try_emplace", of_elements,
                  [](root& all) { (all.*Elements).try_emplace(long_text(1005), 7L); }});
    to.push_back({"map of elements, operator[]", of_elements,
                  [](root& all) { (all.*Elements)[long_text(1003)]; }});
    to.push_back({"map of values, try_emplace", of_brittles,
                  [](root& all) { (all.*Brittles).try_emplace(11u, 7L); }});
    to.push_back({"map of values, insert_or_assign", of_brittles,
                  [](root& all) { (all.*Brittles).insert_or_assign(10u, 7L); }});
    to.push_back({"map of pairs, try_emplace", of_couples,
                  [](root& all) { (all.*Couples).try_emplace(11u, long_text(7)); }});
    to.push_back({"map of pairs, insert_or_assign", of_couples,
                  [](root& all) { (all.*Couples).insert_or_assign(10u, std::string(100, 'a')); }, true});
}

template <class Engine>
void add_hash_operations(operations<Engine>& to, std::uint64_t count) {
    using root = everything<Engine>;
    add_number_map_operations<&root::hash>(to, count);
    add_text_map_operations<&root::hash_of_texts>(to, count);
    add_element_map_operations<&root::hash_of_elements, &root::hash_of_brittles, &root::hash_of_couples>(to, count);
}

template <class Engine>
void add_tree_operations(operations<Engine>& to, std::uint64_t count) {
    using root = everything<Engine>;
    add_number_map_operations<&root::tree>(to, count);
    add_text_map_operations<&root::tree_of_texts>(to, count);
    add_element_map_operations<&root::tree_of_elements, &root::tree_of_brittles, &root::tree_of_couples>(to, count);
}

template <class Engine>
void add_map_operations(operations<Engine>& to) {
    // Empty; before a bucket splits; before a segment is needed for it.
    add_hash_operations(to, 0);
    add_hash_operations(to, 8);
    add_hash_operations(to, 32);
    // Empty; a full leaf; a full node above full leaves.
    add_tree_operations(to, 0);
    add_tree_operations(to, 15);
    add_tree_operations(to, 240);
    using root = everything<Engine>;
    to.push_back({"btree_map::erase of a range", filled_map<&root::tree_of_texts, Engine>(60), [](root& all) {
                      auto& tree = all.tree_of_texts;
                      tree.erase(tree.find(long_text(1010)), tree.find(long_text(1050)));
                  }});
}

template <class Engine>
void add_queue_operations(operations<Engine>& to) {
    using root = everything<Engine>;
    constexpr auto empty = +[](root&) {};
    // Chunks that are full: of 62 numbers, 20 strings, 15 elements and 62 values.
    constexpr auto full = +[](root& all) {
        times(62, [&](auto i) { all.waiting.push(i); });
        times(20, [&](auto i) { all.waiting_texts.push(long_text(i)); });
        times(15, [&](auto i) { all.waiting_elements.emplace(static_cast<long>(i)); });
        times(62, [&](auto i) { all.waiting_brittles.emplace(static_cast<long>(i)); });
    };
    constexpr auto begun = +[](root& all) {
        full(all);
        all.waiting.push(1u), all.waiting_texts.push("x");
        all.waiting_elements.emplace(1L), all.waiting_brittles.emplace(1L);
        times(61, [&](auto) { all.waiting.pop(); });
        times(19, [&](auto) { all.waiting_texts.pop(); });
    };
    for (void (*const prepare)(root&) : {empty, full, begun}) {
        const auto add = [&](const char* name, void (*run)(root&)) { to.push_back({name, prepare, run}); };
        add("queue::push", [](root& all) { all.waiting.push(5u); });
        add("queue::emplace", [](root& all) { all.waiting.emplace(); });
        add("queue::pop", [](root& all) { if (!all.waiting.empty()) all.waiting.pop(); });
        add("queue::erase_some", [](root& all) { all.waiting.erase_some(5); });
        add("queue::clear", [](root& all) { all.waiting.clear(); });
        add("queue::erase_if", [](root& all) { erase_if(all.waiting, unsure_oddness); });
        add("queue of strings, erase", [](root& all) {
            auto& line = all.waiting_texts;
            line.erase(line.begin(), std::next(line.begin(), static_cast<std::ptrdiff_t>(line.size() / 2)));
        });
        add("queue of strings, push", [](root& all) { all.waiting_texts.push(long_text(9)); });
        add("queue of strings, pop", [](root& all) { if (!all.waiting_texts.empty()) all.waiting_texts.pop(); });
        add("queue of strings, clear", [](root& all) { all.waiting_texts.clear(); });
        add("queue of elements, emplace", [](root& all) { all.waiting_elements.emplace(9L); });
        add("queue of values, emplace", [](root& all) { all.waiting_brittles.emplace(9L); });
    }
}

/// Where half of the elements stand before.
auto middle(auto& list) { return std::next(list.begin(), static_cast<std::ptrdiff_t>(list.size() / 2)); }

template <class Engine>
void add_list_operations(operations<Engine>& to) {
    using root = everything<Engine>;
    constexpr auto empty = +[](root&) {};
    constexpr auto full = +[](root& all) {
        times(6, [&](auto i) { all.chain.push_back(i); });
        times(6, [&](auto i) { all.chain_texts.push_back(long_text(i)); });
        times(3, [&](auto i) { all.chain_elements.emplace_back(static_cast<long>(i)); });
        times(3, [&](auto i) { all.chain_brittles.emplace_back(static_cast<long>(i)); });
        times(2, [&](auto i) { all.other_chain.push_back(i), all.other_chain_texts.push_back(long_text(i)); });
    };
    for (void (*const prepare)(root&) : {empty, full}) {
        const auto add = [&](const char* name, void (*run)(root&)) { to.push_back({name, prepare, run}); };
        add("list::push_back", [](root& all) { all.chain.push_back(5u); });
        add("list::push_front", [](root& all) { all.chain.push_front(5u); });
        add("list::insert", [](root& all) { all.chain.insert(middle(all.chain), 5u); });
        add("list::insert of a range", [](root& all) {
            const auto values = unsure_numbers(5);
            all.chain.insert(middle(all.chain), values.begin(), values.end());
        });
        add("list::assign", [](root& all) { all.chain.assign({1u, 2u, 3u}); });
        add("list::erase", [](root& all) { if (!all.chain.empty()) all.chain.erase(middle(all.chain)); });
        add("list::erase of a range", [](root& all) { all.chain.erase(all.chain.begin(), middle(all.chain)); });
        add("list::erase_if", [](root& all) { erase_if(all.chain, unsure_oddness); });
        add("list::erase_some", [](root& all) { all.chain.erase_some(2); });
        add("list::clear", [](root& all) { all.chain.clear(); });
        add("list::splice", [](root& all) { all.chain.splice(middle(all.chain), all.other_chain); });
        add("swap of lists", [](root& all) { swap(all.chain, all.other_chain); });
        add("list::operator= that moves", [](root& all) { all.other_chain = std::move(all.chain); });
        add("list of strings, push_back", [](root& all) { all.chain_texts.push_back(long_text(9)); });
        add("list of strings, insert of a range", [](root& all) {
            const std::vector<std::string> values{long_text(7), "short", long_text(8)};
            all.chain_texts.insert(middle(all.chain_texts), values.begin(), values.end());
        });
        add("list of strings, assign of what is moved", [](root& all) {
            all.other_chain_texts.assign(std::move_iterator(all.chain_texts.begin()),
                                         std::move_iterator(all.chain_texts.end()));
        });
        to.back().may_doom = true;
        add("list of strings, clear", [](root& all) { all.chain_texts.clear(); });
        add("list of elements, emplace", [](root& all) { all.chain_elements.emplace(middle(all.chain_elements), 9L); });
        add("list of elements, assign", [](root& all) {
            const auto values = unsure_numbers(3);
            all.chain_elements.assign(values.begin(), values.end());
        });
        add("list of values, emplace_front", [](root& all) { all.chain_brittles.emplace_front(9L); });
    }
}

template <class Engine>
operations<Engine> all_operations() {
    operations<Engine> all;
    add_vector_operations(all);
    add_element_operations(all);
    add_string_operations(all);
    add_map_operations(all);
    add_queue_operations(all);
    add_list_operations(all);
    using root = everything<Engine>;
    all.push_back({"make", [](root&) {}, [](root& to) { to.made = Engine::template make<fragile<Engine>>(5); }});
    return all;
}

}  // namespace holdfast::test
