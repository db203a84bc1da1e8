// What the generators make, of the smaller sets, on every machine.
#include <workload/stamp/inputs_test.hpp>

namespace holdfast::workload::test {
namespace {

TEST(StampInputs, GeneratorsMakeWhatTheyAlwaysMade) {
    expect_known_inputs({"small", "+"});
}

TEST(StampInputs, VacationBeginsWithTheTablesThatItAlwaysHad) {
    vacation_program_parameters given;
    given.tasks.relations = 1024;
    vacation_program_root root{};
    vacation_program<plain_access> program(plain_access(), &root, given);
    EXPECT_TRUE(program.begin(1));
    stamp_hash tables;
    const vacation_agency<plain_access> agency(plain_access(), &root.tables);
    agency.each_relation([&](vacation_table table, const vacation_relation& at) {
        const std::uint64_t words[] = {table, at.id, at.used, at.free, at.total, at.price};
        add(tables, words, 6);
    });
    EXPECT_EQ(tables.value(), 0x7827db7d2463024cull) << "0x" << std::hex << tables.value();
    EXPECT_TRUE(program.end());
}

}  // namespace
}  // namespace holdfast::workload::test
