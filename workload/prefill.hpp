// Filling a map before it is measured or damaged.
#pragma once

#include <workload/access.hpp>
#include <workload/random.hpp>

namespace holdfast::workload {

/// Inserts the keys scattered_key(first … first + count - 1) into `map`, each with itself as value, in transactions of
/// `batch`. Requires: outside a transaction; `map` uses `memory`. False when a transaction failed.
template <access Access, class Map>
bool prefill_map(const Access& memory, const Map& map, std::uint64_t first, std::uint64_t count, std::uint64_t batch) {
    for (std::uint64_t done = 0; done < count; done += batch) {
        const std::uint64_t last = count - done < batch ? count : done + batch;
        const bool good = memory.atomically([&] {
            for (std::uint64_t i = done; i < last; ++i) map.insert(scattered_key(first + i), scattered_key(first + i));
        });
        if (!good) return false;
    }
    return true;
}

}  // namespace holdfast::workload
