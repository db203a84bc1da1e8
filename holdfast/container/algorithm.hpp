// What all containers have in common: comparison, and removal by a predicate.
#pragma once

#include <holdfast/container/element.hpp>

#include <algorithm>
#include <concepts>
#include <cstddef>
#include <functional>
#include <iterator>
#include <vector>

namespace holdfast::detail {

template <class T, class Engine>
bool same_element(const held_element<T, Engine>& a, const held_element<T, Engine>& b) {
    if constexpr (is_plain_value<T>) {
        return a.get() == b.get();
    } else {
        return a == b;
    }
}
/// Whether two containers hold equal elements in the same order.
template <class T, class Engine>
bool same_elements(const auto& a, const auto& b) {
    return a.size() == b.size() && std::equal(a.begin(), a.end(), b.begin(), [](const auto& x, const auto& y) {
               return same_element<T, Engine>(x, y);
           });
}

/// For each element, in order, whether it is to be removed. Evaluated before the first removal: a predicate that throws
/// changes nothing.
template <class Predicate>
std::vector<bool> marked(const auto& all, Predicate& leaves) {
    std::vector<bool> marks;
    marks.reserve(all.size());
    for (const auto& each : all) marks.push_back(static_cast<bool>(std::invoke(leaves, each)));
    return marks;
}
/// Marks for the elements with these numbers.
inline std::vector<bool> marked_range(std::size_t size, std::size_t first, std::size_t last) {
    std::vector<bool> marks(size, false);
    std::fill(marks.begin() + static_cast<std::ptrdiff_t>(first), marks.begin() + static_cast<std::ptrdiff_t>(last),
              true);
    return marks;
}
/// Removes the elements for which the predicate is true, one after the other; returns how many.
template <class Engine, class Predicate>
std::size_t erase_marked(auto& from, Predicate& leaves) {
    return modify<Engine>(&from, [&] { return marked(std::as_const(from), leaves); },
                          [&](const std::vector<bool>& marks) {
                              std::size_t erased = 0;
                              auto at = from.begin();
                              for (const bool goes : marks) {
                                  if (!goes) {
                                      ++at;
                                      continue;
                                  }
                                  at = from.erase(at);
                                  ++erased;
                              }
                              return erased;
                          });
}

/// Whether building a T from an element of such a range takes the element's contents away.
template <class T, class Iterator>
inline constexpr bool moves_out = !is_plain_value<T> && std::is_rvalue_reference_v<std::iter_reference_t<Iterator>>;

/// Runs f, which builds elements out of a range. Where it moves them out, what fails would lose some: the transaction
/// is doomed. Inside a transaction.
template <class T, class Engine, class Iterator, class F>
auto build_out_of(F&& f) {
    if constexpr (moves_out<T, Iterator>) {
        return all_or_doom(current_transaction<Engine>(), f);
    } else {
        return f();
    }
}

}  // namespace holdfast::detail
