// The pools open in this process, by address.
#pragma once

#include <atomic>
#include <cstdint>

namespace holdfast {

class open_pool;

/// Counts openings, closings and forks: while it is unchanged, so are the open pools.
inline constinit std::atomic<std::uint64_t> pool_changes{1};

void register_pool(open_pool& pool);
void unregister_pool(open_pool& pool) noexcept;

/// Whether the pool at that address is open in this process, and still the opening that had that instance number.
/// Thread-safe; the address may be that of a pool that was destroyed.
bool is_open_pool(const open_pool* pool, std::uint64_t instance) noexcept;

}  // namespace holdfast
