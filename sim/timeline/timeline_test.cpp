// The page of a timeline: its structure, and where things lie.
#include <sim/timeline/timeline_layout.hpp>

#include <gtest/gtest.h>

#include <regex>

namespace holdfast::sim {
namespace {

timeline example() {
    timeline shown{"hash, hart 0", ns(1000), ns(2000), ps(400), {"pipeline", "DL1 of core 0", "bank 3"}, {}};
    shown.spans.push_back({0, "sd", ns(1000), ns(1100), timeline_colour::work});
    shown.spans.push_back({0, "ld", ns(1050), ns(1150), timeline_colour::work});
    shown.spans.push_back({0, "add", ns(1100), ns(1200), timeline_colour::work});
    shown.spans.push_back({1, "0x1000000040", ns(1300), ns(1300), timeline_colour::mark});
    shown.spans.push_back({2, "write, row 7", ns(1400), ns(1700), timeline_colour::write});
    return shown;
}

std::size_t count(const std::string& page, const std::string& what) {
    std::size_t found = 0;
    for (std::size_t at = page.find(what); at != std::string::npos; at = page.find(what, at + 1)) ++found;
    return found;
}

/// The elements that were begun and not ended, or ended and not begun.
std::string unbalanced(const std::string& page) {
    static const std::regex tag("<(/?)([a-z0-9]+)[^>]*?(/?)>");
    std::vector<std::string> open;
    for (std::sregex_iterator each(page.begin(), page.end(), tag), end; each != end; ++each) {
        const std::string name = (*each)[2];
        if (name == "meta" || (*each)[3] == "/") continue;
        if ((*each)[1] != "/") {
            open.push_back(name);
        } else if (open.empty() || open.back() != name) {
            return "/" + name;
        } else {
            open.pop_back();
        }
    }
    return open.empty() ? "" : open.back();
}

TEST(Timeline, HasARectangleForEachSpanWithItsNameAndTimes) {
    const std::string page = timeline_html(example());
    EXPECT_EQ(count(page, "<g class=\"span\">"), 5u);
    EXPECT_EQ(count(page, "<g class=\"lane\">"), 3u);
    EXPECT_NE(page.find("<title>write, row 7\nbank 3\n1400 ns to 1700 ns: 300 ns, 750 cycles</title>"),
              std::string::npos);
    EXPECT_NE(page.find(">write, row 7</text>"), std::string::npos) << "there is room for its name";
    EXPECT_EQ(page.find(">0x1000000040</text>"), std::string::npos) << "there is none";
    EXPECT_EQ(unbalanced(page), "");
}

TEST(Timeline, FetchesNothingAndRunsNothing) {
    const std::string page = timeline_html(example());
    for (const char* const each : {"http", "src=", "href=", "url(", "@import", "<script"}) {
        EXPECT_EQ(page.find(each), std::string::npos) << each;
    }
}

TEST(Timeline, HasAnAxisInNanosecondsAndOneInCycles) {
    timeline shown = example();
    const std::string page = timeline_html(shown);
    EXPECT_NE(page.find(">900 ns</text>"), std::string::npos);
    EXPECT_NE(page.find(">2000 cycles</text>"), std::string::npos);
    EXPECT_NE(page.find("From 1000 ns to 2000 ns"), std::string::npos);
    shown.cycle = {};
    EXPECT_EQ(timeline_html(shown).find("cycle"), std::string::npos);
}

TEST(Timeline, ExplainsTheColoursThatOccur) {
    const std::string page = timeline_html(example());
    for (const char* const used : {"work", "mark", "write"}) {
        EXPECT_EQ(count(page, "<span class=\"" + std::string(used) + "\"></span>" + used), 1u);
    }
    EXPECT_EQ(page.find("<span class=\"miss\">"), std::string::npos);
}

TEST(Timeline, TakesNoNameForMarkup) {
    timeline shown = example();
    shown.title = "a & b";
    shown.lanes[0] = "x<y";
    shown.spans[0].name = "<b>\"sd\"";
    const std::string page = timeline_html(shown);
    EXPECT_NE(page.find("&lt;b&gt;&quot;sd&quot;"), std::string::npos);
    EXPECT_EQ(page.find("<b>"), std::string::npos);
    EXPECT_EQ(unbalanced(page), "");
}

TEST(Timeline, WithoutSpansHasItsLanesAllTheSame) {
    const std::string page = timeline_html({"nothing", ns(5), ns(5), {}, {"pipeline", "bank 0"}, {}});
    EXPECT_EQ(count(page, "<g class=\"lane\">"), 2u);
    EXPECT_EQ(unbalanced(page), "");
}

TEST(Timeline, PutsWhatOverlapsIntoRowsAndWhatTouchesIntoOne) {
    const timeline shown = example();
    const timeline_layout made = lay_out(shown);
    const placed_lane& pipeline = made.lanes[0];
    ASSERT_EQ(pipeline.spans.size(), 3u);
    EXPECT_EQ(pipeline.rows, 2u);
    EXPECT_EQ(pipeline.spans[0].row, 0u);
    EXPECT_EQ(pipeline.spans[1].row, 1u);
    EXPECT_EQ(pipeline.spans[2].row, 0u);
    EXPECT_EQ(made.lanes[1].rows, 1u);
}

TEST(Timeline, DrawsTimeToScale) {
    const timeline shown = example();
    const timeline_layout made = lay_out(shown);
    const placed_span& write = made.lanes[2].spans[0];
    EXPECT_NEAR(write.left, made.pixels * 0.4, 0.01);
    EXPECT_NEAR(write.width, made.pixels * 0.3, 0.01);
    EXPECT_GT(made.lanes[1].spans[0].width, 1) << "a moment can be seen";
}

TEST(Timeline, CutsAtTheEndsOfItsWindow) {
    timeline shown = example();
    shown.spans = {{0, "before", ns(800), ns(900)},     {0, "until the beginning", ns(800), ns(1000)},
                   {0, "into", ns(900), ns(1100)},      {0, "out of", ns(1900), ns(2500)},
                   {0, "from the end", ns(2000), ns(2100)}};
    const timeline_layout made = lay_out(shown);
    ASSERT_EQ(made.lanes[0].spans.size(), 2u);
    EXPECT_EQ(made.lanes[0].spans[0].left, 0);
    EXPECT_NEAR(made.lanes[0].spans[0].width, made.pixels * 0.1, 0.01);
    EXPECT_NEAR(made.lanes[0].spans[1].left + made.lanes[0].spans[1].width, made.pixels, 0.01);
    EXPECT_NE(timeline_html(shown).find("900 ns to 1100 ns: 200 ns"), std::string::npos) << "tells the whole of it";
}

TEST(Timeline, IsWideEnoughForItsSpansAndStillAPage) {
    timeline shown = example();
    shown.end = ns(11'000);
    EXPECT_GT(lay_out(shown).pixels, 3000);
    shown.end = ns(11'000'000);
    EXPECT_LE(lay_out(shown).pixels, 30'000);
}

TEST(Timeline, ShowsTheActivePartOfASpanInItsColourAndTheRestAsWaiting) {
    timeline shown = example();
    shown.spans = {{2, "read", ns(1200), ns(1600), timeline_colour::read, timeline_part{ns(1400), ns(1500)}, "row 7"}};
    const timeline_layout made = lay_out(shown);
    const placed_span& read = made.lanes[2].spans[0];
    EXPECT_NEAR(read.active_left, made.pixels * 0.4, 0.01);
    EXPECT_NEAR(read.active_width, made.pixels * 0.1, 0.01);
    const std::string page = timeline_html(shown);
    EXPECT_EQ(count(page, "<rect class=\"wait\""), 1u);
    EXPECT_EQ(count(page, "<rect class=\"read\""), 1u);
    EXPECT_EQ(count(page, "<span class=\"wait\"></span>wait"), 1u);
    EXPECT_NE(page.find("1000 cycles\nrow 7</title>"), std::string::npos);
    EXPECT_EQ(unbalanced(page), "");
}

TEST(Timeline, MakesTheRowsOfALaneThinWhenThereAreMany) {
    timeline shown = example();
    shown.spans.clear();
    for (int i = 0; i < 168; ++i) shown.spans.push_back({0, "ld", ns(1000), ns(2000)});
    shown.spans.push_back({1, "load", ns(1000), ns(2000)});
    const timeline_layout made = lay_out(shown);
    EXPECT_EQ(made.lanes[0].rows, 168u);
    EXPECT_LT(made.lanes[0].row_pixels * 168, 1000);
    EXPECT_GT(made.lanes[1].row_pixels, 2 * made.lanes[0].row_pixels);
    const std::string page = timeline_html(shown);
    EXPECT_EQ(page.find(">ld</text>"), std::string::npos) << "no letter is as low";
    EXPECT_NE(page.find(">load</text>"), std::string::npos);
}

TEST(Timeline, HasTicksAtRoundNumbers) {
    EXPECT_EQ(tick_distance(1, 90), 100u);
    EXPECT_EQ(tick_distance(10, 90), 10u);
    EXPECT_EQ(tick_distance(50, 90), 2u);
    EXPECT_EQ(tick_distance(0.2, 90), 500u);
    EXPECT_EQ(tick_distance(200, 90), 1u);
}

}  // namespace
}  // namespace holdfast::sim
