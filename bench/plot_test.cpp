// Charts are files that depend on the numbers in them and on nothing else.
#include <bench/plot.hpp>

#include <holdfast/base/result.hpp>
#include <holdfast/persist/test_scratch.hpp>

#include <gtest/gtest.h>

#include <filesystem>
#include <fstream>
#include <iterator>
#include <string>

namespace holdfast::bench {
namespace {

std::string contents(const std::string& path) {
    std::ifstream in(path);
    return {std::istreambuf_iterator<char>(in), {}};
}

std::vector<panel> panels(double value) {
    bar_panel linear{"linear", "ns", {"one", "two\nlines"}, {{"a \"quoted\" name", "#999999", {value, {}}}}, false, {}};
    bar_panel logarithmic{"logarithmic", "times", {"x"}, {}, true, 1.0};
    logarithmic.series = {{"b", "#0072B2", {0.1}}, {"c", "#E69F00", {400.0}}};
    line_panel lines{"lines", "requests a second", "ns", {{"d", "#009E73", {{1000, value}, {2000, 3}}}}};
    return {linear, lines, logarithmic};
}

TEST(Plot, AChartDependsOnItsNumbersAlone) {
    const persist::test::scratch_directory here(std::filesystem::current_path().string());
    const std::string first = here.path() + "/it's first.svg", second = here.path() + "/second.svg";
    draw_svg(first, "a title", panels(12));
    draw_svg(second, "a title", panels(12));
    EXPECT_NE(contents(first).find("<svg"), std::string::npos);
    EXPECT_NE(contents(first).find("a \"quoted\" name"), std::string::npos);
    EXPECT_EQ(contents(first), contents(second));
    draw_svg(second, "a title", panels(13));
    EXPECT_NE(contents(first), contents(second));
}

TEST(Plot, WhatCannotBeDrawnIsAnErrorThatNamesTheFile) {
    const persist::test::scratch_directory here(std::filesystem::current_path().string());
    const std::string path = here.path() + "/no such directory/chart.svg";
    try {
        draw_svg(path, "a title", panels(12));
        FAIL() << "it was drawn";
    } catch (const failure& reason) {
        EXPECT_EQ(reason.reason().code, errc::io);
        EXPECT_EQ(reason.reason().path, path);
    }
}

}  // namespace
}  // namespace holdfast::bench
