// Runs every feature on woven objects and on plain ones, and judges by the bytes of both halves.
#include "features.hpp"

#include <holdfast/format/cache_line.hpp>

#include <cstdio>
#include <cstring>

#define LISTS(each) \
    each(values) each(scalars) each(objects) each(functions) each(returned) each(operators) each(heads) each(uses) \
        each(arguments)
#define DECLARED(list) const features::feature* list(size_t* count);
namespace woven {
LISTS(DECLARED)
}  // namespace woven
namespace plain {
LISTS(DECLARED)
}  // namespace plain

namespace {

using holdfast::format::half_line_bytes;
using holdfast::format::line_index_offset;
using holdfast::format::line_payload_bytes;

/// Two objects, and what they were.
struct lines {
    alignas(64) unsigned char bytes[128] = {};
    unsigned char before[128] = {};

    void remember() { std::memcpy(before, bytes, sizeof bytes); }
};

int failures = 0;

bool expect(bool holds, const features::feature& of, int step, int object, const char* text) {
    if (!holds) std::printf("FAILED %s, step %d, object %d: %s\n", of.name, step, object, text), ++failures;
    return holds;
}

void judge(const features::feature& of, int step, bool constructed, unsigned changes, const lines& woven,
           const lines& plain) {
    for (int object = 0; object < 2; ++object) {
        const unsigned char *now = woven.bytes + 64 * object, *before = woven.before + 64 * object;
        const unsigned index = now[line_index_offset], was = before[line_index_offset];
        const bool changed = (changes & (object == 0 ? features::first : features::second)) != 0;
        if (constructed) {
            expect(index == 0, of, step, object, "a new object's first half is valid");
        } else if (changed) {
            expect(index == (was ^ half_line_bytes), of, step, object, "one transaction turns the index once");
            expect(std::memcmp(now + was, before + was, line_payload_bytes) == 0, of, step, object,
                   "the half that was valid is as it was");
        } else {
            expect(index == was && std::memcmp(now + was, before + was, line_payload_bytes) == 0, of, step, object,
                   "the valid half and the index are as they were");
            if ((changes & features::rolls_back) == 0)
                expect(std::memcmp(now, before, 64) == 0, of, step, object, "reading changes no byte");
        }
        if (!constructed && (changes & (features::rolls_back | features::woven_only)) != 0) continue;
        expect(std::memcmp(now + index, plain.bytes + 64 * object, line_payload_bytes) == 0, of, step, object,
               "the valid half is what C++ would have made of the object");
    }
}

void run(const features::feature& woven_one, const features::feature& plain_one) {
    lines woven, plain;
    woven_one.construct(woven.bytes);
    plain_one.construct(plain.bytes);
    judge(woven_one, -1, true, 0, woven, plain);
    for (int step = 0; step < 8 && woven_one.steps[step].run != nullptr; ++step) {
        const unsigned changes = woven_one.steps[step].changes;
        woven.remember();
        const long returned = woven_one.steps[step].run(woven.bytes);
        const bool alone = (changes & (features::rolls_back | features::woven_only)) != 0;
        const long as_plain = alone ? 1 : plain_one.steps[step].run(plain.bytes);
        expect(returned == as_plain, woven_one, step, 0, "it returns what C++ would");
        judge(woven_one, step, false, changes, woven, plain);
    }
}

int run_all(features::list woven, features::list plain) {
    size_t count = 0, same = 0;
    const features::feature *woven_ones = woven(&count), *plain_ones = plain(&same);
    for (size_t i = 0; i < count; ++i) run(woven_ones[i], plain_ones[i]);
    return static_cast<int>(count == same ? count : 0);
}

}  // namespace

int main() {
    int count = 0;
#define RUN(list) count += run_all(woven::list, plain::list);
    LISTS(RUN)
    std::printf("%d features, %d failures\n", count, failures);
    return count >= 90 && failures == 0 ? 0 : 1;
}
