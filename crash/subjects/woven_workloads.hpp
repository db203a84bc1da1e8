// The paper's bounded buffer, woven and compiled in several ways, as subjects. Its code is the weaver's, and stepped
// through; recovered images are looked at, and changed once more, as lines of the same layout.
#pragma once

#include <crash/subjects/expectation.hpp>

#include <holdfast/line/line.hpp>

#include <workload/bounded_buffer.hpp>

#include <array>
#include <cstddef>
#include <cstdint>
#include <string_view>

namespace holdfast::crash {

/// workload/woven_buffer.hpp, compiled in one way.
struct woven_functions {
    std::string_view name;
    void (*reset)(void* line);
    void (*add)(void* line, char byte);
    char (*get)(void* line);
    void (*fill)(void* line, const char* from, std::size_t count);
    void (*drain)(void* line, char* to, std::size_t count);
};

/// `Way` has the functions as `Way::functions`.
template <class Way>
struct woven_buffer {
    using plain_buffer = holdfast::workload::plain_buffer;
    using container = line_array<plain_buffer, 2>;
    using ordinary = std::array<plain_buffer, 2>;
    static constexpr std::string_view engine = "woven";
    static constexpr std::string_view name = Way::functions.name;
    static constexpr bool stands_torn_lines = false;
    static constexpr unsigned operation_afterwards = 0;
    static constexpr std::string_view operations[] = {"add a byte", "get a byte", "fill with twelve", "drain twelve",
                                                      "reset",      "add a byte to the second"};
    static constexpr unsigned many = 12;

    static void apply(container& target, unsigned operation, std::uint64_t value) {
        void* const line = &target[operation == 5 ? 1 : 0];
        const char byte = byte_of(operation, value);
        std::array<char, many> bytes = bytes_of(byte);
        switch (operation) {
            case 1: static_cast<void>(Way::functions.get(line)); return;
            case 2: return Way::functions.fill(line, bytes.data(), many);
            case 3: return Way::functions.drain(line, bytes.data(), many);
            case 4: return Way::functions.reset(line);
            default: return Way::functions.add(line, byte);
        }
    }
    static void apply(ordinary& target, unsigned operation, std::uint64_t value) {
        change(target[operation == 5 ? 1 : 0], operation, byte_of(operation, value));
    }
    static void apply_recovered(container& target, unsigned operation, std::uint64_t value) {
        target[operation == 5 ? 1 : 0].transact(
            [&](plain_buffer& active) { change(active, operation, byte_of(operation, value)); });
    }
    static contents contents_of(const ordinary& from) {
        contents all;
        for (const plain_buffer& each : from) add(all, each);
        return all;
    }
    static contents contents_of(const container& from) {
        contents all;
        for (const auto& each : from) add(all, *each);
        return all;
    }
    static bool recover(container& all) {
        for (auto& each : all) each.recover();
        return true;
    }

private:
    static char byte_of(unsigned operation, std::uint64_t value) { return static_cast<char>(value / 100 + operation); }
    static std::array<char, many> bytes_of(char byte) {
        std::array<char, many> bytes;
        bytes.fill(byte);
        return bytes;
    }
    static void change(plain_buffer& target, unsigned operation, char byte) {
        switch (operation) {
            case 1: static_cast<void>(target.get()); return;
            case 2: return target.fill(bytes_of(byte).data(), many);
            case 3: {
                std::array<char, many> drained;
                return target.drain(drained.data(), many);
            }
            case 4: return target.reset();
            default: return target.add(byte);
        }
    }
    static void add(contents& all, const plain_buffer& from) {
        all.push_back(from.in);
        all.push_back(from.out);
        for (const char each : from.bytes) all.push_back(static_cast<std::uint8_t>(each));
    }
};

}  // namespace holdfast::crash
