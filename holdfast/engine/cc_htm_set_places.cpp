#include <holdfast/engine/cc_htm_set_places.hpp>

#include <holdfast/log/retirement.hpp>

#include <algorithm>

namespace holdfast {

cc_htm_set_places::taken cc_htm_set_places::take(alias_sets& sets, const stm::write_log& writes,
                                                 const retirement& queue) {
    sets_ = &sets;
    places_.reserve(writes.size());
    for (const stm::write_log::entry& each : writes) {
        const std::uint64_t word = sets.word_of(each.home());
        const std::uint64_t retired = queue.retired();
        const alias_sets::place found = sets.take(word, retired);
        if (found) {
            places_.push_back(found);
            continue;
        }
        give_back();
        // Not an older one: its place may be the commit's own, for another word.
        wanted_ = sets.next_to_retire_beside(word, retired);
        const auto of_this_set = std::count_if(writes.begin(), writes.end(), [&](const stm::write_log::entry& other) {
            return sets.set_of(sets.word_of(other.home())) == sets.set_of(word);
        });
        return static_cast<std::uint64_t>(of_this_set) > sets.ways() ? taken::none_ever : taken::none_now;
    }
    return taken::all;
}

void cc_htm_set_places::give_back() noexcept {
    for (const alias_sets::place& each : places_) sets_->give_back(each);
    places_.clear();
}

}  // namespace holdfast
