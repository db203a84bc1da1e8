// A zone's header, and one walk over all metadata of a zone for those who need everything: usage and audit.
#pragma once

#include <holdfast/base/result.hpp>
#include <holdfast/heap/heap.hpp>
#include <holdfast/heap/heap_format.hpp>

#include <cstddef>
#include <cstdint>
#include <cstring>
#include <span>
#include <string>

namespace holdfast::detail {

/// Checks that the zones are page-aligned, large enough, apart and in range. Errors: invalid_argument.
result<void> check_places(std::span<const heap_zone> zones);

/// Checks a zone's header against its place. Errors: corrupt.
result<void> check_header(const std::byte* pool, const heap_zone& zone);

/// The usable size of the allocated block that begins at `offset` of the pool, 0 where none does. Requires: the zone
/// holds the offset.
std::uint64_t block_bytes_at(const std::byte* pool, const heap_zone& zone, std::uint64_t offset) noexcept;

/// Walks a zone in address order. Requires: its header was checked. Trusts nothing behind it: what cannot be is
/// reported and passed by one page.
/// The visitor has: block(offset, bytes) for each allocated one, slab(pages), large(pages), free(pages), and
/// bad(offset, what).
template <class Visitor>
class zone_walk {
public:
    zone_walk(const std::byte* pool, const heap_zone& zone, Visitor& visitor)
        : pool_(pool), header_(heap_format::header_for(zone.offset, zone.bytes)), visitor_(visitor) {}

    void run() {
        for (std::uint64_t index = 0; index < header_.page_count;) index += step(index);
    }

private:
    std::uint64_t word_at(std::uint64_t index) const noexcept {
        std::uint64_t word;
        std::memcpy(&word, pool_ + header_.table_offset + index * 8, sizeof word);
        return word;
    }
    std::uint64_t offset_of(std::uint64_t index) const noexcept {
        return header_.data_offset + index * heap_format::page_bytes;
    }

    std::uint64_t step(std::uint64_t index) {
        using namespace heap_format;
        const decoded read = decode(word_at(index), index, offset_of(index) / page_bytes, header_.page_count);
        if (!read.valid) {
            visitor_.bad(header_.table_offset + index * 8, "a page descriptor is damaged");
            return 1;
        }
        if (read.what.kind == kind_none) {
            visitor_.free(1);
            return 1;
        }
        for (std::uint32_t i = 1; i < read.what.pages; ++i) {
            if (word_at(index + i) == 0) continue;
            visitor_.bad(header_.table_offset + (index + i) * 8, "a descriptor stands inside another block");
            return i;
        }
        if (read.what.kind == kind_large) {
            visitor_.large(read.what.pages);
            visitor_.block(offset_of(index), read.what.pages * page_bytes);
        } else {
            visitor_.slab(read.what.pages);
            walk_slab(offset_of(index), slab_classes[read.what.slab_class]);
        }
        return read.what.pages;
    }

    void walk_slab(std::uint64_t offset, const heap_format::slab_class& shape) {
        for (std::uint32_t i = 0; i < shape.blocks; ++i) {
            const auto state = std::to_integer<std::uint8_t>(pool_[offset + i]);
            if (state == heap_format::block_allocated) {
                visitor_.block(offset + shape.first_block + std::uint64_t{i} * shape.block_bytes, shape.block_bytes);
            } else if (state != heap_format::block_free) {
                visitor_.bad(offset + i, "the state of a block is damaged");
            }
        }
    }

    const std::byte* pool_;
    heap_format::zone_header header_;
    Visitor& visitor_;
};

}  // namespace holdfast::detail
