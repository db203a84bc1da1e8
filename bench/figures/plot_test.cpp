// Charts are files that depend on the numbers in them and on nothing else.
#include <bench/figures/plot.hpp>

#include <holdfast/base/result.hpp>
#include <holdfast/persist/test_scratch.hpp>

#include <gtest/gtest.h>

#include <algorithm>
#include <cmath>
#include <filesystem>
#include <fstream>
#include <iterator>
#include <regex>
#include <string>
#include <utility>
#include <variant>
#include <vector>

namespace holdfast::bench {
namespace {

std::string contents(const std::string& path) {
    std::ifstream in(path);
    return {std::istreambuf_iterator<char>(in), {}};
}

std::vector<panel> panels(double value) {
    const bar_series quoted{"a \"quoted\" name", colour::grey, {value, {}}};
    bar_panel linear{"linear", "ns", {"10 % of one", "two\nlines"}, {quoted}, false, {}};
    bar_panel logarithmic{"logarithmic", "times", {"x"}, {}, true, 1.0};
    logarithmic.series = {{"b", colour::blue, {0.1}}, {"c", colour::ochre, {400.0}}};
    line_panel lines{"lines", "requests a second", "ns", {{"d", colour::green, {{1000, value}, {2000, 3}}}}};
    return {linear, lines, logarithmic};
}

/// A text of a chart, and where it stands, in pixels.
struct written {
    std::string text;
    double left, right, top, bottom;
};

std::vector<written> texts_of(const std::string& svg) {
    constexpr double letter_width = 0.556, letter_height = 0.72, gap = 3;
    static const std::regex each(
        R"re(translate\(([0-9.]+),([0-9.]+)\)( rotate\(-?[0-9.]+\))?"[^>]*font-size="([0-9.]+)"\s+)re"
        R"re(text-anchor="(\w+)">)re"
        R"re(\s*<text>(?:<tspan[^>]*>)?\s*([^<]+))re");
    std::vector<written> all;
    for (std::sregex_iterator at(svg.begin(), svg.end(), each), end; at != end; ++at) {
        const double x = std::stod((*at)[1]), y = std::stod((*at)[2]), size = std::stod((*at)[4]);
        const double length = static_cast<double>((*at)[6].length()) * size * letter_width + gap;
        const double height = size * letter_height;
        const double before = (*at)[5] == "middle" ? length / 2 : (*at)[5] == "end" ? length - gap : 0;
        const bool upright = (*at)[3].matched;
        const double left = upright ? x - height : x - before, bottom = upright ? y + before : y;
        const double width = upright ? height : length, tall = upright ? length : height;
        all.push_back({(*at)[6], left, left + width, bottom - tall, bottom});
    }
    return all;
}

/// As in the figures: few bars of long numbers, and many bars.
std::vector<std::vector<panel>> figures() {
    const std::vector<const char*> colours{colour::grey, colour::blue, colour::green, colour::ochre, colour::sky};
    bar_panel narrow{"Measured", "ns", {"DRAM", "NVRAM\n(+430 ns a line)", "slower"}, {}, true, {}};
    for (std::size_t i = 0; i < colours.size(); ++i)
        narrow.series.push_back({"engine " + std::to_string(i), colours[i], {3.56, 637.0, 4593.0}});
    const bar_panel ratios{"Ratios", "times", {"one", "two"},
                           {{"the paper", colour::grey, {4.6, 5.2}}, {"here", colour::vermilion, {0.95, 5.2}}},
                           true, 1};
    bar_panel many{"Throughput", "thousands", {"no delay"}, {}, true, {}};
    line_panel lines{"Mean", "requests a second", "us", {}};
    for (std::size_t i = 0; i < 10; ++i) {
        const auto name = "softwrap_lat, batch " + std::to_string(i);
        many.series.push_back({name, colours[i % colours.size()], {100.0 * static_cast<double>(i + 1)}});
        lines.series.push_back({name, colours[i % colours.size()], {{1e5, 2 + static_cast<double>(i)}, {2e5, 60}}});
    }
    return {{narrow, ratios}, {many, many}, {lines, lines}};
}

std::string drawn(const std::vector<panel>& panels) {
    const persist::test::scratch_directory here(std::filesystem::current_path().string());
    draw_svg(here.path() + "/chart.svg", "a title", panels);
    return contents(here.path() + "/chart.svg");
}

TEST(Plot, NoTwoTextsTouch) {
    for (const auto& panels : figures()) {
        const auto texts = texts_of(drawn(panels));
        ASSERT_GT(texts.size(), 20u);
        for (const auto& a : texts)
            for (const auto& b : texts)
                EXPECT_FALSE(&a < &b && a.left < b.right && b.left < a.right && a.top < b.bottom && b.top < a.bottom)
                    << a.text << " at " << a.left << ", " << a.bottom << " and " << b.text << " at " << b.left << ", "
                    << b.bottom;
    }
}

TEST(Plot, ASeriesIsNamedOnce) {
    for (const auto& panels : figures()) {
        const auto texts = texts_of(drawn(panels));
        const auto times = [&](const std::string& name) {
            return std::count_if(texts.begin(), texts.end(), [&](const written& each) { return each.text == name; });
        };
        const auto look_at = [&](const auto& chart) {
            for (const auto& each : chart.series) EXPECT_EQ(times(each.title), 1) << each.title;
        };
        for (const auto& one : panels) std::visit(look_at, one);
    }
}

TEST(Plot, ColoursStandOutFromWhite) {
    // Contrast as the Web Content Accessibility Guidelines 2.1 define it; they ask 3 of graphics.
    const auto luminance = [](const std::string& colour) {
        double sum = 0;
        for (const auto& [place, weight] : {std::pair{1u, 0.2126}, {3u, 0.7152}, {5u, 0.0722}}) {
            const double part = std::stoi(colour.substr(place, 2), nullptr, 16) / 255.0;
            sum += weight * (part <= 0.04045 ? part / 12.92 : std::pow((part + 0.055) / 1.055, 2.4));
        }
        return sum;
    };
    for (const char* each : {colour::grey, colour::blue, colour::vermilion, colour::green, colour::sky, colour::ochre,
                             colour::pink, colour::black, colour::brown, colour::purple, colour::teal, colour::wine})
        EXPECT_GE(1.05 / (luminance(each) + 0.05), 3.0) << each;
}

TEST(Plot, AChartDependsOnItsNumbersAlone) {
    const persist::test::scratch_directory here(std::filesystem::current_path().string());
    const std::string first = here.path() + "/it's first.svg", second = here.path() + "/second.svg";
    draw_svg(first, "a title", panels(12));
    draw_svg(second, "a title", panels(12));
    EXPECT_NE(contents(first).find("<svg"), std::string::npos);
    EXPECT_NE(contents(first).find("a \"quoted\" name"), std::string::npos);
    EXPECT_NE(contents(first).find("10 % of one"), std::string::npos);
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
