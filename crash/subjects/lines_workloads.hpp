// Objects in lines as subjects: small universes of operations, and the same on ordinary objects.
#pragma once

#include <crash/subjects/expectation.hpp>

#include <holdfast/line/line.hpp>
#include <holdfast/line/lines.hpp>

#include <array>
#include <cstdint>
#include <string_view>

namespace holdfast::crash {

/// A bounded buffer that fills its half of a line but for a byte.
struct buffer_of_bytes {
    static constexpr std::uint8_t places = 28;
    std::uint8_t bytes[places] = {};
    std::uint8_t in = 0;
    std::uint8_t out = 0;

    void add(std::uint8_t byte) {
        if ((in + 1) % places == out) return;
        bytes[in] = byte;
        in = static_cast<std::uint8_t>((in + 1) % places);
    }
    void get() {
        if (in == out) return;
        // So that the return of an old byte is seen.
        bytes[out] = 0;
        out = static_cast<std::uint8_t>((out + 1) % places);
    }
};

/// Runs f as a transaction of the first object, and rolls it back. Ordinary objects get their old contents.
template <class Transact, class F>
void roll_back(Transact&& transact, F&& f) {
    struct rolled_back {};
    try {
        transact(0, [&](auto& first) {
            f(first);
            throw rolled_back{};
        });
    } catch (const rolled_back&) {
    }
}

/// The same operations on ordinary objects: `f` of an operation that is rolled back leaves the first as it was.
template <class Objects, class Operations>
void apply_to_ordinary(Objects& target, Operations&& operations) {
    operations([&](std::size_t index, auto&& f) {
        const auto before = target[index];
        try {
            f(target[index]);
        } catch (...) {
            target[index] = before;
            throw;
        }
    });
}

struct buffer_operations {
    using ordinary = std::array<buffer_of_bytes, 2>;
    static constexpr std::string_view name = "buffer";
    static constexpr unsigned operation_afterwards = 0;
    static constexpr std::string_view operations[] = {
        "add a byte",        "get a byte",          "add twelve bytes",   "get all bytes",
        "add and roll back", "add in a nested one", "get from the second",
        "add to the second, and roll back the first"};

    /// `transact(index, f)` runs f on the buffer with this index.
    template <class Transact>
    static void apply_by(unsigned operation, std::uint64_t value, Transact&& transact) {
        const auto byte = static_cast<std::uint8_t>(value / 100 + operation);
        switch (operation) {
            case 0: return transact(0, [&](buffer_of_bytes& to) { to.add(byte); });
            case 1: return transact(0, [](buffer_of_bytes& from) { from.get(); });
            case 2:
                return transact(0, [&](buffer_of_bytes& to) {
                    for (int i = 0; i < 12; ++i) to.add(byte);
                });
            case 3:
                return transact(0, [](buffer_of_bytes& from) {
                    while (from.in != from.out) from.get();
                });
            case 4: return roll_back(transact, [&](buffer_of_bytes& to) { to.add(byte); });
            case 5:
                return transact(0, [&](buffer_of_bytes& to) {
                    to.add(byte);
                    transact(0, [&](buffer_of_bytes& same) { same.add(1); });
                });
            case 6: return transact(1, [](buffer_of_bytes& from) { from.get(); });
            default:
                return roll_back(transact, [&](buffer_of_bytes& first) {
                    first.add(byte);
                    transact(1, [&](buffer_of_bytes& second) { second.add(byte); });
                });
        }
    }
    static void apply(ordinary& target, unsigned operation, std::uint64_t value) {
        apply_to_ordinary(target, [&](auto&& transact) { apply_by(operation, value, transact); });
    }
    template <class Target>
    static contents of_each(const Target& at) {
        contents all;
        for (std::size_t i = 0; i < 2; ++i) {
            const buffer_of_bytes& each = at(i);
            all.push_back(each.in);
            all.push_back(each.out);
            all.insert(all.end(), std::begin(each.bytes), std::end(each.bytes));
        }
        return all;
    }
    static contents contents_of(const ordinary& from) {
        return of_each([&](std::size_t i) -> const buffer_of_bytes& { return from[i]; });
    }
};

struct line_buffer : buffer_operations {
    using container = line_array<buffer_of_bytes, 2>;
    static constexpr std::string_view engine = "line";
    static constexpr bool stands_torn_lines = false;

