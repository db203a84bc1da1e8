// What a probing build sees, and what the library says of woven classes.
#include "probed/probe_cases.hpp"

#include <holdfast/line/woven_medium.hpp>

#include <gtest/gtest.h>

namespace {

class Probe : public testing::Test {
protected:
    Probe() {
        holdfast::woven::on_wrong_half = [](const void* line) { ++seen, where = line; };
        seen = 0;
        probed::construct(line_);
    }

    inline static int seen = 0;
    inline static const void* where = nullptr;
    alignas(64) unsigned char line_[64];
};

TEST_F(Probe, SaysNothingOfTransactionsThatStayInTheirHalf) {
    probed::set(line_, 3);
    probed::set_and_write_inside(line_, 4);
    EXPECT_EQ(probed::get(line_), 4);
    EXPECT_EQ(seen, 0);
}

TEST_F(Probe, CatchesAWriteThroughAPointerFromBeforeTheTransaction) {
    probed::set(line_, 3);
    probed::set_and_write_past_it(line_, 4);
    EXPECT_EQ(seen, 1);
    EXPECT_EQ(where, line_);
    probed::set(line_, 5);
    EXPECT_EQ(seen, 1) << "the next transaction is right again";
}

TEST_F(Probe, CatchesATransactionInsideAConstFunctionOfTheSameObject) {
    EXPECT_EQ(probed::get_after_a_change(line_, 9), 1) << "it reads the object as it was when it began";
    EXPECT_EQ(seen, 1);
    EXPECT_EQ(probed::get(line_), 9);
}

TEST(Woven, IsALineToTheLibrary) {
    EXPECT_TRUE(probed::is_woven_to_lines());
    EXPECT_TRUE(probed::fits_a_line_array());
}

}  // namespace
