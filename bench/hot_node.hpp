// Case hot_node of suite wrap: transactions that write one node again and again.
#pragma once

#include <bench/bench.hpp>
#include <bench/contest/scratch.hpp>
#include <bench/contest/setting.hpp>
#include <bench/runner.hpp>

namespace holdfast::bench {

/// 16 words of a node of 512 bytes, two in each line, in each transaction: what is gained where homes are not written
/// back by every commit.
match make_hot_node_match(const setting& where, const options& asked, scratch& space);

}  // namespace holdfast::bench
