#include <holdfast/ecc/word_code.hpp>

#include <holdfast/base/checksum_run.hpp>
#include <holdfast/ecc/linear.hpp>
#include <holdfast/ecc/word_code_run.hpp>

#include <array>

namespace holdfast::ecc {
namespace {

/// A word's checksum is the sum of what its bytes give, each in its place: the CRC is linear.
using checksum_table = std::array<std::array<std::uint32_t, 256>, 8>;

constexpr checksum_table make_checksum_table() {
    checksum_table made{};
    for (unsigned place = 0; place < 8; ++place) {
        for (unsigned value = 1; value < 256; ++value) {
            const unsigned lowest = value & (~value + 1);
            const std::uint32_t of_lowest = detail::checksum_by_definition(std::uint64_t{lowest} << (8 * place));
            made[place][value] = value == lowest ? of_lowest : made[place][value ^ lowest] ^ made[place][lowest];
        }
    }
    return made;
}

constexpr checksum_table table_of_bytes = make_checksum_table();

struct checksum_by_table {
    static std::uint32_t checksum(std::uint64_t word) noexcept {
        std::uint32_t sum = 0;
        for (std::size_t place = 0; place < 8; ++place) sum ^= table_of_bytes[place][word >> (8 * place) & 0xFF];
        return sum;
    }
};

}  // namespace

namespace detail {

const bool has_word_instruction = holdfast::detail::crc_instruction_available();

std::uint32_t word_checksum_portable(std::uint64_t word) noexcept { return checksum_by_table::checksum(word); }

std::uint32_t word_checksum(std::uint64_t word) noexcept {
    return has_word_instruction ? word_checksum_hardware(word) : word_checksum_portable(word);
}

void encode_portable(const std::uint64_t* words, coded_word* coded, std::size_t count) noexcept {
    run_encode<checksum_by_table>(words, coded, count);
}

std::size_t first_invalid_portable(const coded_word* coded, std::size_t count) noexcept {
    return run_first_invalid<checksum_by_table>(coded, count);
}

}  // namespace detail

void encode(const std::uint64_t* words, coded_word* coded, std::size_t count) noexcept {
    return detail::has_word_instruction ? detail::encode_hardware(words, coded, count)
                                : detail::encode_portable(words, coded, count);
}

std::size_t first_invalid(const coded_word* coded, std::size_t count) noexcept {
    return detail::has_word_instruction ? detail::first_invalid_hardware(coded, count)
                                : detail::first_invalid_portable(coded, count);
}

}  // namespace holdfast::ecc
