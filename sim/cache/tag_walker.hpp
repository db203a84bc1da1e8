// Port (c): a walk over the tags of a cache, set by set, that reads and sets the spare state bits and can force lines
// to memory. It takes the tags from everyone else for a configured time for each set. One line is on its way to memory
// at a time: the next one, of this set or a later one, waits until memory has accepted it.
#pragma once

#include <sim/cache/hierarchy.hpp>

namespace holdfast::sim {

/// What a walk sees of a line. `spare` may be changed; it is reset whenever the line becomes clean. A dirty line that
/// an L1 gives to L2 brings its own along.
struct walked_line {
    address line{};
    bool dirty = false;
    std::uint8_t& spare;
};

struct walked_set {
    time tags_done{};       ///< when the tags are free again
    time accepted{};        ///< when memory has accepted the forced lines; the next walk begins no earlier
    std::uint32_t forced = 0;
};

class tag_walker {
public:
    explicit tag_walker(hierarchy& caches) : caches_(caches) {}

    std::uint64_t data_sets() const noexcept { return caches_.cores_.front().data.sets(); }
    std::uint64_t l2_sets() const noexcept { return caches_.l2_.sets(); }

    /// Walks one set of a core's DL1, or of L2, from `at` on. `visit(walked_line&)` returns whether the line is to be
    /// forced to memory; that is done after all lines of the set were visited. Requires: outside of an access, such as
    /// where port::time_passing is told.
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
        at = std::max(at, accepted_);
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
        accepted_ = done;
        for (std::uint32_t each = 0; each < count; ++each) {
            accepted_ = caches_.force_write_back(forced[each], accepted_);
        }
        return {done, accepted_, count};
    }

    hierarchy& caches_;
    time accepted_{};  ///< the line that was forced last
};

}  // namespace holdfast::sim
