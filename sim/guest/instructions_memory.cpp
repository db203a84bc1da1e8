// Loads, stores and atomic operations, of every size and at every distance.
#include <sim/guest/instructions.hpp>

namespace {

using namespace holdfast::guest;

alignas(64) std::uint64_t words[4];

void fill() {
    for (unsigned i = 0; i < 4; ++i) words[i] = 0x8091'a2b3'c4d5'e6f7 + i * 0x1111'1111'1111'1111;
}

#define LOAD(name) \
    { \
        line results; \
        results.add(#name); \
        for (unsigned i = 0; i < 16; ++i) { \
            std::uint64_t result; \
            asm volatile(#name " %0, 3(%1)" : "=r"(result) : "r"(reinterpret_cast<char*>(words) + i) : "memory"); \
            results.add(" ").add_hexadecimal(result); \
        } \
        results.write(); \
    }
#define STORE(name) \
    for (unsigned i = 0; i < 16; ++i) { \
        fill(); \
        asm volatile(#name " %0, -2(%1)" : : "r"(0x0123'4567'89ab'cdef), "r"(reinterpret_cast<char*>(words) + 2 + i) \
                     : "memory"); \
        report_words(#name); \
    }
#define UPDATE(name) \
    report_pairs(#name " old", [](std::uint64_t a, std::uint64_t b) { \
        std::uint64_t old; \
        words[1] = a; \
        asm volatile(#name " %0, %1, (%2)" : "=r"(old) : "r"(b), "r"(words + 1) : "memory"); \
        return old; \
    }); \
    report_pairs(#name " new", [](std::uint64_t a, std::uint64_t b) { \
        words[1] = a; \
        asm volatile(#name " x0, %0, (%1)" : : "r"(b), "r"(words + 1) : "memory"); \
        return words[1]; \
    })
#define UPDATES(size) \
    UPDATE(amoswap.size); UPDATE(amoadd.size.aq); UPDATE(amoxor.size.rl); UPDATE(amoand.size.aqrl); \
    UPDATE(amoor.size); UPDATE(amomin.size); UPDATE(amomax.size); UPDATE(amominu.size); UPDATE(amomaxu.size)
#define RESERVED(size) \
    report_pairs("lr/sc." #size, [](std::uint64_t a, std::uint64_t b) { \
        std::uint64_t old, failed, failed_again; \
        words[1] = a; \
        asm volatile("lr." #size ".aq %0, (%4)\n\tsc." #size ".rl %1, %3, (%4)\n\tsc." #size " %2, %3, (%4)" \
                     : "=&r"(old), "=&r"(failed), "=&r"(failed_again) : "r"(b), "r"(words + 1) : "memory"); \
        return (words[1] ^ old * 3) + 2 * failed + 4 * failed_again; \
    })

void report_words(const char* name) {
    line results;
    results.add(name);
    for (const std::uint64_t word : words) results.add(" ").add_hexadecimal(word);
    results.write();
}

void report_loads() {
    fill();
    LOAD(lb) LOAD(lh) LOAD(lw) LOAD(ld) LOAD(lbu) LOAD(lhu) LOAD(lwu)
}
void report_stores() {
    STORE(sb) STORE(sh) STORE(sw) STORE(sd)
}
void report_float_moves() {
    fill();
    std::uint64_t bits;
    asm volatile("flw ft0, 4(%1)\n\tfmv.x.d %0, ft0\n\tfsw ft0, 9(%1)" : "=&r"(bits) : "r"(words) : "ft0", "memory");
    line().add("flw ").add_hexadecimal(bits).write();
    asm volatile("fld ft0, 5(%1)\n\tfmv.x.d %0, ft0\n\tfsd ft0, 17(%1)" : "=&r"(bits) : "r"(words) : "ft0", "memory");
    line().add("fld ").add_hexadecimal(bits).write();
    report_words("fsw fsd");
}

}  // namespace

int main(int, char**) {
    report_loads();
    report_stores();
    report_float_moves();
    UPDATES(w);
    UPDATES(d);
    RESERVED(w);
    RESERVED(d);
    asm volatile("fence\n\tfence.i\n\tfence rw, w" : : : "memory");
    return 0;
}
