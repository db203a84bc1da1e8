// Owns: the stores of a write set that are no first store of a single word.
#include <holdfast/engine/write_set.hpp>

#include <algorithm>
#include <cstring>
#include <utility>

namespace holdfast {
namespace {

constexpr std::size_t first_capacity_words = 4096;

}  // namespace

write_set::write_set() { grow_to(first_capacity_words); }

void write_set::make_room_and_store(std::uint64_t offset, std::uint64_t value, std::uint8_t mask) {
    if (std::uint64_t* const covered = find_in_spans(offset)) {
        const auto position = static_cast<std::uint64_t>(covered - buffer_.get());
        note_change(position);
        keep_if_replaced(position);
        *covered = merged(*covered, value, mask);
        return;
    }
    if (end_ + 2 > capacity_words_) grow_to(capacity_words_ * 2);
    if (index_.is_full()) index_.grow();
    set_limits();
    if (mask != 0xFF) return store_masked(offset, value, mask);
    if (offset == run_end_) return extend_run(offset, value);
    store_after_lookup(offset, value);
}

/// The word is there already, or shares its slot of the index with another.
void write_set::store_after_lookup(std::uint64_t offset, std::uint64_t value) {
    const std::size_t end = end_;
    const auto [found, inserted] = index_.find_or_insert(offset >> 3, static_cast<std::uint32_t>(end + 1));
    if (!inserted) return overwrite(*found, offset, value, 0xFF);
    begin_run(end, offset, value);
}

/// Adds the word behind the last one to its run, or begins another when the run is full.
void write_set::extend_run(std::uint64_t offset, std::uint64_t value) {
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

void write_set::store_masked(std::uint64_t offset, std::uint64_t value, std::uint8_t mask) {
    const auto [found, inserted] =
        index_.find_or_insert(offset >> 3, static_cast<std::uint32_t>(end_ + 1) | masked_bit);
    if (!inserted) return overwrite(*found, offset, value, mask);
    buffer_[end_] = format::masked_tag(offset, mask);
    buffer_[end_ + 1] = value;
    end_ += 2;
    run_end_ = no_run;
}

void write_set::overwrite(std::uint32_t found, std::uint64_t offset, std::uint64_t value, std::uint8_t mask) {
    const std::uint32_t position = found & position_bits;
    // Before the change: one that the log does not hear of would make the record unreadable.
    note_change(position);
    if ((found & masked_bit) != 0) {
        note_change(position - 1);
        keep_if_replaced(position - 1);
    }
    keep_if_replaced(position);
    buffer_[position] = merged(buffer_[position], value, mask);
    if ((found & masked_bit) == 0) return;
    buffer_[position - 1] = format::masked_tag(offset, static_cast<std::uint8_t>(mask_at(position) | mask));
}

void write_set::store_run(std::uint64_t offset, const void* bytes, std::uint64_t words) {
    HOLDFAST_ASSERT(offset % 8 == 0, "a run is of aligned words");
    const auto* from = static_cast<const unsigned char*>(bytes);
    if (store_into_spans(offset, from, words)) return;
    if (span_count_ < most_spans || continues_last_span(offset)) return add_to_spans(offset, from, words);
    for (std::uint64_t i = 0; i < words; ++i) {
        std::uint64_t value;
        std::memcpy(&value, from + i * 8, sizeof value);
        store(offset + i * 8, value, 0xFF);
    }
}

/// Overwrites the words where they stand. False: no span has all of them, with none of them in a newer one.
bool write_set::store_into_spans(std::uint64_t offset, const unsigned char* bytes, std::uint64_t words) {
    const std::uint64_t end = offset + words * 8;
    for (std::size_t i = span_count_; i-- > 0;) {
        const span& each = spans_[i];
        if (end <= each.offset || offset >= each.offset + each.bytes) continue;
        if (offset < each.offset || end > each.offset + each.bytes) return false;
        const std::uint64_t position = each.position + (offset - each.offset) / 8;
        for (std::uint64_t word = position; word < position + words; ++word) {
            note_change(word);
            keep_if_replaced(word);
        }
        std::memcpy(buffer_.get() + position, bytes, words * 8);
        return true;
    }
    return false;
}

/// Whether words at `offset` would stand behind the last span in the record, too.
bool write_set::continues_last_span(std::uint64_t offset) const noexcept {
    if (span_count_ == 0) return false;
    const span& last = spans_[span_count_ - 1];
    return offset == run_end_ && last.offset + last.bytes == offset && last.position + last.bytes / 8 == end_ &&
           format::entry_of(buffer_[run_tag_]).words < format::longest_run_words;
}

/// Appends the words as entries of the longest runs, and each of those as a span. Requires: a span is free, or the last
/// one continues.
void write_set::add_to_spans(std::uint64_t offset, const unsigned char* bytes, std::uint64_t words) {
    const std::uint64_t tags = words / format::longest_run_words + 2;
    // Memory first: a failure changes nothing.
    if (end_ + tags + words > capacity_words_) grow_to(std::max(capacity_words_ * 2, end_ + tags + words));
    if (offset == run_end_) note_change(run_tag_);
    while (words > 0) {
        const bool continues = continues_last_span(offset);
        if (!continues && span_count_ == most_spans) return store_run(offset, bytes, words);
        std::uint64_t in_entry = offset == run_end_ ? format::entry_of(buffer_[run_tag_]).words : 0;
        if (in_entry == 0 || in_entry == format::longest_run_words) {
            in_entry = 0;
            run_tag_ = end_++;
            buffer_[run_tag_] = format::run_tag(offset, 0);
        }
        const std::uint64_t count = std::min(words, format::longest_run_words - in_entry);
        if (!continues) spans_[span_count_++] = {offset, 0, end_};
        direct_limit_words_ = 0;
        spans_[span_count_ - 1].bytes += count * 8;
        std::memcpy(buffer_.get() + end_, bytes, count * 8);
        buffer_[run_tag_] += count << format::tag_shift;
        end_ += count;
        offset += count * 8;
        bytes += count * 8;
        words -= count;
        run_end_ = offset;
    }
}

std::uint64_t* write_set::find_in_spans(std::uint64_t offset) noexcept {
    for (std::size_t i = span_count_; i-- > 0;) {
        const std::uint64_t into = offset - spans_[i].offset;
        if (into < spans_[i].bytes) return buffer_.get() + spans_[i].position + into / 8;
    }
    return nullptr;
}

void write_set::grow_to(std::size_t words) {
    // One line more than the capacity: sealing pads the record to whole lines.
    auto larger = std::make_unique_for_overwrite<std::uint64_t[]>(words + 8);
    if (buffer_) std::copy_n(buffer_.get(), end_, larger.get());
    buffer_ = std::move(larger);
    capacity_words_ = words;
    set_limits();
}

/// Each entry of the index is a word of the record at least.
void write_set::set_limits() noexcept {
    cleared_limit_words_ = std::min(capacity_words_, format::record_header_words + index_.limit());
    direct_limit_words_ = span_count_ == 0 ? std::min(capacity_words_, end_ + index_.room()) : 0;
}

}  // namespace holdfast
