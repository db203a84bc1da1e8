// Every instruction of F and D that computes, in every rounding mode, with what it raises.
#include <sim/guest/instructions.hpp>
#include <workload/random.hpp>

namespace {

using namespace holdfast::guest;

/// Zeros, units, limits, subnormals, infinities, NaNs, and numbers that have to be rounded.
constexpr std::uint64_t doubles[] = {
    0,
    0x8000'0000'0000'0000,
    0x3ff0'0000'0000'0000,
    0xbff0'0000'0000'0000,
    0x3fd5'5555'5555'5555,  // 1/3
    0xc004'0000'0000'0000,  // -2.5
    0x43df'ffff'ffff'ffff,  // just below 2^63
    0xc1e0'0000'0000'0000,  // -2^31
    0x7fef'ffff'ffff'ffff,  // the largest
    0x0010'0000'0000'0000,  // the smallest that is normal
    0x800f'ffff'ffff'ffff,
    0x0000'0000'0000'0001,
    0x7ff0'0000'0000'0000,
    0xfff0'0000'0000'0000,
    0x7ff0'0000'0000'0001,  // a signaling NaN
    0xfff8'0000'0000'1234,
};
constexpr std::uint64_t singles[] = {
    0xffff'ffff'0000'0000, 0xffff'ffff'8000'0000, 0xffff'ffff'3f80'0000, 0xffff'ffff'bf80'0000,
    0xffff'ffff'3eaa'aaab, 0xffff'ffff'c020'0000, 0xffff'ffff'5eff'ffff, 0xffff'ffff'cf00'0000,
    0xffff'ffff'7f7f'ffff, 0xffff'ffff'0080'0000, 0xffff'ffff'807f'ffff, 0xffff'ffff'0000'0001,
    0xffff'ffff'7f80'0000, 0xffff'ffff'ff80'0000, 0xffff'ffff'7f80'0001,
    0x0000'0000'3f80'0000,  // not boxed: a NaN
};

struct answer {
    std::uint64_t bits;
    std::uint64_t flags;
};
using instruction = answer (*)(std::uint64_t a, std::uint64_t b, std::uint64_t c);

#define FLOATING(text) \
    [](std::uint64_t a, std::uint64_t b, std::uint64_t c) { \
        answer given; \
        asm volatile("fmv.d.x ft0, %2\n\tfmv.d.x ft1, %3\n\tfmv.d.x ft2, %4\n\tfsflags x0\n\t" text "\n\tfrflags %1" \
                     : "=&r"(given.bits), "=&r"(given.flags) : "r"(a), "r"(b), "r"(c) : "ft0", "ft1", "ft2", "ft3"); \
        return given; \
    }
#define TO_FLOAT(text) FLOATING(text "\n\tfmv.x.d %0, ft3")

void set_mode(std::uint64_t mode) { asm volatile("fsrm %0" : : "r"(mode)); }

/// With every operand of the table, in every mode.
template <std::size_t Count>
void report_table(const char* name, instruction run, const std::uint64_t (&table)[Count]) {
    for (std::uint64_t mode = 0; mode < 5; ++mode) {
        set_mode(mode);
        for (const std::uint64_t a : table) {
            line results;
            results.add(name).add_decimal(mode).add(" ").add_hexadecimal(a).add(":");
            for (const std::uint64_t b : table) {
                const answer given = run(a, b, table[5]);
                results.add(" ").add_hexadecimal(given.bits).add(",").add_decimal(given.flags);
            }
            results.write();
        }
    }
}

/// Numbers of any bits; every second one near the one before, where sums cancel and quotients are near 1.
class operands {
public:
    explicit operands(bool of_singles) noexcept : of_singles_(of_singles) {}
    std::uint64_t next() noexcept {
        std::uint64_t bits = numbers_.next();
        if (of_singles_) {
            if ((++count_ & 1) != 0) bits = (last_ & 0xff80'0000) + (bits & 0x01ff'ffff) - 0x0080'0000;
            return last_ = bits | 0xffff'ffff'0000'0000;
        }
        if ((++count_ & 1) != 0) bits = (last_ & 0xfff0'0000'0000'0000) + (bits & 0x003f'ffff'ffff'ffff) - (1ull << 52);
        return last_ = bits;
    }

private:
    holdfast::workload::random numbers_{1};
    std::uint64_t last_ = 0;
    std::uint64_t count_ = 0;
    bool of_singles_;
};

/// With many operands, a sum in each mode.
void report_random(const char* name, instruction run, bool of_singles) {
    for (std::uint64_t mode = 0; mode < 5; ++mode) {
        set_mode(mode);
        operands numbers(of_singles);
        std::uint64_t sum = 0;
        for (int i = 0; i < 1000; ++i) {
            const std::uint64_t a = numbers.next();
            const std::uint64_t b = numbers.next();
            const answer given = run(a, b, numbers.next());
            sum = sum * 31 + given.bits * 32 + given.flags;
        }
        line().add(name).add_decimal(mode).add(" at random: ").add_hexadecimal(sum).write();
    }
}

/// The format's letter, "s" or "d"; its integers are exercised by the table of integers.
#define FORMAT(letter, table, of_singles) \
    REPORT(letter, table, of_singles, "fadd." letter " ft3, ft0, ft1"); \
    REPORT(letter, table, of_singles, "fsub." letter " ft3, ft0, ft1"); \
    REPORT(letter, table, of_singles, "fmul." letter " ft3, ft0, ft1"); \
    REPORT(letter, table, of_singles, "fdiv." letter " ft3, ft0, ft1"); \
    REPORT(letter, table, of_singles, "fsqrt." letter " ft3, ft0"); \
    REPORT(letter, table, of_singles, "fmin." letter " ft3, ft0, ft1"); \
    REPORT(letter, table, of_singles, "fmax." letter " ft3, ft0, ft1"); \
    REPORT(letter, table, of_singles, "fsgnj." letter " ft3, ft0, ft1"); \
    REPORT(letter, table, of_singles, "fsgnjn." letter " ft3, ft0, ft1"); \
    REPORT(letter, table, of_singles, "fsgnjx." letter " ft3, ft0, ft1"); \
    REPORT(letter, table, of_singles, "fmadd." letter " ft3, ft0, ft1, ft2"); \
    REPORT(letter, table, of_singles, "fmsub." letter " ft3, ft0, ft1, ft2"); \
    REPORT(letter, table, of_singles, "fnmadd." letter " ft3, ft0, ft2, ft1"); \
    REPORT(letter, table, of_singles, "fnmsub." letter " ft3, ft2, ft0, ft1"); \
    TO_INTEGERS(letter, table, of_singles, "feq." letter " %0, ft0, ft1"); \
    TO_INTEGERS(letter, table, of_singles, "flt." letter " %0, ft0, ft1"); \
    TO_INTEGERS(letter, table, of_singles, "fle." letter " %0, ft0, ft1"); \
    TO_INTEGERS(letter, table, of_singles, "fclass." letter " %0, ft0"); \
    TO_INTEGERS(letter, table, of_singles, "fcvt.w." letter " %0, ft0"); \
    TO_INTEGERS(letter, table, of_singles, "fcvt.wu." letter " %0, ft0"); \
    TO_INTEGERS(letter, table, of_singles, "fcvt.l." letter " %0, ft0"); \
    TO_INTEGERS(letter, table, of_singles, "fcvt.lu." letter " %0, ft0"); \
    FROM_INTEGERS("fcvt." letter ".w ft3, %2"); \
    FROM_INTEGERS("fcvt." letter ".wu ft3, %2"); \
    FROM_INTEGERS("fcvt." letter ".l ft3, %2"); \
    FROM_INTEGERS("fcvt." letter ".lu ft3, %2")

#define REPORT(letter, table, of_singles, text) \
    report_table(text " mode ", TO_FLOAT(text), table); \
    report_random(text " mode ", TO_FLOAT(text), of_singles)
#define TO_INTEGERS(letter, table, of_singles, text) \
    report_table(text " mode ", FLOATING(text), table); \
    report_random(text " mode ", FLOATING(text), of_singles)
#define FROM_INTEGERS(text) \
    report_table(text " mode ", TO_FLOAT(text), interesting_integers); \
    report_random(text " mode ", TO_FLOAT(text), false)

void report_singles() { FORMAT("s", singles, true); }
void report_doubles() { FORMAT("d", doubles, false); }

void report_conversions() {
    REPORT("d", doubles, false, "fcvt.s.d ft3, ft0");
    REPORT("s", singles, true, "fcvt.d.s ft3, ft0");
    TO_INTEGERS("s", singles, true, "fmv.x.w %0, ft0");
    FROM_INTEGERS("fmv.w.x ft3, %2");
}

/// Modes that the instruction names.
void report_named_modes() {
    set_mode(4);
    REPORT("d", doubles, false, "fadd.d ft3, ft0, ft1, rne");
    REPORT("d", doubles, false, "fadd.d ft3, ft0, ft1, rup");
    REPORT("d", doubles, false, "fdiv.d ft3, ft0, ft1, rdn");
    TO_INTEGERS("d", doubles, false, "fcvt.l.d %0, ft0, rtz");
    TO_INTEGERS("d", doubles, false, "fcvt.w.d %0, ft0, rmm");
}

}  // namespace

int main(int, char**) {
    report_singles();
    report_doubles();
    report_conversions();
    report_named_modes();
    return 0;
}
