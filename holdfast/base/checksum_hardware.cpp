// Compiled with the flag that permits the CRC instruction; called only where the processor has it.
#include <holdfast/base/checksum_run.hpp>

#if defined(__x86_64__)
#include <nmmintrin.h>
#elif defined(__aarch64__)
#include <arm_acle.h>
#include <asm/hwcap.h>
#include <sys/auxv.h>
#else
#error "Holdfast runs on x86-64 and aarch64"
#endif

namespace holdfast::detail {
namespace {

struct instruction_step {
#if defined(__x86_64__)
    static std::uint32_t byte(std::uint32_t crc, std::uint8_t value) noexcept { return _mm_crc32_u8(crc, value); }
    using state = std::uint64_t;
    static state word(state crc, std::uint64_t value) noexcept { return _mm_crc32_u64(crc, value); }
#else
    using state = std::uint32_t;
    static std::uint32_t byte(std::uint32_t crc, std::uint8_t value) noexcept { return __crc32cb(crc, value); }
    static std::uint32_t word(std::uint32_t crc, std::uint64_t value) noexcept { return __crc32cd(crc, value); }
#endif
};

}  // namespace

bool crc_instruction_available() noexcept {
#if defined(__x86_64__)
    return __builtin_cpu_supports("sse4.2") != 0;
#else
    return (getauxval(AT_HWCAP) & HWCAP_CRC32) != 0;
#endif
}

std::uint32_t crc32c_hardware(const void* data, std::size_t size, std::uint32_t seed) noexcept {
    return run_crc32c<instruction_step>(data, size, seed);
}

std::uint32_t interleaved_crc32c_hardware(const std::uint64_t* words, std::size_t count,
                                          std::uint32_t seed) noexcept {
    return run_interleaved<instruction_step>(words, count, seed);
}

}  // namespace holdfast::detail
