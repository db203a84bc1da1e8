// What the generators make, of the largest sets: it takes seconds.
#include <workload/stamp/inputs_test.hpp>

namespace holdfast::workload::test {
namespace {

TEST(StampInputs, GeneratorsMakeTheLargeInputsThatTheyAlwaysMade) {
    expect_known_inputs({"++"});
}

}  // namespace
}  // namespace holdfast::workload::test
