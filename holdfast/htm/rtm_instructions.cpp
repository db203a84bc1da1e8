#include <holdfast/htm/rtm_instructions.hpp>

#if defined(__x86_64__)
#include <cpuid.h>
#endif

namespace holdfast::htm {

namespace {

#if defined(__x86_64__)
/// A processor may count as one with RTM and abort everything: under an emulator, or after an update of its microcode.
bool one_of_many_commits() noexcept {
    constexpr int many = 1000;
    for (int i = 0; i < many; ++i) {
        if (hardware::begin({}) != status::started) continue;
        hardware::end();
        return true;
    }
    return false;
}

processor_facts facts_here() noexcept {
    processor_facts facts;
    unsigned eax = 0, ebx = 0, ecx = 0, edx = 0;
    if (__get_cpuid_count(7, 0, &eax, &ebx, &ecx, &edx) != 0) {
        facts.has_rtm = (ebx >> 11 & 1) != 0;
        facts.always_aborts = (edx >> 11 & 1) != 0;
    }
    if (__get_cpuid(0x80000001u, &eax, &ebx, &ecx, &edx) != 0) facts.has_rdtscp = (edx >> 27 & 1) != 0;
    if (__get_cpuid(0x80000007u, &eax, &ebx, &ecx, &edx) != 0) facts.has_invariant_tsc = (edx >> 8 & 1) != 0;
    // Without RTM, xbegin is no instruction.
    if (facts.has_rtm && !facts.always_aborts) facts.empty_ones_commit = one_of_many_commits();
    return facts;
}
#else
processor_facts facts_here() noexcept { return {}; }
#endif

}  // namespace

const char* find_obstacle(const processor_facts& facts) noexcept {
    if (!facts.has_rtm) return "The processor has no hardware transactions (RTM).";
    if (facts.always_aborts) return "The processor aborts every hardware transaction (RTM_ALWAYS_ABORT).";
    if (!facts.has_rdtscp) return "The processor has hardware transactions (RTM), but no rdtscp to order them.";
    if (!facts.has_invariant_tsc)
        return "The processor has hardware transactions (RTM), but its time stamp counter is not invariant: commits of "
               "different cores cannot be ordered by it.";
    if (!facts.empty_ones_commit)
        return "The processor has hardware transactions (RTM), but of many empty ones none committed.";
    return nullptr;
}

const char* obstacle_here() noexcept {
    static const char* const found = find_obstacle(facts_here());
    return found;
}

// Before this is known, everything runs in the fallback and is counted: the counter is below every later stamp.
const bool hardware::is_available_ = obstacle_here() == nullptr;
constinit std::atomic<std::uint64_t> hardware::count_{0};

}  // namespace holdfast::htm
