// Compiled with the flag that permits the CRC instruction; called only where the processor has it.
#include <holdfast/ecc/word_code_run.hpp>

#if defined(__aarch64__)
#include <arm_acle.h>
#endif

namespace holdfast::ecc::detail {
namespace {

struct checksum_by_instruction {
    static std::uint32_t checksum(std::uint64_t word) noexcept {
#if defined(__x86_64__)
        return static_cast<std::uint32_t>(__builtin_ia32_crc32di(0, word));
#else
        return __crc32cd(0, word);
#endif
    }
};

}  // namespace

std::uint32_t word_checksum_hardware(std::uint64_t word) noexcept { return checksum_by_instruction::checksum(word); }

void encode_hardware(const std::uint64_t* words, coded_word* coded, std::size_t count) noexcept {
    run_encode<checksum_by_instruction>(words, coded, count);
}

std::size_t first_invalid_hardware(const coded_word* coded, std::size_t count) noexcept {
    return run_first_invalid<checksum_by_instruction>(coded, count);
}

}  // namespace holdfast::ecc::detail
