// A program is built again with its static variables in another order: what `holdfast pool layout` prints keeps them.
#include "command_test_support.hpp"

#include <cstdlib>
#include <regex>

namespace holdfast::tools::test {
namespace {

class PoolLayout : public Command {
protected:
    /// What a build of the program says of the pool.
    std::string said_by(const std::string& program) const {
        const std::string out = in("said");
        if (std::system((quoted(program) + " " + quoted(in("pool")) + " >" + quoted(out)).c_str()) == -1) return "";
        return contents_of(out);
    }
};

TEST_F(PoolLayout, KeepsVariablesInTheirPlacesInABuildThatOrdersThemOtherwise) {
    EXPECT_EQ(said_by(HOLDFAST_FIRST_BUILD), "11 12 13");
    const std::string refused = said_by(HOLDFAST_NEXT_BUILD);
    EXPECT_NE(refused.find("holdfast pool layout"), std::string::npos) << refused;
    EXPECT_EQ(said_by(HOLDFAST_NEXT_BUILD_PLACED), "21 22 23 14");
    EXPECT_EQ(said_by(HOLDFAST_NEXT_BUILD_PLACED), "31 32 33 24");
}

TEST_F(PoolLayout, SaysWhereTheyAre) {
    said_by(HOLDFAST_FIRST_BUILD);
    const json found = run_json({"pool", "layout", in("pool"), "--json"});
    EXPECT_EQ(found["bytes"], 16);
    ASSERT_EQ(found["variables"].size(), 3u);
    EXPECT_EQ(found["variables"][0]["name"], "_ZL5first");
    EXPECT_EQ(found["variables"][0]["address"], 0x2000'0000);
    EXPECT_EQ(found["variables"][2]["bytes"], 4);
    const std::string printed = run({"pool", "layout", in("pool")}).out;
    EXPECT_NE(printed.find(". = 0x8;\n    KEEP(*(holdfast_dnv_statics._ZL6second))"), std::string::npos) << printed;
}

TEST_F(PoolLayout, IsTheUsualLinkerScriptButForThePlaces) {
    said_by(HOLDFAST_FIRST_BUILD);
    const std::string comment = "^/\\*[^*]*\\*/\n";
    const std::string place = "    \\. = 0x[^\n]*\n(.*/\n)?";
    const std::string usual = contents_of(HOLDFAST_TEST_DIRECTORY "/../holdfast/dnv/holdfast_dnv.ld");
    const auto without = [](const std::string& text, const std::string& part) {
        return std::regex_replace(text, std::regex(part), "");
    };
    const std::string printed = run({"pool", "layout", in("pool")}).out;
    EXPECT_EQ(without(without(printed, place), comment), without(usual, comment));
}

TEST_F(PoolLayout, IsForPoolsOfDnvAlone) {
    ASSERT_EQ(run({"pool", "create", in("pool"), "--size", "4M"}).status, 0);
    const outcome refused = run({"pool", "layout", in("pool")});
    EXPECT_EQ(refused.status, 1);
    EXPECT_NE(refused.err.find("not of DNV Memory"), std::string::npos) << refused.err;
}

}  // namespace
}  // namespace holdfast::tools::test
