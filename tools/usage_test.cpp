// What the command says to a line that it does not understand.
#include "command_test_support.hpp"

#include <string>
#include <utility>
#include <vector>

namespace holdfast::tools::test {
namespace {

using words = std::vector<std::string>;

TEST_F(Command, WithoutACommandItPrintsTheHelpOfWhatWasNamedAndExitsWith2) {
    const std::vector<std::pair<words, std::vector<std::string>>> lines = {
        {{}, {"Usage: holdfast ", "kv ", "doctor "}},
        {{"pool"}, {"Usage: holdfast pool ", "create ", "snapshot "}},
        {{"ecc"}, {"Usage: holdfast ecc ", "inject "}},
        {{"kv", in("p")}, {"Usage: holdfast kv ", "put ", "--engine"}},
    };
    for (const auto& [line, expected] : lines) {
        const outcome done = run(line);
        EXPECT_EQ(done.status, 2) << ::testing::PrintToString(line);
        EXPECT_EQ(done.out, "") << ::testing::PrintToString(line);
        for (const auto& each : expected)
            EXPECT_NE(done.err.find(each), std::string::npos) << each << " is not in " << done.err;
    }
}

TEST_F(Command, AWordThatIsNearlyRightIsAnsweredWithTheRightOne) {
    const std::vector<std::pair<words, std::string>> lines = {
        {{"kvv"}, "\"kv\""},
        {{"kvv", in("p"), "get", "key"}, "\"kv\""},
        {{"dcotor", "."}, "\"doctor\""},
        {{"bnech", "sps"}, "\"bench\""},
        {{"pool", "creat", in("p")}, "\"create\""},
        {{"pool", "snapshto"}, "\"snapshot\""},
        {{"kv", in("p"), "gett", "key"}, "\"get\""},
        {{"kv", in("p"), "--lvel", "process", "put", "a", "b"}, "\"--level\""},
        {{"kv", in("p"), "put", "a", "b", "--lvel=process"}, "\"--level\""},
        {{"kv", in("p"), "load", "file", "--bacth", "3"}, "\"--batch\""},
        {{"pool", "create", in("p"), "--siz", "3M"}, "\"--size\""},
        {{"kv", in("p"), "--engine", "rdo", "put", "a", "b"}, "\"redo\""},
        {{"kv", in("p"), "--engine", "softwarp", "put", "a", "b"}, "\"softwrap\""},
        {{"kv", in("p"), "--level", "pwer", "put", "a", "b"}, "\"power\""},
        {{"pool", "create", in("p"), "--engine", "redoo"}, "\"redo\""},
        {{"bench", "spss"}, "\"sps\""},
        {{"bench", "bounded_buffer"}, "\"bounded-buffer\""},
        {{"bench", "sps", "--quik"}, "\"--quick\""},
        {{"bench", "--quik"}, "\"--quick\""},
        {{"figures", "--paper", "cltxx"}, "\"cltx\""},
#ifdef HOLDFAST_HAS_CRASH
        {{"crash", "--engin", "redo"}, "\"--engine\""},
        {{"crash", "--engine", "rdo"}, "\"redo\""},
        {{"crash", "--workload", "hashmap"}, "\"hash_map\""},
        {{"crash", "--model", "x68"}, "\"x86\""},
#endif
#ifdef HOLDFAST_HAS_SIM
        {{"sim", "hsah"}, "\"hash\""},
#endif
    };
    for (const auto& [line, expected] : lines) {
        const outcome done = run(line);
        EXPECT_EQ(done.status, 2) << ::testing::PrintToString(line);
        EXPECT_NE(done.err.find("did you mean " + expected + "?"), std::string::npos)
            << ::testing::PrintToString(line) << ": " << done.err;
        EXPECT_EQ(done.err.rfind("holdfast", 0), 0u) << "says who speaks: " << done.err;
    }
}

TEST_F(Command, AWordThatIsLikeNothingIsNamedWithoutAGuess) {
    for (const words& line : {words{"nonsense"}, words{"kv", in("p"), "--nonsense", "put", "a", "b"},
                              words{"kv", in("p"), "put", "a", "b", "c"}, words{"bench", "nonsense"}}) {
        const outcome done = run(line);
        EXPECT_EQ(done.status, 2);
        EXPECT_EQ(done.err.find("did you mean"), std::string::npos) << done.err;
        EXPECT_NE(done.err.find(line.back() == "b" ? "--nonsense" : line.back()), std::string::npos) << done.err;
        EXPECT_NE(done.err.find("--help"), std::string::npos) << done.err;
    }
}

TEST_F(Command, AnEngineThatNoSuiteHasIsWrongUsage) {
    const outcome done = run({"bench", "ecc", "--quick", "--engine", "nonsense"});
    EXPECT_EQ(done.status, 2);
    EXPECT_NE(done.err.find("nonsense"), std::string::npos) << done.err;
}

TEST_F(Command, OnlyLevelsThatExistAreOffered) {
    const std::string help = run({"kv", "--help"}).out;
    EXPECT_NE(help.find("power"), std::string::npos);
    EXPECT_EQ(help.find("on_power_fail"), std::string::npos) << help;
    const outcome done = run({"kv", in("p"), "--level", "on_power_fail", "put", "a", "b"});
    EXPECT_EQ(done.status, 2);
    EXPECT_NE(done.err.find("process, lag, power"), std::string::npos) << done.err;
    EXPECT_EQ(run({"kv", in("p"), "--engine", "cc_htm", "--level", "lag", "put", "a", "b"}).status, 0);
    EXPECT_EQ(run({"kv", in("p"), "get", "a"}).out, "b\n");
    EXPECT_EQ(run({"kv", in("q"), "--engine", "redo", "--level", "lag", "put", "a", "b"}).status, 1);
}

}  // namespace
}  // namespace holdfast::tools::test
