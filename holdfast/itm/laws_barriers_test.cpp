// Laws of loads and stores: widths, alignments, hints, ranges.
#include <holdfast/itm/itm.hpp>
#include <holdfast/itm/laws_test.hpp>

#include <array>
#include <cstddef>
#include <cstdint>
#include <cstdlib>
#include <cstring>
#include <vector>

namespace holdfast::itm {

extern bool block_stores;
bool block_stores = false;

namespace {

int attempts;

extern "C" {
[[noreturn, gnu::transaction_pure]] void _ITM_abortTransaction(std::uint32_t);
#define HOLDFAST_ITM_DECLARE(name, T)                                                          \
    [[gnu::transaction_pure]] T _ITM_R##name(const T*);                                        \
    [[gnu::transaction_pure]] T _ITM_RfW##name(const T*);                                      \
    [[gnu::transaction_pure]] T _ITM_RaR##name(const T*);                                      \
    [[gnu::transaction_pure]] T _ITM_RaW##name(const T*);                                      \
    [[gnu::transaction_pure]] void _ITM_W##name(T*, T);                                        \
    [[gnu::transaction_pure]] void _ITM_WaR##name(T*, T);                                      \
    [[gnu::transaction_pure]] void _ITM_WaW##name(T*, T);
HOLDFAST_ITM_DECLARE(U1, std::uint8_t)
HOLDFAST_ITM_DECLARE(U2, std::uint16_t)
HOLDFAST_ITM_DECLARE(U4, std::uint32_t)
HOLDFAST_ITM_DECLARE(U8, std::uint64_t)
HOLDFAST_ITM_DECLARE(F, float)
HOLDFAST_ITM_DECLARE(D, double)
HOLDFAST_ITM_DECLARE(E, long double)
}

/// What the barriers of one type do at one place, and what they ought to: read what is there, and after stores with
/// each hint what was stored, at commit too, with the neighbours as they were.
template <class T, auto R, auto RfW, auto RaR, auto RaW, auto W, auto WaR, auto WaW>
const char* exact_everywhere() {
    constexpr std::size_t significant = sizeof(T) == 16 && __LDBL_MANT_DIG__ == 64 ? 10 : sizeof(T);
    for (std::size_t offset = 0; offset < 9; ++offset) {
        alignas(64) static std::array<unsigned char, 64> memory;
        for (std::size_t each = 0; each < memory.size(); ++each) memory[each] = static_cast<unsigned char>(0xA0 + each);
        const T values[4] = {T(17), T(1234567), T(-3), T(99)};
        T* const at = reinterpret_cast<T*>(memory.data() + 16 + offset);
        std::memcpy(static_cast<void*>(at), &values[0], significant);
        const auto before = memory;
        T read, again, written, last, final_value;
        __transaction_atomic {
            block_stores = true;  // else the compiler, which does not see the calls below, promises that nothing will
            read = R(at);
            again = RaR(at);
            WaR(at, values[1]);
            written = RaW(at);
            WaW(at, values[2]);
            last = R(at);
            final_value = RfW(at);
            W(at, values[3]);
        }
        HOLDFAST_ITM_HOLDS(read == values[0] && again == values[0]);
        HOLDFAST_ITM_HOLDS(written == values[1] && last == values[2] && final_value == values[2]);
        T left{};
        std::memcpy(static_cast<void*>(&left), at, significant);
        HOLDFAST_ITM_HOLDS(left == values[3]);
        for (std::size_t each = 0; each < memory.size(); ++each)
            if (each < 16 + offset || each >= 16 + offset + significant)
                HOLDFAST_ITM_HOLDS(memory[each] == before[each]);
    }
    return nullptr;
}

#define HOLDFAST_ITM_EXACT(name, T)                                                                            \
    exact_everywhere<T, _ITM_R##name, _ITM_RfW##name, _ITM_RaR##name, _ITM_RaW##name, _ITM_W##name, _ITM_WaR##name, \
                     _ITM_WaW##name>

const char* integers_are_exact() {
    for (const auto law : {HOLDFAST_ITM_EXACT(U1, std::uint8_t), HOLDFAST_ITM_EXACT(U2, std::uint16_t),
                           HOLDFAST_ITM_EXACT(U4, std::uint32_t), HOLDFAST_ITM_EXACT(U8, std::uint64_t)})
        if (const char* broken = law()) return broken;
    return nullptr;
}
const char* floating_values_are_exact() {
    for (const auto law : {HOLDFAST_ITM_EXACT(F, float), HOLDFAST_ITM_EXACT(D, double)})
        if (const char* broken = law()) return broken;
    return nullptr;
}
const char* long_doubles_are_exact() {
    return HOLDFAST_ITM_EXACT(E, long double)();
}

struct [[gnu::packed]] packed_fields {
    std::uint8_t first;
    std::uint64_t wide;
    std::uint32_t narrow;
    std::uint8_t last;
};

const char* packed_fields_are_exact() {
    static packed_fields fields;
    fields = {1, 2, 3, 4};
    __transaction_atomic {
        fields.wide += 0x0102030405060708;
        fields.narrow = static_cast<std::uint32_t>(fields.wide);
        if (fields.first == 1) fields.last += fields.first;
    }
    HOLDFAST_ITM_HOLDS(fields.wide == 0x010203040506070A && fields.narrow == 0x0506070A);
    HOLDFAST_ITM_HOLDS(fields.first == 1 && fields.last == 5);
    return nullptr;
}

const char* nested_cancel_keeps_neighbours() {
    static struct {
        std::uint8_t bytes[16];
    } shared;
    for (std::size_t each = 0; each < 16; ++each) shared.bytes[each] = static_cast<std::uint8_t>(each);
    __transaction_atomic {
        shared.bytes[3] = 33;
        __transaction_atomic {
            shared.bytes[3] = 100;
            shared.bytes[4] = 100;
            std::memset(shared.bytes + 5, 100, 8);
            if (shared.bytes[4] == 100) __transaction_cancel;
        }
        shared.bytes[12] = 44;
    }
    for (std::size_t each = 0; each < 16; ++each)
        HOLDFAST_ITM_HOLDS(shared.bytes[each] == (each == 3 ? 33 : each == 12 ? 44 : each));
    return nullptr;
}

/// Sizes that end in the middle of words and lines, and one of a page.
constexpr std::size_t range_bytes[] = {1, 7, 8, 9, 63, 64, 65, 200, 4096};

const char* copies_are_exact() {
    static unsigned char from[4200], to[4200];
    for (const std::size_t bytes : range_bytes) {
        for (std::size_t shift = 0; shift < 3; ++shift) {
            for (std::size_t each = 0; each < sizeof from; ++each) {
                from[each] = static_cast<unsigned char>(each * 7 + bytes);
                to[each] = 1;
            }
            unsigned char* const target = to + 8 + shift;
            const unsigned char* const source = from + 8 + 2 * shift;
            __transaction_atomic {
                from[8 + 2 * shift] = 5;
                std::memcpy(target, source, bytes);
            }
            HOLDFAST_ITM_HOLDS(std::memcmp(target, source, bytes) == 0 && target[0] == 5);
            HOLDFAST_ITM_HOLDS(target[-1] == 1 && target[bytes] == 1);
        }
    }
    return nullptr;
}

const char* moves_overlap() {
    static unsigned char memory[512];
    for (const int direction : {-3, 3, 8, -8}) {
        for (std::size_t each = 0; each < sizeof memory; ++each) memory[each] = static_cast<unsigned char>(each);
        unsigned char* const from = memory + 100;
        __transaction_atomic { std::memmove(from + direction, from, 200); }
        for (int each = 0; each < 200; ++each)
            HOLDFAST_ITM_HOLDS(from[direction + each] == static_cast<unsigned char>(100 + each));
    }
    return nullptr;
}

/// The compiler may take the block from what the copy returns, as memcpy, memmove and memset return it.
const char* copies_return_where_they_went() {
    static unsigned char source[256];
    static unsigned char* shared[3];
    for (std::size_t each = 0; each < sizeof source; ++each) source[each] = static_cast<unsigned char>(each);
    __transaction_atomic {
        auto* const copied = static_cast<unsigned char*>(std::malloc(sizeof source));
        std::memcpy(copied, source, sizeof source);
        shared[0] = copied;
        auto* const moved = static_cast<unsigned char*>(std::malloc(sizeof source));
        std::memmove(moved, source, sizeof source);
        shared[1] = moved;
        auto* const filled = static_cast<unsigned char*>(std::malloc(sizeof source));
        std::memset(filled, 7, sizeof source);
        shared[2] = filled;
    }
    HOLDFAST_ITM_HOLDS(std::memcmp(shared[0], source, sizeof source) == 0);
    HOLDFAST_ITM_HOLDS(std::memcmp(shared[1], source, sizeof source) == 0);
    HOLDFAST_ITM_HOLDS(shared[2][0] == 7 && shared[2][sizeof source - 1] == 7);
    for (unsigned char* const each : shared) std::free(each);
    return nullptr;
}

const char* fills_are_exact() {
    static unsigned char memory[4200];
    for (const std::size_t bytes : range_bytes) {
        for (unsigned char& each : memory) each = 1;
        __transaction_atomic {
            std::memset(memory + 5, 0xEE, bytes);
            memory[5] = static_cast<unsigned char>(memory[5] + 1);
        }
        HOLDFAST_ITM_HOLDS(memory[4] == 1 && memory[5] == 0xEF && memory[5 + bytes] == 1);
        for (std::size_t each = 1; each < bytes; ++each) HOLDFAST_ITM_HOLDS(memory[5 + each] == 0xEE);
    }
    return nullptr;
}

/// g++ 12 makes barriers behind a block whose inner one was cancelled, in no transaction at all.
const char* barriers_outside_are_plain() {
    static struct {
        std::uint64_t wide;
        std::uint32_t narrow;
        std::uint8_t bytes[4];
    } shared;
    static std::uint64_t other;
    for (int round = 0; round < 2; ++round) {
        shared = {1, 2, {3, 4, 5, 6}};
        _ITM_WU8(&shared.wide, _ITM_RU8(&shared.wide) + 10);
        _ITM_WaRU4(&shared.narrow, _ITM_RU4(&shared.narrow) + 10);
        _ITM_WaWU1(&shared.bytes[1], static_cast<std::uint8_t>(_ITM_RfWU1(&shared.bytes[1]) + 10));
        HOLDFAST_ITM_HOLDS(shared.wide == 11 && shared.narrow == 12 && shared.bytes[1] == 14);
        HOLDFAST_ITM_HOLDS(_ITM_RaWU8(&shared.wide) == 11 && _ITM_RaRU4(&shared.narrow) == 12);
        // No later block stores them once more.
        shared.wide = 21;
        shared.bytes[1] = 24;
        __transaction_atomic { ++other; }
        HOLDFAST_ITM_HOLDS(shared.wide == 21 && shared.narrow == 12 && shared.bytes[1] == 24);
    }
    HOLDFAST_ITM_HOLDS(other == 2);
    other = 0;
    return nullptr;
}

struct big {
    std::uint64_t words[100];
};

const char* cancelled_ranges_leave_nothing() {
    static big one, other;
    for (std::uint64_t each = 0; each < 100; ++each) one.words[each] = each, other.words[each] = 1000 + each;
    __transaction_atomic {
        one.words[50] = 7;
        __transaction_atomic {
            other = one;
            one.words[50] = other.words[50] + 1;
            std::memmove(one.words + 1, one.words, 400);
            if (one.words[50] == 49) __transaction_cancel;
        }
        other.words[3] = one.words[50];
    }
    for (std::uint64_t each = 0; each < 100; ++each) {
        HOLDFAST_ITM_HOLDS(one.words[each] == (each == 50 ? 7 : each));
        HOLDFAST_ITM_HOLDS(other.words[each] == (each == 3 ? 7 : 1000 + each));
    }
    return nullptr;
}

[[gnu::transaction_pure, gnu::noinline]] void restart_once() {
    if (++attempts < 2) _ITM_abortTransaction(2);
}

const char* values_go_through_blocks() {
    static double sums[3];
    static float parts[5];
    sums[0] = 1.5;
    sums[1] = 0;
    for (float& each : parts) each = 0.25f;
    attempts = 0;
    __transaction_atomic {
        for (const float each : parts) sums[1] += static_cast<double>(each) + sums[0];
        parts[4] = static_cast<float>(sums[1]);
        restart_once();
    }
    HOLDFAST_ITM_HOLDS(sums[1] == 8.75 && parts[4] == 8.75f && attempts >= 2);
    return nullptr;
}

}  // namespace

std::vector<law> laws_of_barriers() {
    return {
        {"integers of all widths are loaded and stored exactly at every offset", integers_are_exact},
        {"floats and doubles are loaded and stored exactly at every offset", floating_values_are_exact},
        {"long doubles are loaded and stored exactly at every offset, without their padding", long_doubles_are_exact},
        {"packed fields are loaded and stored exactly", packed_fields_are_exact},
        {"a nested cancel leaves the bytes beside alone", nested_cancel_keeps_neighbours},
        {"copies of every size and shift are exact", copies_are_exact},
        {"moves may overlap in both directions", moves_overlap},
        {"fills of every size are exact", fills_are_exact},
        {"copies and fills return where they went", copies_return_where_they_went},
        {"barriers in no transaction are plain loads and stores", barriers_outside_are_plain, true},
        {"a cancel takes back ranges", cancelled_ranges_leave_nothing},
        {.sentence = "floating values go through blocks and restarts",
         .broken = values_go_through_blocks,
         .needs_barriers = true},
    };
}

}  // namespace holdfast::itm
