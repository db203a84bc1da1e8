// Functions that blocks call without barriers.
#pragma once

/// Of a function that touches private data alone which no block stores to, but through such functions: in a block, too,
/// g++ compiles it without barriers, which it would give each load and store otherwise. What depends on the block is
/// passed by value.
#if defined(__cpp_transactional_memory)
#define HOLDFAST_WORKLOAD_PURE [[gnu::transaction_pure, gnu::noinline]]
#else
#define HOLDFAST_WORKLOAD_PURE
#endif
