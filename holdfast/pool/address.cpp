#include <holdfast/pool/address.hpp>

#include <holdfast/log/segments.hpp>

#include <cstdio>
#include <string>

namespace holdfast {
namespace {

#if defined(__SANITIZE_THREAD__)
#define HOLDFAST_UNDER_THREAD_SANITIZER 1
#elif defined(__has_feature)
#if __has_feature(thread_sanitizer)
#define HOLDFAST_UNDER_THREAD_SANITIZER 1
#endif
#endif

// ThreadSanitizer kills a process that maps above this, outside its own ranges.
#ifdef HOLDFAST_UNDER_THREAD_SANITIZER
constexpr std::uint64_t first_choice = 0x10'0000'0000;
constexpr std::uint64_t last_choice = 0x70'0000'0000;
#else
constexpr std::uint64_t first_choice = lowest_base;
constexpr std::uint64_t last_choice = highest_base;
#endif

/// Above this the kernel gives no addresses to a program.
constexpr std::uint64_t address_end = std::uint64_t{1} << 47;

std::string hexadecimal(std::uint64_t value) {
    char text[24];
    std::snprintf(text, sizeof text, "0x%llx", static_cast<unsigned long long>(value));
    return text;
}

}  // namespace

std::uint64_t random_base(std::uint64_t reserved_bytes) noexcept {
    const std::uint64_t span = last_choice - first_choice;
    const std::uint64_t room = reserved_bytes < span ? span - reserved_bytes : 0;
    return first_choice + random_seed() % (room / base_alignment + 1) * base_alignment;
}

result<void> check_base(std::uint64_t base, std::uint64_t reserved_bytes) {
    const bool fits = base != 0 && base % base_alignment == 0 && base < address_end &&
                      reserved_bytes <= address_end - base;
    if (fits) return {};
    return error{.code = errc::invalid_argument,
                 .what = "a pool cannot map at that base",
                 .expected = "a multiple of 1 GiB that leaves the reserved range below " + hexadecimal(address_end),
                 .found = hexadecimal(base) + " with " + std::to_string(reserved_bytes) + " bytes reserved"};
}

}  // namespace holdfast
