// Port (c): a walk over the tags of a cache, set by set, that reads and sets the spare state bits and can force lines
// to memory. It takes the tags from everyone else for a configured time for each set.
#pragma once

#include <sim/cache/hierarchy.hpp>

namespace holdfast::sim {

/// What a walk sees of a line. `spare` may be changed; it is reset whenever the line becomes clean or leaves.
struct walked_line {
    address line{};
    bool dirty = false;
    std::uint8_t& spare;
};

struct walked_set {
    time tags_done{};       ///< when the tags are free for the next set
    time accepted{};        ///< when memory has accepted the forced lines
    std::uint32_t forced = 0;
};

class tag_walker {
public:
    explicit tag_walker(hierarchy& caches) : caches_(caches) {}

    std::uint64_t data_sets() const noexcept { return caches_.cores_.front().data.sets(); }
    std::uint64_t l2_sets() const noexcept { return caches_.l2_.sets(); }

    /// Walks one set of a core's DL1, or of L2, from `at` on. `visit(walked_line&)` returns whether the line is to be
    /// forced to memory; that is done after all lines of the set were visited.
    template <class Visit>
    walked_set walk_data(std::uint32_t core, std::uint64_t set, time at, Visit&& visit) {
        caches_.counters_[core].data.sets_walked += 1;
        return walk(caches_.cores_[core].data, set, at, visit);
    }
    template <class Visit>
    walked_set walk_l2(std::uint64_t set, time at, Visit&& visit) {
        caches_.l2_counters_.sets_walked += 1;
        return walk(caches_.l2_, set, at, visit);
    }

private:
    template <class Visit>
    walked_set walk(cache_array& cache, std::uint64_t set, time at, Visit& visit) {
        const time done = at + cache.walk_set;
        cache.keep_tags(at, done);
        std::array<address, 16> forced;
        std::uint32_t count = 0;
        for (std::uint32_t way = 0; way < cache.ways(); ++way) {
            const cache_array::place place = cache.place_of(set, way);
            if (!cache.occupied(place)) continue;
            line_state& state = cache.state(place);
            walked_line line{cache.line_at(place), state.dirty, state.spare};
            if (visit(line)) forced[count++] = line.line;
        }
        walked_set result{done, done, count};
        for (std::uint32_t each = 0; each < count; ++each) {
            result.accepted = std::max(result.accepted, caches_.force_write_back(forced[each], done));
        }
        return result;
    }

    hierarchy& caches_;
};

}  // namespace holdfast::sim
