#include <holdfast/log/segments.hpp>

#include <holdfast/base/assertion.hpp>
#include <holdfast/log/planted.hpp>

#include <sys/random.h>

#include <chrono>

namespace holdfast {

segment_table::segment_table(log_geometry geometry, std::uint64_t seed)
    : geometry_(geometry), segments_(std::make_unique<segment[]>(geometry.segment_count())), salt_state_(seed) {
    // Taken from the back: the first lap fills the log in ascending order.
    for (std::uint32_t index = count(); index > 0; --index) free_.push_back(index - 1);
}

void segment_table::move_to(const log_geometry& geometry) noexcept {
    geometry_ = geometry;
    free_.clear();
    // Room for all of them was there from the beginning.
    for (std::uint32_t index = count(); index-- > 0;) give_back(index);
}

void segment_table::adopt(const used_segment& found) noexcept {
    std::erase(free_, found.index);
    segments_[found.index].used_bytes.store(found.used_bytes, std::memory_order_relaxed);
    segments_[found.index].last_sequence.store(found.last_sequence, std::memory_order_relaxed);
    segments_[found.index].full.store(true, std::memory_order_relaxed);
}

std::uint32_t segment_table::take() noexcept {
    if (free_.empty()) return no_segment;
    const std::uint32_t index = free_.back();
    free_.pop_back();
    HOLDFAST_ASSERT_ALWAYS(segments_[index].used_bytes.load(std::memory_order_relaxed) == 0, "a free segment holds no "
                           "record");
    return index;
}

void segment_table::give_back(std::uint32_t index) noexcept {
    HOLDFAST_ASSERT_ALWAYS(free_.size() < count(), "a segment is given back once");
    segments_[index].used_bytes.store(0, std::memory_order_relaxed);
    segments_[index].full.store(false, std::memory_order_relaxed);
    segments_[index].home_bytes = 0;
    free_.push_back(index);
}

void segment_table::free_truncated(std::uint64_t truncated) noexcept {
    for (std::uint32_t index = count(); index > 0; --index) {
        segment& candidate = segments_[index - 1];
        if (candidate.full.load(std::memory_order_acquire) &&
            candidate.last_sequence.load(std::memory_order_relaxed) <= truncated)
            give_back(index - 1);
    }
}

std::uint32_t segment_table::full_count() const noexcept {
    std::uint32_t full = 0;
    for (std::uint32_t index = 0; index < count(); ++index)
        if (segments_[index].full.load(std::memory_order_acquire)) ++full;
    return full;
}

std::uint64_t segment_table::draw_salt() noexcept {
    if (is_planted(planted::salt_not_renewed)) return 1;
    // SplitMix64 (Steele, Lea, Flood, OOPSLA 2014): distinct values for 2^64 draws.
    std::uint64_t z = salt_state_.fetch_add(0x9E3779B97F4A7C15ull, std::memory_order_relaxed) + 0x9E3779B97F4A7C15ull;
    z = (z ^ (z >> 30)) * 0xBF58476D1CE4E5B9ull;
    z = (z ^ (z >> 27)) * 0x94D049BB133111EBull;
    z ^= z >> 31;
    return z == 0 ? 1 : z;
}

std::uint64_t random_seed() noexcept {
    std::uint64_t seed = 0;
    if (is_planted(planted::salt_of_last_life)) return 1;
    if (getrandom(&seed, sizeof seed, 0) == sizeof seed) return seed;
    return static_cast<std::uint64_t>(std::chrono::steady_clock::now().time_since_epoch().count());
}

}  // namespace holdfast
