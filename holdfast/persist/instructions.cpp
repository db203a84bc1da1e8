#include <holdfast/persist/instructions.hpp>

#if defined(__x86_64__)
#include <cpuid.h>
#else
#include <asm/hwcap.h>
#include <sys/auxv.h>

#include <csetjmp>
#include <csignal>
#endif

namespace holdfast::persist {
namespace {

#if defined(__aarch64__)

sigjmp_buf after_illegal_instruction;

/// qemu-user before 8.1 announces DC CVAP and does not have it, so the announcement is put to the
/// test once, before the program starts its threads.
bool clean_to_persistence_works() noexcept {
    struct sigaction action {}, before {};
    action.sa_handler = [](int) { siglongjmp(after_illegal_instruction, 1); };
    if (sigaction(SIGILL, &action, &before) != 0) return false;
    volatile bool works = false;
    if (sigsetjmp(after_illegal_instruction, 1) == 0) {
        alignas(64) const unsigned char line[64] = {};
        write_back_line_with(write_back_kind::clean_to_persistence, line);
        works = true;
    }
    sigaction(SIGILL, &before, nullptr);
    return works;
}

#endif

}  // namespace

write_back_kind detect_write_back_kind() noexcept {
#if defined(__x86_64__)
    constexpr unsigned clflushopt_bit = 1u << 23;
    constexpr unsigned clwb_bit = 1u << 24;
    unsigned eax = 0, ebx = 0, ecx = 0, edx = 0;
    if (__get_cpuid_count(7, 0, &eax, &ebx, &ecx, &edx) == 0) return write_back_kind::clflush;
    if ((ebx & clwb_bit) != 0) return write_back_kind::clwb;
    if ((ebx & clflushopt_bit) != 0) return write_back_kind::clflushopt;
    return write_back_kind::clflush;
#else
    static const bool has_it = (getauxval(AT_HWCAP) & HWCAP_DCPOP) != 0 && clean_to_persistence_works();
    return has_it ? write_back_kind::clean_to_persistence : write_back_kind::clean_to_coherency;
#endif
}

std::string_view name_of(write_back_kind kind) noexcept {
    switch (kind) {
        case write_back_kind::clwb: return "clwb";
        case write_back_kind::clflushopt: return "clflushopt";
        case write_back_kind::clflush: return "clflush";
        case write_back_kind::clean_to_persistence: return "dc cvap";
        case write_back_kind::clean_to_coherency: return "dc cvac";
    }
    return "unknown";
}

namespace detail {
// The earliest that a program may ask for. Zero until then.
[[gnu::init_priority(101)]] const chosen_kind chosen_write_back{detect_write_back_kind()};
}

}  // namespace holdfast::persist
