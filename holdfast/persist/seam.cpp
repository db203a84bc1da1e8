#include <holdfast/persist/seam.hpp>

#include <ctime>
#include <utility>

#if defined(__x86_64__)
#include <cpuid.h>
#include <immintrin.h>
#endif

namespace holdfast::persist::detail {
namespace {

std::uint64_t monotonic_ns() noexcept {
    timespec now{};
    clock_gettime(CLOCK_MONOTONIC, &now);
    return static_cast<std::uint64_t>(now.tv_sec) * 1'000'000'000u + static_cast<std::uint64_t>(now.tv_nsec);
}

#if defined(__x86_64__)

bool counter_is_constant() noexcept {
    unsigned eax = 0, ebx = 0, ecx = 0, edx = 0;
    return __get_cpuid(0x80000007u, &eax, &ebx, &ecx, &edx) != 0 && (edx & (1u << 8)) != 0;
}

/// One moment on both clocks: `time_ns` lies between the two readings of the counter.
struct moment {
    std::uint64_t ticks_before = 0;
    std::uint64_t time_ns = 0;
    std::uint64_t ticks_after = 0;
};

/// The tightest of several, because the scheduler may interrupt between the readings.
moment read_both_clocks() noexcept {
    moment best;
    for (int attempt = 0; attempt < 16; ++attempt) {
        const std::uint64_t before = __rdtsc();
        const std::uint64_t time_ns = monotonic_ns();
        const std::uint64_t after = __rdtsc();
        if (attempt == 0 || after - before < best.ticks_after - best.ticks_before) best = {before, time_ns, after};
    }
    return best;
}

/// Ticks of the time-stamp counter per ns, times 2^20 and rounded up; 0 where it is not constant.
std::uint64_t measure_scaled_ticks() noexcept {
    if (!counter_is_constant()) return 0;
    constexpr std::uint64_t calibration_ns = 2'000'000;
    const moment begin = read_both_clocks();
    while (monotonic_ns() - begin.time_ns < calibration_ns) _mm_pause();
    const moment end = read_both_clocks();
    // Too many ticks rather than too few: a delay may be too long by a part in 10,000, never too short.
    const std::uint64_t ticks = end.ticks_after - begin.ticks_before;
    return (ticks << 20) / (end.time_ns - begin.time_ns) + 1;
}

#endif

void spin_by_clock(std::uint64_t wait_ns) noexcept {
    const std::uint64_t begin_ns = monotonic_ns();
    while (monotonic_ns() - begin_ns < wait_ns) {
    }
}

}  // namespace

void pay_delay(std::uint32_t delay_ns) noexcept {
    const std::uint64_t wait_ns = std::exchange(lines_owed_delay, 0) * delay_ns;
    if (wait_ns == 0) return;
#if defined(__x86_64__)
    // The counter costs half of what the clock costs, which shows in delays of 100 ns.
    static const std::uint64_t scaled_ticks = measure_scaled_ticks();
    if (scaled_ticks != 0 && wait_ns < (std::uint64_t{1} << 32)) {
        // A store fence lets other instructions run on while it drains: without waiting for that,
        // the delay would hide beside the fence's own time instead of adding to it.
        _mm_mfence();
        _mm_lfence();
        const std::uint64_t begin = __rdtsc();
        const std::uint64_t ticks = (wait_ns * scaled_ticks >> 20) + 1;
        while (__rdtsc() - begin < ticks) {
        }
        return;
    }
#endif
    spin_by_clock(wait_ns);
}

void store_bytes(std::uint64_t* home, std::uint64_t value, std::uint8_t mask) noexcept {
    auto* bytes = reinterpret_cast<unsigned char*>(home);
    using half_word [[gnu::may_alias]] = std::uint32_t;
    using quarter_word [[gnu::may_alias]] = std::uint16_t;
    // Members of 4 and 2 bytes stay whole for those who read them without a transaction.
    for (unsigned i = 0; i < 8;) {
        const unsigned rest = mask >> i;
        if (i % 4 == 0 && (rest & 0xFu) == 0xFu) {
            __atomic_store_n(reinterpret_cast<half_word*>(bytes + i), static_cast<std::uint32_t>(value >> (8 * i)),
                             __ATOMIC_RELAXED);
            i += 4;
        } else if (i % 2 == 0 && (rest & 3u) == 3u) {
            __atomic_store_n(reinterpret_cast<quarter_word*>(bytes + i), static_cast<std::uint16_t>(value >> (8 * i)),
                             __ATOMIC_RELAXED);
            i += 2;
        } else {
            if ((rest & 1u) != 0)
                __atomic_store_n(bytes + i, static_cast<unsigned char>(value >> (8 * i)), __ATOMIC_RELAXED);
            ++i;
        }
    }
}

}  // namespace holdfast::persist::detail
