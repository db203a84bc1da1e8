// Static variables over the builds of a program.
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

    /// What the build says of the pool.
    std::string run(const char* build) const {
        const std::string line = std::string(HOLDFAST_DNV_PROGRAMS) + build + " " + directory_ + "/pool";
        std::FILE* const out = ::popen(line.c_str(), "r");
        std::string said(4096, '\0');
        said.resize(std::fread(said.data(), 1, said.size(), out));
        ::pclose(out);
        return said;
    }

    std::string directory_;
};

TEST_F(Statics, SurviveARebuildThatAddsOthersBehindThem) {
    EXPECT_EQ(run("same"), "11 12 0");
    EXPECT_EQ(run("same"), "21 22 0");
    EXPECT_EQ(run("more"), "31 32 13");
    EXPECT_EQ(run("more"), "41 42 23");
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

}  // namespace
}  // namespace holdfast::dnv
