// Which segments of a log hold what, in DRAM: the accounting that lanes and groups share.
#pragma once

#include <holdfast/base/result.hpp>
#include <holdfast/log/geometry.hpp>

#include <atomic>
#include <cstdint>
#include <memory>
#include <vector>

namespace holdfast {

inline constexpr std::uint32_t no_segment = 0xFFFFFFFFu;

/// What recovery found in a segment whose records are still needed.
struct used_segment {
    std::uint32_t index = 0;
    std::uint64_t used_bytes = 0;  ///< up to the end of its last whole record
    std::uint64_t first_sequence = 0;
    std::uint32_t first_part = 0;  ///< of a record in parts: each begins a segment, all under one sequence
    std::uint64_t last_sequence = 0;
};

/// The segments of one log. `take` and `give_back` need the owner's lock; a segment's fields are
/// written by whoever fills it and read by truncation.
class segment_table {
public:
    struct segment {
        std::atomic<std::uint64_t> used_bytes{0};      ///< published after each append; 0: free
        std::atomic<std::uint64_t> last_sequence{0};   ///< of the newest record in it
        std::atomic<std::uint64_t> last_begin{0};      ///< where that one begins
        std::atomic<bool> full{false};                 ///< no lane will append again
        std::uint64_t home_bytes = 0;  ///< the homes of the records before this are durable; the pacer's
    };

    /// `seed` begins the generator of salts; take it from the kernel's randomness.
    segment_table(log_geometry geometry, std::uint64_t seed);

    const log_geometry& geometry() const noexcept { return geometry_; }
    std::uint32_t count() const noexcept { return geometry_.segment_count(); }
    std::uint32_t free_count() const noexcept { return static_cast<std::uint32_t>(free_.size()); }
    segment& operator[](std::uint32_t index) noexcept { return segments_[index]; }

    /// All segments are free, and elsewhere. Requires: a log of the same size, which is empty.
    void move_to(const log_geometry& geometry) noexcept;
    /// Marks a free segment as full of what recovery found in it.
    void adopt(const used_segment& found) noexcept;
    /// A free segment, or no_segment.
    std::uint32_t take() noexcept;
    /// Returns an empty or truncated segment.
    void give_back(std::uint32_t index) noexcept;
    /// Frees every full segment whose records all have a sequence <= `truncated`.
    void free_truncated(std::uint64_t truncated) noexcept;
    /// Segments that truncation must free before they can be taken.
    std::uint32_t full_count() const noexcept;

    /// A new salt, never 0. Thread-safe.
    std::uint64_t draw_salt() noexcept;

private:
    log_geometry geometry_;
    std::unique_ptr<segment[]> segments_;
    std::vector<std::uint32_t> free_;
    std::atomic<std::uint64_t> salt_state_;
};

/// 8 bytes of the kernel's randomness.
std::uint64_t random_seed() noexcept;

}  // namespace holdfast
