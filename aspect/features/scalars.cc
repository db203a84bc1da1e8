// A member of each scalar type, changed in each way. A bool has no ++.
#include "features.hpp"

#include <stddef.h>
#include <stdint.h>
#include <utility>

namespace FEATURES {

class [[NVM::transactional]] alignas(64) scalar_flag {
    bool it = {};
    bool two[2] = {};

public:
    void set() { it = true, two[1] = it; }
    void add(bool more) { it = static_cast<bool>(it + more), two[0] = more; }
    void by_reference() { bool& alias = it; alias = two[1]; std::swap(two[0], two[1]); }
    void by_pointer() { for (bool* at = two; at != two + 2; ++at) *at = it; }
    bool get() const { return it; }
};

class [[NVM::transactional]] alignas(64) scalar_letter {
    char it = {};
    char two[2] = {};

public:
    void set() { it = 'z', two[1] = it; ++it, it++, --it; }
    void add(char more) { it = static_cast<char>(it + more), two[0] = more; }
    void by_reference() { char& alias = it; alias = two[1]; std::swap(two[0], two[1]); }
    void by_pointer() { for (char* at = two; at != two + 2; ++at) *at = it; }
    char get() const { return it; }
};

class [[NVM::transactional]] alignas(64) scalar_negative {
    signed char it = {};
    signed char two[2] = {};

public:
    void set() { it = -5, two[1] = it; ++it, it++, --it; }
    void add(signed char more) { it = static_cast<signed char>(it + more), two[0] = more; }
    void by_reference() { signed char& alias = it; alias = two[1]; std::swap(two[0], two[1]); }
    void by_pointer() { for (signed char* at = two; at != two + 2; ++at) *at = it; }
    signed char get() const { return it; }
};

class [[NVM::transactional]] alignas(64) scalar_byte {
    unsigned char it = {};
    unsigned char two[2] = {};

public:
    void set() { it = 200, two[1] = it; ++it, it++, --it; }
    void add(unsigned char more) { it = static_cast<unsigned char>(it + more), two[0] = more; }
    void by_reference() { unsigned char& alias = it; alias = two[1]; std::swap(two[0], two[1]); }
    void by_pointer() { for (unsigned char* at = two; at != two + 2; ++at) *at = it; }
    unsigned char get() const { return it; }
};

class [[NVM::transactional]] alignas(64) scalar_wide_letter {
    wchar_t it = {};
    wchar_t two[2] = {};

public:
    void set() { it = L'w', two[1] = it; ++it, it++, --it; }
    void add(wchar_t more) { it = static_cast<wchar_t>(it + more), two[0] = more; }
    void by_reference() { wchar_t& alias = it; alias = two[1]; std::swap(two[0], two[1]); }
    void by_pointer() { for (wchar_t* at = two; at != two + 2; ++at) *at = it; }
    wchar_t get() const { return it; }
};

class [[NVM::transactional]] alignas(64) scalar_small {
    short it = {};
    short two[2] = {};

public:
    void set() { it = -300, two[1] = it; ++it, it++, --it; }
    void add(short more) { it = static_cast<short>(it + more), two[0] = more; }
    void by_reference() { short& alias = it; alias = two[1]; std::swap(two[0], two[1]); }
    void by_pointer() { for (short* at = two; at != two + 2; ++at) *at = it; }
    short get() const { return it; }
};

class [[NVM::transactional]] alignas(64) scalar_half {
    unsigned short it = {};
    unsigned short two[2] = {};

public:
    void set() { it = 60000, two[1] = it; ++it, it++, --it; }
    void add(unsigned short more) { it = static_cast<unsigned short>(it + more), two[0] = more; }
    void by_reference() { unsigned short& alias = it; alias = two[1]; std::swap(two[0], two[1]); }
    void by_pointer() { for (unsigned short* at = two; at != two + 2; ++at) *at = it; }
    unsigned short get() const { return it; }
};

class [[NVM::transactional]] alignas(64) scalar_number {
    int it = {};
    int two[2] = {};

public:
    void set() { it = -70000, two[1] = it; ++it, it++, --it; }
    void add(int more) { it = static_cast<int>(it + more), two[0] = more; }
    void by_reference() { int& alias = it; alias = two[1]; std::swap(two[0], two[1]); }
    void by_pointer() { for (int* at = two; at != two + 2; ++at) *at = it; }
    int get() const { return it; }
};

class [[NVM::transactional]] alignas(64) scalar_positive {
    unsigned it = {};
    unsigned two[2] = {};

public:
    void set() { it = 4000000000u, two[1] = it; ++it, it++, --it; }
    void add(unsigned more) { it = static_cast<unsigned>(it + more), two[0] = more; }
    void by_reference() { unsigned& alias = it; alias = two[1]; std::swap(two[0], two[1]); }
    void by_pointer() { for (unsigned* at = two; at != two + 2; ++at) *at = it; }
    unsigned get() const { return it; }
};

class [[NVM::transactional]] alignas(64) scalar_large {
    long it = {};
    long two[2] = {};

public:
    void set() { it = 1L << 40, two[1] = it; ++it, it++, --it; }
    void add(long more) { it = static_cast<long>(it + more), two[0] = more; }
    void by_reference() { long& alias = it; alias = two[1]; std::swap(two[0], two[1]); }
    void by_pointer() { for (long* at = two; at != two + 2; ++at) *at = it; }
    long get() const { return it; }
};

class [[NVM::transactional]] alignas(64) scalar_larger {
    unsigned long it = {};
    unsigned long two[2] = {};

public:
    void set() { it = ~0UL, two[1] = it; ++it, it++, --it; }
    void add(unsigned long more) { it = static_cast<unsigned long>(it + more), two[0] = more; }
    void by_reference() { unsigned long& alias = it; alias = two[1]; std::swap(two[0], two[1]); }
    void by_pointer() { for (unsigned long* at = two; at != two + 2; ++at) *at = it; }
    unsigned long get() const { return it; }
};

class [[NVM::transactional]] alignas(64) scalar_longest {
    long long it = {};
    long long two[2] = {};

public:
    void set() { it = -1LL, two[1] = it; ++it, it++, --it; }
    void add(long long more) { it = static_cast<long long>(it + more), two[0] = more; }
    void by_reference() { long long& alias = it; alias = two[1]; std::swap(two[0], two[1]); }
    void by_pointer() { for (long long* at = two; at != two + 2; ++at) *at = it; }
    long long get() const { return it; }
};

class [[NVM::transactional]] alignas(64) scalar_single {
    float it = {};
    float two[2] = {};

public:
    void set() { it = 1.5f, two[1] = it; ++it, it++, --it; }
    void add(float more) { it = static_cast<float>(it + more), two[0] = more; }
    void by_reference() { float& alias = it; alias = two[1]; std::swap(two[0], two[1]); }
    void by_pointer() { for (float* at = two; at != two + 2; ++at) *at = it; }
    float get() const { return it; }
};

class [[NVM::transactional]] alignas(64) scalar_twice {
    double it = {};
    double two[2] = {};

public:
    void set() { it = -2.25, two[1] = it; ++it, it++, --it; }
    void add(double more) { it = static_cast<double>(it + more), two[0] = more; }
    void by_reference() { double& alias = it; alias = two[1]; std::swap(two[0], two[1]); }
    void by_pointer() { for (double* at = two; at != two + 2; ++at) *at = it; }
    double get() const { return it; }
};

class [[NVM::transactional]] alignas(64) scalar_fixed8 {
    int8_t it = {};
    int8_t two[2] = {};

public:
    void set() { it = -8, two[1] = it; ++it, it++, --it; }
    void add(int8_t more) { it = static_cast<int8_t>(it + more), two[0] = more; }
    void by_reference() { int8_t& alias = it; alias = two[1]; std::swap(two[0], two[1]); }
    void by_pointer() { for (int8_t* at = two; at != two + 2; ++at) *at = it; }
    int8_t get() const { return it; }
};

class [[NVM::transactional]] alignas(64) scalar_fixed64 {
    uint64_t it = {};
    uint64_t two[2] = {};

public:
    void set() { it = 1ull << 63, two[1] = it; ++it, it++, --it; }
    void add(uint64_t more) { it = static_cast<uint64_t>(it + more), two[0] = more; }
    void by_reference() { uint64_t& alias = it; alias = two[1]; std::swap(two[0], two[1]); }
    void by_pointer() { for (uint64_t* at = two; at != two + 2; ++at) *at = it; }
    uint64_t get() const { return it; }
};

class [[NVM::transactional]] alignas(64) scalar_place {
    size_t it = {};
    size_t two[2] = {};

public:
    void set() { it = 77, two[1] = it; ++it, it++, --it; }
    void add(size_t more) { it = static_cast<size_t>(it + more), two[0] = more; }
    void by_reference() { size_t& alias = it; alias = two[1]; std::swap(two[0], two[1]); }
    void by_pointer() { for (size_t* at = two; at != two + 2; ++at) *at = it; }
    size_t get() const { return it; }
};

#define SCALAR(Class, name)                                                                                       \
    {                                                                                                             \
        name, MAKE(Class), {                                                                                      \
            STEP(Class, first, x.set(); return static_cast<long>(x.get())),                                       \
                STEP(Class, first, x.add(1); return static_cast<long>(x.get())),                                  \
                STEP(Class, first, x.by_reference(); return static_cast<long>(x.get())),                          \
                STEP(Class, first, x.by_pointer(); return 0), STEP(Class, second, y.add(x.get()); return 0),      \
                STEP(Class, reads, return static_cast<long>(x.get()) ^ static_cast<long>(y.get()))                \
        }                                                                                                         \
    }

const features::feature* scalars(size_t* count) {
    static const features::feature all[] = {
        SCALAR(scalar_flag, "a member of type bool"),
        SCALAR(scalar_letter, "a member of type char"),
        SCALAR(scalar_negative, "a member of type signed char"),
        SCALAR(scalar_byte, "a member of type unsigned char"),
        SCALAR(scalar_wide_letter, "a member of type wchar_t"),
        SCALAR(scalar_small, "a member of type short"),
        SCALAR(scalar_half, "a member of type unsigned short"),
        SCALAR(scalar_number, "a member of type int"),
        SCALAR(scalar_positive, "a member of type unsigned"),
        SCALAR(scalar_large, "a member of type long"),
        SCALAR(scalar_larger, "a member of type unsigned long"),
        SCALAR(scalar_longest, "a member of type long long"),
        SCALAR(scalar_single, "a member of type float"),
        SCALAR(scalar_twice, "a member of type double"),
        SCALAR(scalar_fixed8, "a member of type int8_t"),
        SCALAR(scalar_fixed64, "a member of type uint64_t"),
        SCALAR(scalar_place, "a member of type size_t"),
    };
    *count = sizeof all / sizeof *all;
    return all;
}

}  // namespace FEATURES
