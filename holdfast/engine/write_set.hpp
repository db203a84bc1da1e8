// A redo transaction's stores, kept as the payload of the record that will commit them: sealing
// needs no conversion, and a load finds its word by one lookup.
//
// Each word is found through an index, but for long runs that are stored at once: those are spans. A word that a span
// covers stands in the newest such span, whatever the index says, and is overwritten there.
#pragma once

#include <holdfast/base/assertion.hpp>
#include <holdfast/base/word_map.hpp>
#include <holdfast/base/words.hpp>
#include <holdfast/format/log_record.hpp>
#include <holdfast/log/early.hpp>
#include <holdfast/persist/seam.hpp>

#include <array>
#include <cstdint>
#include <memory>
#include <vector>

namespace holdfast {

/// Words by pool offset. One thread. No allocation once warm.
class write_set {
public:
    write_set();

    bool empty() const noexcept { return end_ == format::record_header_words; }
    /// The record: header words first, then the payload; room up to the next line.
    std::uint64_t* record() noexcept { return buffer_.get(); }
    const std::uint64_t* payload() const noexcept { return buffer_.get() + format::record_header_words; }
    std::uint64_t payload_words() const noexcept { return end_ - format::record_header_words; }

    /// The word at `offset` as the transaction sees it; `below` reads what others left of it.
    template <class Below>
    std::uint64_t load(std::uint64_t offset, Below&& below) noexcept {
        if (span_count_ != 0) [[unlikely]] {
            if (const std::uint64_t* const covered = find_in_spans(offset)) return *covered;
        }
        const std::uint32_t* found = index_.find(offset >> 3);
        if (found == nullptr) [[likely]]
            return below();
        const std::uint64_t value = buffer_[*found & position_bits];
        if ((*found & masked_bit) == 0) return value;
        return merged(below(), value, mask_at(*found & position_bits));
    }

    /// Whether a long run was stored at once: `find` does not see its words.
    bool has_spans() const noexcept { return span_count_ != 0; }
    /// The word of an entry; nullptr: none. Masked: some of its bytes are those of the home. Requires: no spans.
    struct found_word {
        const std::uint64_t* word;
        bool is_masked;
    };
    found_word find(std::uint64_t offset) noexcept {
        const std::uint32_t* const position = index_.find(offset >> 3);
        if (position == nullptr) return {nullptr, false};
        return {buffer_.get() + (*position & position_bits), (*position & masked_bit) != 0};
    }

    /// Requires: offset 8-aligned. What is rare is in write_set.cpp, and nothing follows its calls: so a store saves no
    /// registers.
    void store(std::uint64_t offset, std::uint64_t value, std::uint8_t mask) {
        HOLDFAST_ASSERT(offset % 8 == 0, "a store is of an aligned word");
        const std::size_t end = end_;
        if (end + 2 > direct_limit_words_) [[unlikely]]
            return make_room_and_store(offset, value, mask);
        if (mask != 0xFF) [[unlikely]]
            return store_masked(offset, value, mask);
        if (offset == run_end_) return extend_run(offset, value);
        if (!index_.add_at_once(offset >> 3, static_cast<std::uint32_t>(end + 1))) [[unlikely]]
            return store_after_lookup(offset, value);
        begin_run(end, offset, value);
    }

    /// The same for `words` whole words at `bytes`, by one copy. Requires: offset 8-aligned; words > 0.
    void store_run(std::uint64_t offset, const void* bytes, std::uint64_t words);

    /// Stores every word to its home, oldest entry first.
    void apply(std::byte* pool, persist::site_id where) const noexcept(persist::noexcept_seam) {
        const std::uint64_t* at = payload();
        const std::uint64_t* const end = buffer_.get() + end_;
        while (at != end) {
            // Of a run of one word, the usual entry, this leaves the offset.
            const std::uint64_t single = at[0] ^ format::run_tag(0, 1);
            if (single <= format::offset_mask) [[likely]] {
                persist::store_word(reinterpret_cast<std::uint64_t*>(pool + single), at[1], 0xFF, where);
                at += 2;
                continue;
            }
            const format::entry each = format::entry_of(at[0]);
            auto* const home = reinterpret_cast<std::uint64_t*>(pool + each.offset);
            persist::store_word(home, at[1], each.mask, where);
            for (std::uint64_t i = 1; i < each.words; ++i) persist::store_word(home + i, at[1 + i], 0xFF, where);
            at += 1 + each.words;
        }
    }

    /// Whether every home is among the first `bytes` bytes of the pool. For assertions.
    bool is_within(std::uint64_t bytes) const noexcept {
        bool is = true;
        for_each_entry([&](const format::entry& each, const std::uint64_t*) {
            is &= each.offset < bytes && each.words <= (bytes - each.offset) / sizeof(std::uint64_t);
        });
        return is;
    }

