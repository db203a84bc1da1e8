#include <holdfast/base/checksum.hpp>

#include <holdfast/base/checksum_run.hpp>

#include <array>

namespace holdfast {
namespace {

constexpr std::uint32_t reflected_polynomial = 0x82F63B78u;

constexpr std::array<std::uint32_t, 256> make_table() {
    std::array<std::uint32_t, 256> table{};
    for (std::uint32_t byte = 0; byte < 256; ++byte) {
        std::uint32_t crc = byte;
        for (int bit = 0; bit < 8; ++bit) crc = (crc >> 1) ^ ((crc & 1u) != 0 ? reflected_polynomial : 0u);
        table[byte] = crc;
    }
    return table;
}

constexpr auto table = make_table();

struct table_step {
    using state = std::uint32_t;
    static std::uint32_t byte(std::uint32_t crc, std::uint8_t value) noexcept {
        return (crc >> 8) ^ table[(crc ^ value) & 0xFFu];
    }
    static std::uint32_t word(std::uint32_t crc, std::uint64_t value) noexcept {
        for (int i = 0; i < 8; ++i) crc = byte(crc, static_cast<std::uint8_t>(value >> (8 * i)));
        return crc;
    }
};

const bool use_instruction = detail::crc_instruction_available();

}  // namespace

namespace detail {

std::uint32_t crc32c_portable(const void* data, std::size_t size, std::uint32_t seed) noexcept {
    return run_crc32c<table_step>(data, size, seed);
}

std::uint32_t interleaved_crc32c_portable(const std::uint64_t* words, std::size_t count,
                                          std::uint32_t seed) noexcept {
    return run_interleaved<table_step>(words, count, seed);
}

}  // namespace detail

std::uint32_t crc32c(const void* data, std::size_t size, std::uint32_t seed) noexcept {
    return use_instruction ? detail::crc32c_hardware(data, size, seed) : detail::crc32c_portable(data, size, seed);
}

std::uint32_t interleaved_crc32c(const std::uint64_t* words, std::size_t count, std::uint32_t seed) noexcept {
    return use_instruction ? detail::interleaved_crc32c_hardware(words, count, seed)
                           : detail::interleaved_crc32c_portable(words, count, seed);
}

}  // namespace holdfast
