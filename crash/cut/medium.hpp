// What a medium may hold after a cut at some point of a trace, by a model.
#pragma once

#include <crash/cut/model.hpp>
#include <crash/cut/trace.hpp>

#include <array>
#include <cstdint>
#include <map>
#include <vector>

namespace holdfast::crash {

/// Words of one granule that arrive together: one of `versions` is there, whichever. All units of
/// an image are independent of each other.
struct unit {
    std::uint64_t granule = 0;
    std::uint64_t mask = 0xFF;  ///< which words of the granule
    std::vector<std::uint64_t> versions;  ///< oldest first, each of the mask's words in order; no two equal

    unsigned words() const noexcept { return static_cast<unsigned>(__builtin_popcountll(mask)); }
    std::size_t count() const noexcept { return versions.size() / words(); }
};

/// Follows a trace; says at any point what a cut there may leave.
class medium {
public:
    medium(const model& how, const trace& recorded);
    medium(const model& how, const std::vector<std::uint64_t>& durable);

    void apply(const event& next);
    const model& how() const noexcept { return how_; }
    /// The words that are certain; those of a unit hold its oldest version.
    const std::vector<std::uint64_t>& durable() const noexcept { return durable_; }
    /// What the running program sees, and a kill leaves.
    const std::vector<std::uint64_t>& visible() const noexcept { return visible_; }
    /// Whether a store of this value there would change nothing that a cut may leave, if stores are durable.
    bool holds(std::uint64_t word, std::uint64_t value) const {
        return visible_[word] == value && durable_[word] == value && !streams_.contains(word);
    }
    /// The process was killed and the machine ran on: what it streamed arrives, what it wrote is written.
    void kill();
    /// All threads stand still, and what they wrote to the file is in the caches like what they stored: a write-back
    /// takes it along.
    void stop();
    /// The words that are not.
    std::vector<unit> uncertain() const;
    /// Differs, in all likelihood, for different durable words.
    std::uint64_t durable_hash() const noexcept { return hash_; }
    /// The sizes that the file may have, oldest first.
    const std::vector<std::uint64_t>& sizes() const noexcept { return sizes_; }
    /// Whether the file may have no name, and whether it may have one.
    bool may_lack_name() const noexcept { return !name_durable_; }
    bool may_have_name() const noexcept { return named_; }
    /// False when a granule had more contents than were listed.
    bool complete() const noexcept { return complete_; }

private:
    struct cached_store {
        std::uint64_t word;
        std::uint64_t value;
        std::uint8_t thread;
        std::uint32_t epoch;  ///< fences that its thread had passed
        std::uint32_t life;   ///< processes that had been killed: a kernel's barriers lie between
        std::uint64_t order;  ///< among all stores and streams
    };
    /// A granule's stores since the last write-back that a fence completed.
    struct cached_granule {
        std::vector<cached_store> stores;
        /// Of these, how many a write-back of the thread covers that waits for its fence.
        std::array<std::size_t, threads_at_most> written_back{};
    };
    /// Contents of a granule of the file that no sync has covered, oldest first.
    using written_granule = std::vector<std::vector<std::uint64_t>>;

    void make_durable(std::uint64_t word, std::uint64_t value);
    void make_durable(std::uint64_t granule, const std::vector<std::uint64_t>& words);
    void make_store_durable(std::uint64_t word, std::uint64_t value, std::uint64_t order);
    void complete_fence(std::uint8_t thread);
    void write_word(std::uint64_t word, std::uint64_t value);
    void end_write();
    void sync_range(std::uint64_t first_word, std::uint64_t words);
    void sync_file();
    std::vector<std::uint64_t> words_of(std::uint64_t granule) const;
    void add_prefixes(std::vector<unit>& units, std::uint64_t granule, const cached_granule& cached) const;
    void add_products(unit& made, const cached_granule& cached) const;
    void add_subsets(std::vector<unit>& units, std::uint64_t granule, const cached_granule& cached) const;
    void add_words(std::vector<unit>& units, std::uint64_t granule) const;
    bool has_streams(std::uint64_t granule) const;
    std::uint64_t all_words() const noexcept {
        return how_.granule_words == 64 ? ~std::uint64_t{0} : (std::uint64_t{1} << how_.granule_words) - 1;
    }

    model how_;
    std::vector<std::uint64_t> durable_;
    std::vector<std::uint64_t> visible_;
    std::uint64_t hash_ = 0;
    std::map<std::uint64_t, cached_granule> cached_;
    struct streamed_word {
        std::uint64_t value;
        std::uint8_t thread;
        std::uint64_t order;
        bool is_overtaken = false;  ///< a store after it is durable
    };
    std::map<std::uint64_t, std::vector<streamed_word>> streams_;  ///< by word: what waits for a fence of its thread
    std::array<std::uint32_t, threads_at_most> epochs_{};
    std::uint32_t life_ = 0;
    std::uint64_t order_ = 0;
    std::map<std::uint64_t, written_granule> written_;
    std::map<std::uint64_t, std::vector<std::uint64_t>> under_way_;  ///< granules of a write that is not done
    std::vector<std::uint64_t> sizes_;
    bool named_ = true;
    bool name_durable_ = true;
    mutable bool complete_ = true;
};

/// A hash of a word at a place, to be added up over places.
constexpr std::uint64_t hash_of_word(std::uint64_t place, std::uint64_t value) noexcept {
    std::uint64_t z = value * 0x9E3779B97F4A7C15ull + place * 0xD1B54A32D192ED03ull;
    z = (z ^ (z >> 32)) * 0xBF58476D1CE4E5B9ull;
    z = (z ^ (z >> 29)) * 0x94D049BB133111EBull;
    return z ^ (z >> 32);
}

}  // namespace holdfast::crash
