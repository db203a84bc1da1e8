// Mending a heap's metadata from what is left of it and from those who own its blocks.
#include <holdfast/heap/zone.hpp>
#include <holdfast/persist/seam.hpp>
#include <holdfast/persist/sites.hpp>

#include <algorithm>
#include <bit>
#include <optional>

namespace holdfast {

using namespace heap_format;

namespace {

std::string at_offset(std::uint64_t offset) { return " at offset " + std::to_string(offset); }

/// One zone.
class zone_repair {
public:
    /// `owned`: offsets of all owned blocks, ascending; nullptr: nobody knows them.
    zone_repair(std::byte* pool, const heap_zone& zone, const std::vector<std::uint64_t>* owned, heap_repair& done)
        : pool_(pool), shape_(header_for(zone.offset, zone.bytes)), owned_(owned), done_(done) {}

    void run() {
        for (std::uint64_t index = 0; index < shape_.page_count; ++index) mend_descriptor(index);
        if (owned_ != nullptr) derive_slabs();
        const std::size_t freed = done_.freed.size();
        for (std::uint64_t index = 0; index < shape_.page_count;) index += mend_blocks(index);
        if (believed_ && done_.freed.size() != freed)
            done_.lost.emplace_back(
                "certainty about a pointer: an owner named what was free, and other blocks had none");
    }

private:
    std::uint64_t offset_of(std::uint64_t index) const noexcept { return shape_.data_offset + index * page_bytes; }
    std::uint64_t word_offset(std::uint64_t index) const noexcept { return shape_.table_offset + index * 8; }
    std::uint64_t word_at(std::uint64_t index) const noexcept {
        std::uint64_t word;
        std::memcpy(&word, pool_ + word_offset(index), sizeof word);
        return word;
    }
    decoded read(std::uint64_t index) const noexcept {
        return decode(word_at(index), index, offset_of(index) / page_bytes, shape_.page_count);
    }
    void put_word(std::uint64_t index, std::uint64_t word) {
        persist::copy(pool_ + word_offset(index), &word, sizeof word, persist::site::pool_format);
    }
    std::uint8_t state(std::uint64_t offset) const noexcept { return std::to_integer<std::uint8_t>(pool_[offset]); }
    void put_state(std::uint64_t offset, std::uint8_t value) {
        persist::copy(pool_ + offset, &value, 1, persist::site::pool_format);
    }
    bool owns(std::uint64_t offset) const {
        return std::binary_search(owned_->begin(), owned_->end(), offset);
    }

    /// All descriptors that page `index` could have.
    std::vector<std::uint64_t> possible(std::uint64_t index) const {
        std::vector<std::uint64_t> words{0};
        for (std::uint8_t i = 0; i < class_count; ++i)
            words.push_back(encode({kind_slab, i, slab_classes[i].pages}, index));
        for (std::uint64_t pages = 1; pages <= shape_.page_count - index; ++pages)
            words.push_back(encode({kind_large, 0, static_cast<std::uint32_t>(pages)}, index));
        return words;
    }

    void mend_descriptor(std::uint64_t index) {
        if (read(index).valid) return;
        const std::uint64_t word = word_at(index);
        std::optional<std::uint64_t> only;
        unsigned found = 0;
        for (const std::uint64_t each : possible(index)) {
            const std::uint64_t difference = word ^ each;
            const int first = std::countr_zero(difference) / 8;
            if (difference >> first * 8 >> 8 != 0 || !decode(each, index, offset_of(index) / page_bytes,
                                                             shape_.page_count).valid)
                continue;
            only = each;
            ++found;
        }
        const std::string where = "descriptor of page " + std::to_string(index) + at_offset(word_offset(index));
        if (found == 1) {
            put_word(index, *only);
            done_.restored.push_back(where + ", of which one byte was damaged");
            return;
        }
        // With its owners known, what it stood for is found again below, or named.
        if (owned_ == nullptr) return done_.lost.push_back(where + ", too damaged to tell what it was");
        put_word(index, 0);
        done_.restored.push_back(where + ", cleared: it was no descriptor");
    }

    /// Finds the slabs whose descriptor is gone, by the blocks in them that have owners.
    void derive_slabs() {
        for (const std::uint64_t offset : *owned_) {
            if (offset < shape_.data_offset || offset >= offset_of(shape_.page_count) || is_covered(offset)) continue;
            unsigned found = 0;
            std::uint64_t head = 0;
            std::uint8_t found_class = 0;
            for (std::uint8_t i = 0; i < class_count; ++i)
                if (const auto begin = could_be_slab(offset, slab_classes[i])) head = *begin, found_class = i, ++found;
            if (found != 1) {
                done_.lost.push_back("the descriptor for the block" + at_offset(offset) + ", which has an owner");
                continue;
            }
            put_word(head, encode({kind_slab, found_class, slab_classes[found_class].pages}, head));
            believed_ = true;
            done_.restored.push_back("descriptor of page " + std::to_string(head) + at_offset(word_offset(head)) +
                                     ", from the blocks of its slab and their owners");
        }
    }

