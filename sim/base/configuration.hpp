// Settings as plain structs: each component's struct lists its fields with their ranges in one function,
// `visit_fields`, and whatever needs the list (checking, setting by name, printing) is a visitor of it.
#pragma once

#include <sim/base/units.hpp>

#include <algorithm>
#include <cstdint>
#include <optional>
#include <span>
#include <string>
#include <string_view>

namespace holdfast::sim {

/// A setting that the machine cannot be built with: which, what it was, what it may be.
struct configuration_error {
    std::string key{};
    std::string found{};
    std::string allowed{};

    /// "KEY is FOUND, allowed is ALLOWED"
    std::string text() const { return key + " is " + found + ", allowed is " + allowed; }
};

/// A time in nanoseconds as people write it: "1.6", "300".
std::string nanoseconds_text(time span);

/// Visitor that finds the first field out of its range. Keys get `prefix` in front.
class range_check {
public:
    explicit range_check(std::string_view prefix) : prefix_(prefix) {}

    void number(std::string_view key, std::uint64_t value, std::uint64_t least, std::uint64_t most);
    /// A number that addresses are cut with.
    void power_of_two(std::string_view key, std::uint64_t value, std::uint64_t least, std::uint64_t most);
    /// Keys of times end in `_ns`.
    void span(std::string_view key, time value, time least, time most);
    void flag(std::string_view, bool) {}
    template <class Enum>
    void choice(std::string_view key, Enum value, std::span<const std::string_view> names) {
        if (static_cast<std::size_t>(value) < names.size()) return;
        refuse(key, std::to_string(static_cast<std::size_t>(value)), all_of(names));
    }
    /// For rules between fields; only the first refusal is kept.
    void refuse(std::string_view key, std::string found, std::string allowed);

    std::optional<configuration_error> error() && { return std::move(error_); }

private:
    static std::string all_of(std::span<const std::string_view> names);

    std::string prefix_;
    std::optional<configuration_error> error_{};
};

/// Visitor that sets the field whose prefix and key are `key`. Ranges are range_check's business.
class field_setter {
public:
    field_setter(std::string_view prefix, std::string_view key, std::string_view text)
        : prefix_(prefix), key_(key), text_(text) {}

    template <class Integer>
    void number(std::string_view key, Integer& value, std::uint64_t, std::uint64_t most) {
        if (std::optional<std::uint64_t> read = whole_number(key, most)) value = static_cast<Integer>(*read);
    }
    template <class Integer>
    void power_of_two(std::string_view key, Integer& value, std::uint64_t least, std::uint64_t most) {
        number(key, value, least, most);
    }
    void span(std::string_view key, time& value, time least, time most);
    void flag(std::string_view key, bool& value);
    template <class Enum>
    void choice(std::string_view key, Enum& value, std::span<const std::string_view> names) {
        if (std::optional<std::size_t> read = one_of(key, names)) value = static_cast<Enum>(*read);
    }

    /// Whether there was such a field at all.
    bool found() const { return found_; }
    /// What the text should have been, if it was nothing of the kind.
    std::optional<configuration_error> error() && { return std::move(error_); }

private:
    bool is_mine(std::string_view key);
    std::optional<std::uint64_t> whole_number(std::string_view key, std::uint64_t most);
    std::optional<std::size_t> one_of(std::string_view key, std::span<const std::string_view> names);
    void refuse(std::string allowed);

    std::string prefix_, key_, text_;
    bool found_ = false;
    std::optional<configuration_error> error_{};
};

/// Sets the field with this key in one of several parts: for_each_part(take) calls take(prefix, part) for each.
/// Errors: no part has such a field, or the text does not fit.
template <class ForEachPart>
std::optional<configuration_error> set_field(std::string_view key, std::string_view text,
                                             ForEachPart&& for_each_part) {
    bool found = false;
    std::optional<configuration_error> error;
    for_each_part([&](std::string_view prefix, auto& part) {
        field_setter visitor(prefix, key, text);
        part.visit_fields(part, visitor);
        found = found || visitor.found();
        if (!error) error = std::move(visitor).error();
    });
    if (!found) return configuration_error{std::string(key), std::string(text), "a key of this machine"};
    return error;
}

}  // namespace holdfast::sim
