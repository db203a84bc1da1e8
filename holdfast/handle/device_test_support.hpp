// What tests of pools on devices share.
#pragma once

#include <holdfast/engine/engine_test_support.hpp>

#include <cstddef>
#include <cstdint>

namespace holdfast::test {

inline create_options on_device(std::uint64_t bytes = 4 << 20, level durability = level::power) {
    create_options options;
    options.bytes = bytes;
    options.log_bytes = 64 << 10;
    options.reserved_bytes = std::uint64_t{1} << 30;
    if (HOLDFAST_TEST_BASE_ADDRESS != 0) options.base = HOLDFAST_TEST_BASE_ADDRESS;
    options.durability = durability;
    return options;
}

template <class Engine, std::size_t Count>
struct numbers {
    typename Engine::template field<std::uint64_t> at[Count];

    void set_all(std::uint64_t to) {
        for (auto& each : at) each = to;
    }
    bool are_all(std::uint64_t value) const {
        for (const auto& each : at)
            if (each.get() != value) return false;
        return true;
    }
};

}  // namespace holdfast::test
