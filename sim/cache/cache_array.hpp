// One cache as an array: tags, order of use, state and bytes of its lines. Knows nothing of the caches around it.
#pragma once

#include <sim/base/line.hpp>
#include <sim/cache/cache_config.hpp>

#include <bit>
#include <deque>
#include <vector>

namespace holdfast::sim {

/// What a cache knows of a line besides its bytes. The MESI states of an L1 are pairs of `writable` and `dirty`:
/// modified is both, exclusive writable, shared neither; a line that is invalid has no tag.
struct line_state {
    /// A line is found from the moment it is asked for; its bytes can be used from `ready_at` on. This is how misses of
    /// one line merge.
    time requested_at{};
    time ready_at{};
    bool writable = false;
    bool dirty = false;
    std::uint8_t spare = 0;  ///< for the tag walker; zero whenever the line is clean
    // L2's directory: which L1s have the line, and which one may have changed it.
    std::uint8_t data_sharers = 0;
    std::uint8_t fetch_sharers = 0;
    std::uint8_t owner = no_owner;

    static constexpr std::uint8_t no_owner = 0xff;
};

class cache_array {
public:
    /// Where a line is; valid until the line is replaced.
    using place = std::uint32_t;
    static constexpr place nowhere = ~place{0};

    explicit cache_array(const cache_config& config)
        : latency(config.latency),
          walk_set(config.walk_set),
          ways_(config.ways),
          way_bits_(static_cast<std::uint32_t>(std::bit_width(config.ways - 1))),
          set_mask_(config.sets() - 1),
          order_(config.sets(), 0xfedc'ba98'7654'3210),
          tags_(config.sets() << way_bits_, no_tag),
          states_(tags_.size()),
          bytes_(tags_.size()) {}

    place find(address line) const noexcept {
        const std::uint64_t tag = line.value / line_bytes;
        const place first = first_of(tag);
        const place recent = first + static_cast<place>(order_[first >> way_bits_] & 15);
        if (tags_[recent] == tag) return recent;
        for (place at = first; at < first + ways_; ++at) {
            if (tags_[at] == tag) return at;
        }
        return nowhere;
    }

    /// Makes it the most recently used line of its set.
    void touch(place at) noexcept {
        std::uint64_t& order = order_[at >> way_bits_];
        const std::uint64_t way = at & ((1u << way_bits_) - 1);
        if ((order & 15) == way) return;
        const std::uint32_t position = position_of(order, way);
        const std::uint64_t newer = order & ((std::uint64_t{1} << position) - 1);
        const std::uint64_t older = position == 60 ? 0 : order >> (position + 4) << (position + 4);
        order = older | newer << 4 | way;
    }

    /// The place of its set to be given to `line` next: an empty one or the least recently used.
    place victim(address line) const noexcept {
        const place first = first_of(line.value / line_bytes);
        return first + static_cast<place>(order_[first >> way_bits_] >> (4 * (ways_ - 1)) & 15);
    }

    bool occupied(place at) const noexcept { return tags_[at] != no_tag; }
    address line_at(place at) const noexcept { return {tags_[at] * line_bytes}; }

    /// A new line, most recently used, in the state of an empty one; its bytes are still to be filled in.
    void put(place at, address line) noexcept {
        tags_[at] = line.value / line_bytes;
        states_[at] = line_state{};
        touch(at);
    }

    /// Empties the place and makes it the next victim.
    void remove(place at) noexcept {
        tags_[at] = no_tag;
        std::uint64_t& order = order_[at >> way_bits_];
        const std::uint64_t way = at & ((1u << way_bits_) - 1);
        const std::uint32_t position = position_of(order, way);
        const std::uint32_t last = 4 * (ways_ - 1);
        const std::uint64_t newer = order & ((std::uint64_t{1} << position) - 1);
        const std::uint64_t unused = last == 60 ? 0 : order >> (last + 4) << (last + 4);
        const std::uint64_t older = (order & ~unused) >> position >> 4 << position;
        order = unused | way << last | older | newer;
    }

    line_state& state(place at) noexcept { return states_[at]; }
    const line_state& state(place at) const noexcept { return states_[at]; }
    line_data& bytes(place at) noexcept { return bytes_[at]; }
    const line_data& bytes(place at) const noexcept { return bytes_[at]; }

    /// Tells the host that this place will be used soon.
    void prefetch(place at) const noexcept {
        __builtin_prefetch(&states_[at]);
        __builtin_prefetch(&bytes_[at]);
    }

    std::uint64_t sets() const noexcept { return set_mask_ + 1; }
    std::uint32_t ways() const noexcept { return ways_; }
    place place_of(std::uint64_t set, std::uint32_t way) const noexcept {
        return static_cast<place>(set << way_bits_) + way;
    }
    /// Sets without an empty place: the cache is warm when that is all of them.
    std::uint64_t full_sets() const noexcept;

    /// The tag walker has the tags from `begin` to `end`. Every such span counts until it is settled: harts run ahead
    /// of each other, so an access may come into any of them.
    void keep_tags(time begin, time end);
    /// When an access that comes at `at` gets at the tags: behind the set that is being walked, before the next one.
    time tags_free(time at) const noexcept {
        if (kept_.empty()) [[likely]] return at;
        return tags_free_beside_walks(at);
    }
    /// Nothing comes before `now` any more.
    void settle(time now) noexcept {
        while (!kept_.empty() && kept_.front().end <= now) kept_.pop_front();
    }
    void set_times(const cache_config& from) noexcept {
        latency = from.latency;
        walk_set = from.walk_set;
    }

    time latency, walk_set;

private:
    static constexpr std::uint64_t no_tag = ~std::uint64_t{0};
    struct span {
        time begin{}, end{};
    };

    time tags_free_beside_walks(time at) const noexcept;
    place first_of(std::uint64_t tag) const noexcept { return static_cast<place>((tag & set_mask_) << way_bits_); }

    /// Where, in bits, the order has the way: finds the zero among the nibbles of order ^ way, way, way...
    static std::uint32_t position_of(std::uint64_t order, std::uint64_t way) noexcept {
        const std::uint64_t differing = order ^ (way * 0x1111'1111'1111'1111);
        const std::uint64_t zeros = (differing - 0x1111'1111'1111'1111) & ~differing & 0x8888'8888'8888'8888;
        return static_cast<std::uint32_t>(std::countr_zero(zeros)) - 3;
    }

    std::uint32_t ways_, way_bits_;
    std::uint64_t set_mask_;
    /// The ways of a set from most to least recently used, four bits each, lowest first: true LRU in one word.
    std::vector<std::uint64_t> order_;
    std::vector<std::uint64_t> tags_;
    std::vector<line_state> states_;
    std::vector<line_data> bytes_;
    std::deque<span> kept_;  ///< by the tag walker, in order of time
};

}  // namespace holdfast::sim
