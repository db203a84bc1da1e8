// What travels between the caches and the memory: a line's bytes, and which of them are meant.
#pragma once

#include <sim/base/units.hpp>

#include <array>
#include <bit>
#include <cstddef>
#include <cstring>
#include <span>

namespace holdfast::sim {

using line_data = std::array<std::byte, line_bytes>;
using line_view = std::span<const std::byte, line_bytes>;

/// Later than anything that happens.
inline constexpr time never{~std::uint64_t{0}};

/// Bit i stands for byte i of a line.
struct byte_mask {
    std::uint64_t bits = 0;

    static constexpr byte_mask all() noexcept { return {~std::uint64_t{0}}; }
    static constexpr byte_mask range(std::uint64_t first, std::uint64_t count) noexcept {
        return {(count >= line_bytes ? ~std::uint64_t{0} : (std::uint64_t{1} << count) - 1) << first};
    }
    constexpr bool is_all() const noexcept { return bits == ~std::uint64_t{0}; }
    constexpr bool operator==(const byte_mask&) const noexcept = default;
};

/// Bytes for memory: those of `bytes` that `mask` names.
struct line_write {
    sim::address line{};
    byte_mask mask = byte_mask::all();
    line_data bytes{};

    void apply_to(line_data& target) const noexcept {
        if (mask.is_all()) {
            target = bytes;
            return;
        }
        for (std::uint64_t rest = mask.bits; rest != 0; rest &= rest - 1) {
            const auto at = static_cast<std::size_t>(std::countr_zero(rest));
            target[at] = bytes[at];
        }
    }
    void add(std::uint64_t offset, std::span<const std::byte> more) noexcept {
        std::memcpy(bytes.data() + offset, more.data(), more.size());
        mask.bits |= byte_mask::range(offset, more.size()).bits;
    }
};

/// Harts that wait for something, as a set.
struct hart_set {
    std::uint64_t bits = 0;

    static constexpr hart_set none() noexcept { return {}; }
    static constexpr hart_set only(hart_id hart) noexcept { return {std::uint64_t{1} << hart.value}; }
    constexpr bool has(hart_id hart) const noexcept { return (bits >> hart.value & 1) != 0; }
    constexpr bool empty() const noexcept { return bits == 0; }
    constexpr void add(hart_set others) noexcept { bits |= others.bits; }
    constexpr void remove(hart_id hart) noexcept { bits &= ~only(hart).bits; }
};
inline constexpr std::uint32_t harts_max = 64;

}  // namespace holdfast::sim
