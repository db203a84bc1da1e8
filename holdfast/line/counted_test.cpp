// What instructions_test.cpp steps through: compiled as a program's own code is.
#include <holdfast/line/counted_test.hpp>

namespace holdfast::test {

void add_byte(line<bounded_buffer>& to, char byte) {
    to.transact([byte](bounded_buffer& active) { active.add(byte); });
}

void add_byte(bounded_buffer& to, char byte) { to.add(byte); }

}  // namespace holdfast::test