    /// Whether some head's pages hold the offset.
    bool is_covered(std::uint64_t offset) const noexcept {
        const std::uint64_t index = (offset - shape_.data_offset) / page_bytes;
        for (std::uint64_t head = index + 1; head-- > 0;) {
            const descriptor what = read(head).what;
            if (what.kind != kind_none) return index - head < what.pages;
            if (index - head >= slab_pages_max && owned_ == nullptr) break;
        }
        return false;
    }

    /// The page, counted in the zone, of a slab of this shape that could hold the block.
    std::optional<std::uint64_t> could_be_slab(std::uint64_t offset, const slab_class& shape) const {
        const std::uint64_t page = offset / page_bytes / shape.pages * shape.pages;
        const std::uint64_t first = shape_.data_offset / page_bytes;
        if (page < first || page - first + shape.pages > shape_.page_count) return std::nullopt;
        for (std::uint64_t i = 0; i < shape.pages; ++i)
            if (word_at(page - first + i) != 0) return std::nullopt;
        const std::uint64_t begin = page * page_bytes;
        for (std::uint32_t i = 0; i < shape.blocks; ++i)
            if (state(begin + i) != block_free && state(begin + i) != block_allocated) return std::nullopt;
        // Every owner in its pages names an allocated block of it.
        const auto end = std::lower_bound(owned_->begin(), owned_->end(), begin + shape.pages * page_bytes);
        for (auto at = std::lower_bound(owned_->begin(), owned_->end(), begin); at != end; ++at) {
            const std::uint64_t distance = *at - begin;
            if (distance < shape.first_block || (distance - shape.first_block) % shape.block_bytes != 0)
                return std::nullopt;
            const std::uint64_t index = (distance - shape.first_block) / shape.block_bytes;
            if (index >= shape.blocks || state(begin + index) != block_allocated) return std::nullopt;
        }
        return page - first;
    }

    std::uint64_t mend_blocks(std::uint64_t index) {
        const descriptor what = read(index).what;
        if (what.kind == kind_slab) mend_states(offset_of(index), slab_classes[what.slab_class]);
        if (what.kind == kind_large && owned_ != nullptr && !owns(offset_of(index))) {
            put_word(index, 0);
            done_.freed.push_back("the block of " + std::to_string(what.pages) + " pages" +
                                  at_offset(offset_of(index)) + ", which had no owner");
        }
        return std::max(what.pages, 1u);
    }

    void mend_states(std::uint64_t slab, const slab_class& shape) {
        unsigned damage = 0;
        for (std::uint32_t i = 0; i < shape.blocks; ++i) {
            const std::uint8_t found = state(slab + i);
            const std::uint64_t block = slab + shape.first_block + std::uint64_t{i} * shape.block_bytes;
            const bool possible = found == block_free || found == block_allocated;
            std::uint8_t right = possible ? found : block_allocated;
            if (owned_ != nullptr) right = owns(block) ? block_allocated : block_free;
            if (right == found) continue;
            put_state(slab + i, right);
            const std::string words = "the block of " + std::to_string(shape.block_bytes) + " bytes" + at_offset(block);
            if (possible && right == block_free) {
                done_.freed.push_back(words + ", which had no owner");
            } else {
                done_.restored.push_back("the state of " + words + (right == block_free ? ": free" : ": allocated"));
                // A free one that has an owner was not hit by a bit: 0 stands where something was written over.
                damage += possible ? 2 : 1;
                believed_ |= possible;
            }
        }
        // More than a byte: whatever did that may have gone on into the blocks, which nothing vouches for.
        if (damage > 1)
            done_.lost.emplace_back("certainty about the contents of the blocks in the slab" + at_offset(slab) +
                                 ": more than a bit of their states was damaged");
    }

    std::byte* pool_;
    zone_header shape_;
    const std::vector<std::uint64_t>* owned_;
    heap_repair& done_;
    bool believed_ = false;  ///< an owner, where the heap's own metadata said that nothing is allocated
};

}  // namespace

heap_repair heap::repair(std::byte* pool, std::span<const heap_zone> zones, const std::vector<const void*>* owned) {
    std::vector<std::uint64_t> offsets;
    if (owned != nullptr)
        for (const void* each : *owned)
            offsets.push_back(reinterpret_cast<std::uintptr_t>(each) - reinterpret_cast<std::uintptr_t>(pool));
    std::sort(offsets.begin(), offsets.end());
    heap_repair done;
    for (const heap_zone& each : zones) zone_repair(pool, each, owned == nullptr ? nullptr : &offsets, done).run();
    return done;
}

}  // namespace holdfast
