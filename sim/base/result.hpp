// Errors as values: a function that can fail for a reason outside the program returns a result.
#pragma once

#include <string>
#include <utility>
#include <variant>

namespace holdfast::sim {

/// One failure, complete enough for a person to act on. Plain data.
struct problem {
    std::string what{};      ///< "bad ELF", "store refused"
    std::string where{};     ///< a file, an address of the guest, a key of a configuration
    std::string expected{};
    std::string found{};

    /// "what: where: expected X, found Y", without the parts that are empty.
    std::string text() const {
        std::string sentence = what;
        if (!where.empty()) sentence += ": " + where;
        if (!expected.empty()) sentence += ": expected " + expected;
        if (!found.empty()) sentence += (expected.empty() ? ": found " : ", found ") + found;
        return sentence;
    }
};

/// A value or a problem. Requires: only the one that is there is asked for.
template <class T>
class [[nodiscard]] result {
public:
    result(T value) : content_(std::in_place_index<0>, std::move(value)) {}
    result(sim::problem reason) : content_(std::in_place_index<1>, std::move(reason)) {}

    explicit operator bool() const noexcept { return content_.index() == 0; }
    T& operator*() & { return std::get<0>(content_); }
    const T& operator*() const& { return std::get<0>(content_); }
    T&& operator*() && { return std::get<0>(std::move(content_)); }
    T* operator->() { return &std::get<0>(content_); }
    const T* operator->() const { return &std::get<0>(content_); }
    const sim::problem& problem() const { return std::get<1>(content_); }

private:
    std::variant<T, sim::problem> content_;
};

}  // namespace holdfast::sim
