// Compiled with the flag that permits the instruction that counts bits; called only where the processor has it.
#include <holdfast/ecc/repair_run.hpp>

namespace holdfast::ecc::detail {

bool popcount_available() noexcept {
#if defined(__x86_64__)
    return __builtin_cpu_supports("popcnt") != 0;
#else
    return true;
#endif
}

repair_result repair_hardware(coded_word found, std::uint64_t syndrome) noexcept {
    return run_repair<repair_rules{.by_instruction = true}>(found, syndrome);
}

}  // namespace holdfast::ecc::detail