    using buffer_operations::apply;
    static void apply(container& target, unsigned operation, std::uint64_t value) {
        apply_by(operation, value, [&](std::size_t index, auto&& f) { target[index].transact(f); });
    }
    static void apply_recovered(container& target, unsigned operation, std::uint64_t value) {
        apply(target, operation, value);
    }
    using buffer_operations::contents_of;
    static contents contents_of(const container& from) {
        return of_each([&](std::size_t i) -> const buffer_of_bytes& { return *from[i]; });
    }
    static bool recover(container& all) {
        for (line<buffer_of_bytes>& each : all) each.recover();
        return true;
    }
};

/// A record of several lines.
template <std::size_t Words>
struct record_operations {
    using record = std::array<std::uint64_t, Words>;
    using ordinary = std::array<record, 2>;
    using container = lines_array<record, 2>;
    static constexpr std::string_view engine = "lines";
    static constexpr bool stands_torn_lines = true;
    /// Its one line may be what a copy lacks that "set every word" left torn.
    static constexpr unsigned operation_afterwards = 1;
    static constexpr std::string_view operations[] = {"set every word",          "set the last word",
                                                      "set the first word",      "set the words of the middle",
                                                      "set all and roll back",   "set in a nested one",
                                                      "set the second's, and roll back the first"};

    template <class Transact>
    static void apply_by(unsigned operation, std::uint64_t value, Transact&& transact) {
        const auto fill = [value](record& to) {
            for (std::uint64_t& each : to) each = value;
        };
        switch (operation) {
            case 0: return transact(0, fill);
            case 1: return transact(0, [&](record& to) { to.back() = value; });
            case 2: return transact(0, [&](record& to) { to.front() = value; });
            case 3:
                return transact(0, [&](record& to) {
                    for (std::size_t i = Words / 2 - 1; i < Words / 2 + 1; ++i) to[i] = value;
                });
            case 4: return roll_back(transact, fill);
            case 5:
                return transact(0, [&](record& to) {
                    to.front() = value;
                    transact(0, [&](record& same) { same.back() = value + 1; });
                });
            default:
                return roll_back(transact, [&](record& first) {
                    fill(first);
                    transact(1, fill);
                });
        }
    }
    static void apply(ordinary& target, unsigned operation, std::uint64_t value) {
        apply_to_ordinary(target, [&](auto&& transact) { apply_by(operation, value, transact); });
    }
    static void apply(container& target, unsigned operation, std::uint64_t value) {
        apply_by(operation, value, [&](std::size_t index, auto&& f) { target[index].transact(f); });
    }
    static void apply_recovered(container& target, unsigned operation, std::uint64_t value) {
        apply(target, operation, value);
    }
    static contents contents_of(const ordinary& from) {
        contents all;
        for (const record& each : from) all.insert(all.end(), each.begin(), each.end());
        return all;
    }
    static contents contents_of(const container& from) {
        contents all;
        for (const lines<record>& each : from) all.insert(all.end(), each->begin(), each->end());
        return all;
    }
    static bool recover(container& all) {
        // Nothing comes after the first's own fences.
        return all[1].recover() && all[0].recover();
    }
};

/// One line with its header, and three, of which the last has one word.
struct record_of_one_line : record_operations<6> {
    static constexpr std::string_view name = "record";
};
struct record_of_three_lines : record_operations<15> {
    static constexpr std::string_view name = "long_record";
};

}  // namespace holdfast::crash
