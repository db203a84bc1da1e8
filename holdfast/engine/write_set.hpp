// A redo transaction's stores, kept as the payload of the record that will commit them: sealing
// needs no conversion, and a load finds its word by one lookup.
#pragma once

#include <holdfast/base/assertion.hpp>
#include <holdfast/base/word_map.hpp>
#include <holdfast/base/words.hpp>
#include <holdfast/format/log_record.hpp>
#include <holdfast/log/early.hpp>
#include <holdfast/persist/seam.hpp>

#include <algorithm>
#include <cstdint>
#include <memory>

namespace holdfast {

/// Words by pool offset. One thread. No allocation once warm.
class write_set {
public:
    write_set() { grow_to(first_capacity_words); }

    bool empty() const noexcept { return end_ == format::record_header_words; }
    /// The record: header words first, then the payload; room up to the next line.
    std::uint64_t* record() noexcept { return buffer_.get(); }
    const std::uint64_t* payload() const noexcept { return buffer_.get() + format::record_header_words; }
    std::uint64_t payload_words() const noexcept { return end_ - format::record_header_words; }

    /// The word at `offset` as the transaction sees it; `below` reads what others left of it.
    template <class Below>
    std::uint64_t load(std::uint64_t offset, Below&& below) noexcept {
        const std::uint32_t* found = index_.find(offset >> 3);
        if (found == nullptr) [[likely]]
            return below();
        const std::uint64_t value = buffer_[*found & position_bits];
        if ((*found & masked_bit) == 0) return value;
        return merged(below(), value, mask_at(*found & position_bits));
    }

    /// Requires: offset 8-aligned.
    void store(std::uint64_t offset, std::uint64_t value, std::uint8_t mask) {
        HOLDFAST_ASSERT(offset % 8 == 0, "a store is of an aligned word");
        if (end_ + 2 > capacity_words_) [[unlikely]]
            grow_to(capacity_words_ * 2);
        if (mask != 0xFF) [[unlikely]]
            return store_masked(offset, value, mask);
        if (offset == run_end_) return extend_run(offset, value);
        const auto [found, inserted] = index_.find_or_insert(offset >> 3, static_cast<std::uint32_t>(end_ + 1));
        if (!inserted) [[unlikely]]
            return overwrite(*found, offset, value, mask);
        std::uint64_t* at = buffer_.get() + end_;
        at[0] = format::run_tag(offset, 1);
        at[1] = value;
        run_tag_ = end_;
        run_end_ = offset + 8;
        end_ += 2;
    }

    /// Stores every word to its home, oldest entry first.
    void apply(std::byte* pool, persist::site_id where) const noexcept(persist::noexcept_seam) {
        for_each_entry([=](const format::entry& each, const std::uint64_t* values) {
            auto* home = reinterpret_cast<std::uint64_t*>(pool + each.offset);
            persist::store_word(home, values[0], each.mask, where);
            for (std::uint64_t i = 1; i < each.words; ++i) persist::store_word(home + i, values[i], 0xFF, where);
        });
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

    void clear() noexcept {
        index_.clear();
        end_ = format::record_header_words;
        run_end_ = no_run;
        if (early_.sent() != 0) early_.clear();
    }

private:
    static constexpr std::size_t first_capacity_words = 4096;
    static constexpr std::uint64_t no_run = ~std::uint64_t{0};
    static constexpr std::uint32_t masked_bit = 1u << 31;
    static constexpr std::uint32_t position_bits = masked_bit - 1;

    /// Adds the word behind the last one to its run, or begins another when the run is full.
    void extend_run(std::uint64_t offset, std::uint64_t value) {
        const bool full = format::entry_of(buffer_[run_tag_]).words == format::longest_run_words;
        // Before anything changes: noting may fail for want of memory.
        if (!full) note_change(run_tag_);
        const std::uint64_t position = full ? end_ + 1 : end_;
        const auto [found, inserted] = index_.find_or_insert(offset >> 3, static_cast<std::uint32_t>(position));
        if (!inserted) return overwrite(*found, offset, value, 0xFF);
        if (full) {
            run_tag_ = end_;
            buffer_[run_tag_] = format::run_tag(offset, 1);
        } else {
            buffer_[run_tag_] += std::uint64_t{1} << format::tag_shift;
        }
        buffer_[position] = value;
        end_ = position + 1;
        run_end_ = offset + 8;
    }

    void store_masked(std::uint64_t offset, std::uint64_t value, std::uint8_t mask) {
        const auto [found, inserted] =
            index_.find_or_insert(offset >> 3, static_cast<std::uint32_t>(end_ + 1) | masked_bit);
        if (!inserted) return overwrite(*found, offset, value, mask);
        buffer_[end_] = format::masked_tag(offset, mask);
        buffer_[end_ + 1] = value;
        end_ += 2;
        run_end_ = no_run;
    }
    std::uint8_t mask_at(std::uint32_t position) const noexcept {
        return static_cast<std::uint8_t>(buffer_[position - 1] >> format::tag_shift);
    }

    void overwrite(std::uint32_t found, std::uint64_t offset, std::uint64_t value, std::uint8_t mask) {
        const std::uint32_t position = found & position_bits;
        // Before the change: one that the log does not hear of would make the record unreadable.
        note_change(position);
        if ((found & masked_bit) != 0) note_change(position - 1);
        buffer_[position] = merged(buffer_[position], value, mask);
        if ((found & masked_bit) == 0) return;
        buffer_[position - 1] = format::masked_tag(offset, static_cast<std::uint8_t>(mask_at(position) | mask));
    }

    void note_change(std::uint64_t position) {
        if (position < early_.sent() * 8) [[unlikely]]
            early_.note_change(position);
    }

    void grow_to(std::size_t words) {
        // One line more than the capacity: sealing pads the record to whole lines.
        auto larger = std::make_unique_for_overwrite<std::uint64_t[]>(words + 8);
        if (buffer_) std::copy_n(buffer_.get(), end_, larger.get());
        buffer_ = std::move(larger);
        capacity_words_ = words;
    }

    std::unique_ptr<std::uint64_t[]> buffer_;
    std::size_t capacity_words_ = 0;
    std::uint64_t end_ = format::record_header_words;
    std::uint64_t run_tag_ = 0;
    std::uint64_t run_end_ = no_run;
    word_map index_;
    early_lines early_;
};

}  // namespace holdfast
