// Functions that blocks call without barriers.
#pragma once

/// Of a function that touches private data alone: in a block, too, g++ compiles it without barriers, which it would
/// give each load and store otherwise. It sees memory and not what the block has stored: so no block stores to these
/// data with barriers. What it stores stays when the block begins again. What depends on the block is passed by value,
/// as words.
#if defined(__cpp_transactional_memory)
#define HOLDFAST_WORKLOAD_PURE [[gnu::transaction_pure, gnu::noinline]]
#else
#define HOLDFAST_WORKLOAD_PURE
#endif
