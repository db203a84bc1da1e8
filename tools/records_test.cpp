// Files that commands write for machines: refused before the work where they cannot be written, and what is in them.
#include "command_test_support.hpp"

#include <sys/resource.h>

#include <filesystem>
#include <string>
#include <vector>

namespace holdfast::tools::test {
namespace {

using words = std::vector<std::string>;

double children_processor_s() {
    rusage used{};
    ::getrusage(RUSAGE_CHILDREN, &used);
    return static_cast<double>(used.ru_utime.tv_sec + used.ru_stime.tv_sec) +
           static_cast<double>(used.ru_utime.tv_usec + used.ru_stime.tv_usec) / 1e6;
}

TEST_F(Command, AFileThatCannotBeWrittenIsRefusedBeforeTheWork) {
    const std::string below = in("none/file");
    struct refused {
        words line;
        int status;
    };
    const std::vector<refused> lines = {
        {{"bench", "ecc", "--quick", "--json", below}, 1},
        {{"bench", "ecc", "--quick", "--json", directory_}, 1},
        {{"figures", "--quick", "--paper", "cltx", "--out", "/proc/figures"}, 1},
        {{"ecc", "inject", "--bits", "3", "--trials", "100000000", "--json", below}, 1},
#ifdef HOLDFAST_HAS_CRASH
        {{"crash", "--json", below}, 2},
        {{"crash", "--html", below}, 2},
        {{"crash", "--mutants", "--json", below}, 2},
        {{"crash", "--hints", "--json", below}, 2},
#endif
#ifdef HOLDFAST_HAS_SIM
        {{"sim", "hash", "--json", below}, 1},
        {{"sim", "hash", "--trace", below}, 1},
#endif
    };
    for (const auto& [line, status] : lines) {
        const double begin_s = children_processor_s();
        // What is measured until then is lost.
        const outcome done = run(line, "timeout 20");
        EXPECT_LT(children_processor_s() - begin_s, 2) << ::testing::PrintToString(line);
        EXPECT_EQ(done.status, status) << ::testing::PrintToString(line) << done.err;
        EXPECT_EQ(done.out, "") << ::testing::PrintToString(line);
        EXPECT_NE(done.err.find(line.back()), std::string::npos) << done.err;
    }
}

TEST_F(Command, AFileThatIsThereAlreadyIsKeptUntilTheWorkIsDone) {
    write("records.json", "what was there");
    EXPECT_EQ(run({"ecc", "inject", "--bits", "3", "--trials", "0", "--json", in("records.json")}).status, 2);
    EXPECT_EQ(contents_of(in("records.json")), "what was there");
    EXPECT_EQ(run({"ecc", "inject", "--bits", "3", "--trials", "10", "--json", in("records.json")}).status, 0);
    EXPECT_EQ(json::parse(contents_of(in("records.json")))[0]["trials"], 10);
}

/// Numbers beyond are rounded by readers whose numbers are doubles.
void expect_exact(const json& value, const std::string& where) {
    constexpr std::uint64_t exact_below = std::uint64_t{1} << 53;
    if (value.is_number_unsigned()) {
        EXPECT_LT(value.get<std::uint64_t>(), exact_below) << where;
    }
    if (!value.is_structured()) return;
    for (const auto& [name, each] : value.items()) expect_exact(each, where + "." + name);
}

TEST_F(Command, IdentitiesOfPoolsAreTextSinceADoubleCannotHoldThem) {
    for (const std::string name : {"first", "second", "third"}) {
        const std::string pool = in(name);
        const json made = run_json({"pool", "create", pool, "--size", "1M", "--json"});
        ASSERT_TRUE(made["pool_id"].is_string()) << made;
        EXPECT_EQ(made["pool_id"].get<std::string>().rfind("0x", 0), 0u) << made;
        expect_exact(made, "create");
        const json info = run_json({"pool", "info", pool, "--json"});
        EXPECT_EQ(info["pool_id"], made["pool_id"]);
        const json dump = run_json({"pool", "dump", pool, "--payload", "--json"});
        EXPECT_EQ(dump["superblocks"][0]["pool_id"], made["pool_id"]);
        expect_exact(dump, "dump");
        expect_exact(run_json({"pool", "snapshot", pool, pool + "-copy", "--json"}), "snapshot");
        expect_exact(run_json({"pool", "check", pool, "--json"}), "check");
    }
}

}  // namespace
}  // namespace holdfast::tools::test
