// Static variables over the builds of a program.
#include <holdfast/dnv/check.hpp>
#include <holdfast/handle/check.hpp>

#include <gtest/gtest.h>

#include <cstdio>
#include <filesystem>
#include <string>

#include <stdlib.h>

namespace holdfast::dnv {
namespace {

class Statics : public testing::Test {
protected:
    Statics() {
        char name[] = "/dev/shm/holdfast-dnv-XXXXXX";
        directory_ = mkdtemp(name);
    }
    ~Statics() override { std::filesystem::remove_all(directory_); }

    static std::string said_by(const std::string& line) {
        std::FILE* const out = ::popen(line.c_str(), "r");
        std::string said(4096, '\0');
        said.resize(std::fread(said.data(), 1, said.size(), out));
        ::pclose(out);
        return said;
    }
    /// What the build says of the pool.
    std::string run(const char* build, const std::string& more = "") const {
        return said_by(std::string(HOLDFAST_DNV_PROGRAMS) + build + " " + directory_ + "/pool " + more);
    }

    std::string directory_;
};

TEST_F(Statics, SurviveARebuildThatAddsOthersBehindThem) {
    EXPECT_EQ(run("same"), "11 12 0");
    EXPECT_EQ(run("same"), "21 22 0");
    EXPECT_EQ(run("more"), "31 32 13");
    EXPECT_EQ(run("more"), "41 42 23");
}

TEST_F(Statics, MoveWhereTheirRegionHasNoRoomForNewOnes) {
    EXPECT_EQ(run("more"), "11 12 13");
    EXPECT_EQ(run("large"), "21 22 27");
    EXPECT_EQ(run("large"), "31 32 41");
    const auto checked = check_pool(directory_ + "/pool", check_contents);
    ASSERT_TRUE(checked);
    EXPECT_TRUE(checked->sound());
}

TEST_F(Statics, OfAnotherSizeAreRefusedByName) {
    run("same");
    const std::string said = run("changed");
    EXPECT_NE(said.find("second"), std::string::npos) << said;
    EXPECT_NE(said.find("another one in the program"), std::string::npos) << said;
    EXPECT_EQ(run("same"), "21 22 0") << "nothing was changed";
}

TEST_F(Statics, ThatAreMissingAreRefusedByName) {
    run("more");
    for (const char* build : {"fewer", "same"}) {
        const std::string said = run(build);
        EXPECT_NE(said.find("lacks a static variable of the pool"), std::string::npos) << said;
    }
    EXPECT_EQ(run("more"), "21 22 23");
}

TEST_F(Statics, BesideWhichANewOneBeginsStayDamagedIfTheyAre) {
    run("same");
    run("same", "spoil");
    const std::string said = run("more", "2>&1");
    EXPECT_NE(said.find("more flipped bits than its code corrects"), std::string::npos) << said;
}

TEST_F(Statics, ThatTheLinkerHasPutElsewhereAreRefused) {
    const std::string said = run("unplaced");
    EXPECT_NE(said.find("are not where a pool can keep them"), std::string::npos) << said;
    EXPECT_NE(said.find("expected the section at 0x20000000, found another place"), std::string::npos) << said;
    EXPECT_FALSE(std::filesystem::exists(directory_ + "/pool")) << "they would not be in it";
}

TEST_F(Statics, NeedNotBe) { EXPECT_EQ(run("none"), "opened"); }

TEST_F(Statics, AreNotLinkedAtAnAddressThatTheLoaderChooses) {
    const std::string link = "echo 'int main() {}' | " HOLDFAST_DNV_LINK " -x c++ - -o " + directory_ + "/program ";
    EXPECT_EQ(said_by(link + "-no-pie 2>&1"), "");
    const std::string said = said_by(link + "-fPIE -pie 2>&1");
    EXPECT_NE(said.find("expected -no-pie, found -pie"), std::string::npos) << said;
}

}  // namespace
}  // namespace holdfast::dnv
