#include <sim/front/execute_system.hpp>

namespace holdfast::sim {
namespace {

enum csr_number : std::int64_t { fflags = 1, frm = 2, fcsr = 3, cycle = 0xc00, time_counter = 0xc01, instret = 0xc02 };

bool read_csr(const hart& on, std::int64_t number, std::uint64_t& value) noexcept {
    switch (number) {
    case fflags: value = on.fp_flags; return true;
    case frm: value = on.fp_rounding; return true;
    case fcsr: value = static_cast<std::uint64_t>(on.fp_flags | on.fp_rounding << 5); return true;
    case cycle:
    case time_counter: value = on.local_time; return true;
    case instret: value = on.retired; return true;
    default: return false;
    }
}

void write_csr(hart& on, std::int64_t number, std::uint64_t value) noexcept {
    if (number != frm) on.fp_flags = value & 0x1f;
    if (number == frm) on.fp_rounding = value & 7;
    if (number == fcsr) on.fp_rounding = value >> 5 & 7;
}

}  // namespace

bool execute_csr(hart& on, const operation& what) noexcept {
    using enum operation_code;
    const std::uint8_t field = what.rounding;
    const std::uint64_t operand = what.code >= csrrwi ? field : on.registers[what.source1];
    const bool replaces = what.code == csrrw || what.code == csrrwi;
    const bool sets = what.code == csrrs || what.code == csrrsi;
    const bool writes = replaces || field != 0;
    std::uint64_t old = 0;
    if (!read_csr(on, what.immediate, old) || (writes && what.immediate > fcsr)) return false;
    if (writes) write_csr(on, what.immediate, replaces ? operand : sets ? old | operand : old & ~operand);
    on.registers[what.destination] = old;
    return true;
}

void note_spinning(hart& on, custom_operation what) noexcept {
    if (what == custom_operation::spin_begin) on.spinning_since = on.retired;
    if (what == custom_operation::spin_end) on.spun += on.retired - on.spinning_since;
}

void stop_at_bad_instruction(hart& on, const operation& what) {
    const std::string where = hexadecimal(on.pc);
    switch (what.code) {
    case operation_code::end_of_code: return stop_with(on, {"ran off the end of the code", where, {}, {}});
    case operation_code::ebreak: return stop_with(on, {"ebreak: the program gave up", where, {}, {}});
    case operation_code::illegal:
        return stop_with(on, {"bad instruction", where, "one of RV64GC",
                              hexadecimal(static_cast<std::uint64_t>(what.immediate))});
    default:
        return stop_with(on, {std::string("bad field in the instruction ") + name_of(what.code), where,
                              is_csr(what.code) ? "fflags, frm, fcsr, or a read-only counter"
                                                : "a rounding mode from 0 to 4",
                              is_csr(what.code) ? "register " + hexadecimal(static_cast<std::uint64_t>(what.immediate))
                                                : "mode " + std::to_string(on.fp_rounding)});
    }
}

void stop_at_bad_jump(hart& on, std::uint64_t target) {
    stop_with(on, {"jump to an address without code", hexadecimal(on.pc), {}, hexadecimal(target)});
}

}  // namespace holdfast::sim
