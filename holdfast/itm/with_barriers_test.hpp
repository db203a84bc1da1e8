// For tests about code with barriers: the only thread would run that without.
#pragma once

#include <holdfast/itm/alone_blocks.hpp>

#include <gtest/gtest.h>

namespace holdfast::itm {

class with_barriers : public testing::Environment {
public:
    void SetUp() override { holdfast_itm_runs_alone = false; }
};

/// Every test of a program that includes this has them.
inline const testing::Environment* const each_block_has_barriers =
    testing::AddGlobalTestEnvironment(new with_barriers);

}  // namespace holdfast::itm
