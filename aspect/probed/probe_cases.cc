#include "probe_cases.hpp"

#include <new>

#ifndef __acweaving
// Not for the weaver, which cannot parse it: the compiler of its output sees it.
#include <holdfast/line/line.hpp>
#endif

namespace probed {
namespace {

class [[NVM::transactional]] alignas(64) counter {
    int a = 1, b = 2;

public:
    void set(int to) { a = to; }
    int get() const { return a; }
    const int& shown() const { return b; }
    int get_after(counter& same, int to) const { same.set(to); return a; }
    void set_and_write(int to, int* past) { a = to, *past = 7; }
    void set_and_write_inside(int to) { a = to, const_cast<int&>(shown()) = 8; }
};

counter& at(void* line) { return *static_cast<counter*>(line); }

}  // namespace

void construct(void* line) { new (line) counter(); }
void set(void* line, int to) { at(line).set(to); }
void set_and_write_past_it(void* line, int to) { at(line).set_and_write(to, const_cast<int*>(&at(line).shown())); }
void set_and_write_inside(void* line, int to) { at(line).set_and_write_inside(to); }
int get_after_a_change(void* line, int to) { return at(line).get_after(at(line), to); }
int get(const void* line) { return static_cast<const counter*>(line)->get(); }

#ifndef __acweaving
bool is_woven_to_lines() { return holdfast::is_woven<counter> && !holdfast::is_woven<int>; }
bool fits_a_line_array() {
    alignas(64) static holdfast::line_array<counter, 2> two;
    two[1].set(5);
    return std::is_same_v<decltype(two)::value_type, counter> && two[0].get() == 1 && two[1].get() == 5;
}
#endif

}  // namespace probed
