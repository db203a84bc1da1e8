#include <sim/cache/cache_array.hpp>

#include <algorithm>

namespace holdfast::sim {

void cache_array::keep_tags(time begin, time end) {
    if (begin == end) return;
    auto behind = kept_.end();
    while (behind != kept_.begin() && (behind - 1)->begin > begin) --behind;
    kept_.insert(behind, {begin, end});
}

time cache_array::tags_free_beside_walks(time at) const noexcept {
    const auto later = [](time what, const span& each) { return what < each.begin; };
    const auto behind = std::upper_bound(kept_.begin(), kept_.end(), at, later);
    return behind == kept_.begin() ? at : std::max(at, (behind - 1)->end);
}

std::uint64_t cache_array::full_sets() const noexcept {
    std::uint64_t full = 0;
    for (std::uint64_t set = 0; set < sets(); ++set) {
        std::uint32_t lines = 0;
        for (std::uint32_t way = 0; way < ways_; ++way) {
            if (occupied(place_of(set, way))) ++lines;
        }
        if (lines == ways_) ++full;
    }
    return full;
}

}  // namespace holdfast::sim