    /// Calls f(entry, its words), oldest first.
    template <class F>
    void for_each_entry(F&& f) const {
        const std::uint64_t* at = buffer_.get() + format::record_header_words;
        const std::uint64_t* const end = buffer_.get() + end_;
        while (at != end) {
            const format::entry each = format::entry_of(at[0]);
            f(each, at + 1);
            at += 1 + each.words;
        }
    }

    /// Those lines of the record that are in the log already; what changes in them is noted.
    early_lines& early() noexcept { return early_; }
    std::uint64_t record_words() const noexcept { return end_; }

    /// What is stored from here on is a part that can be taken back alone, until the next one begins.
    void begin_part() noexcept {
        part_begin_ = end_;
        // A run that began before is not made longer.
        run_end_ = no_run;
        replaced_.clear();
    }
    /// Takes back what was stored since the part began.
    void roll_back_part() noexcept;

    void clear() noexcept {
        index_.clear();
        end_ = format::record_header_words;
        part_begin_ = 0;
        run_end_ = no_run;
        span_count_ = 0;
        direct_limit_words_ = cleared_limit_words_;
        if (early_.sent() != 0) early_.clear();
    }

private:
    static constexpr std::uint64_t no_run = ~std::uint64_t{0};
    static constexpr std::uint32_t masked_bit = 1u << 31;
    static constexpr std::uint32_t position_bits = masked_bit - 1;

    /// Words that stand in the record one behind the other, and are not in the index.
    struct span {
        std::uint64_t offset;
        std::uint64_t bytes;
        std::uint64_t position;  ///< in the record, of the first
    };
    static constexpr std::size_t most_spans = 16;

    /// The value of a word in the newest span that covers it; nullptr: none does.
    std::uint64_t* find_in_spans(std::uint64_t offset) noexcept;
    bool store_into_spans(std::uint64_t offset, const unsigned char* bytes, std::uint64_t words);
    void add_to_spans(std::uint64_t offset, const unsigned char* bytes, std::uint64_t words);
    bool continues_last_span(std::uint64_t offset) const noexcept;
    bool stands_in_span(std::uint64_t position) const noexcept {
        for (std::size_t i = 0; i < span_count_; ++i)
            if (position - spans_[i].position < spans_[i].bytes / 8) return true;
        return false;
    }

    void make_room_and_store(std::uint64_t offset, std::uint64_t value, std::uint8_t mask);
    void store_after_lookup(std::uint64_t offset, std::uint64_t value);
    void extend_run(std::uint64_t offset, std::uint64_t value);
    void store_masked(std::uint64_t offset, std::uint64_t value, std::uint8_t mask);
    void overwrite(std::uint32_t found, std::uint64_t offset, std::uint64_t value, std::uint8_t mask);
    void grow_to(std::size_t words);
    void set_limits() noexcept;

    void begin_run(std::size_t at, std::uint64_t offset, std::uint64_t value) noexcept {
        run_tag_ = at;
        run_end_ = offset + 8;
        end_ = at + 2;
        std::uint64_t* const run = buffer_.get() + at;
        run[0] = format::run_tag(offset, 1);
        run[1] = value;
    }
    std::uint8_t mask_at(std::uint32_t position) const noexcept {
        return static_cast<std::uint8_t>(buffer_[position - 1] >> format::tag_shift);
    }

    void note_change(std::uint64_t position) {
        if (position < early_.sent() * 8) [[unlikely]]
            early_.note_change(position);
    }

    struct replaced_word {
        std::uint64_t position;
        std::uint64_t value;
    };
    /// Before a word of the record changes: one of an earlier part is kept.
    void keep_if_replaced(std::uint64_t position) {
        if (position < part_begin_) [[unlikely]]
            replaced_.push_back({position, buffer_[position]});
    }

    std::unique_ptr<std::uint64_t[]> buffer_;
    std::size_t capacity_words_ = 0;
    /// A record that is shorter has room for a store, and so has the index. 0: a store looks into the spans first.
    std::size_t direct_limit_words_ = 0;
    std::size_t cleared_limit_words_ = 0;  ///< the same of an empty record
    std::uint64_t end_ = format::record_header_words;
    std::uint64_t run_tag_ = 0;
    std::uint64_t run_end_ = no_run;
    std::uint64_t part_begin_ = 0;         ///< 0: stores belong to no part
    std::vector<replaced_word> replaced_;  ///< what the part stored over, oldest first
    word_map index_;
    early_lines early_;
    std::size_t span_count_ = 0;
    std::array<span, most_spans> spans_;
};

}  // namespace holdfast
