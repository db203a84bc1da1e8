// What the heap keeps on the media: each constant once.
//
// A zone is   [zone header: 1 page][descriptor table: 8 bytes per data page][data pages].
// A *head* is the first page of a slab or of a large block; its descriptor says so. Every other page, free or
// inside, has descriptor 0: allocating a run of pages is one word store, freeing it is another, and two
// open transactions never meet in one word.
// A slab is a run of 1, 2, 4 or 8 pages whose page number (from the start of the pool) is a multiple of
// its length, so that its head is found from any address inside by masking. It begins with one state byte
// per block; then come the blocks. A byte per block, so that a transaction writes only bytes it owns.
#pragma once

#include <holdfast/base/checksum.hpp>

#include <algorithm>
#include <array>
#include <bit>
#include <cstddef>
#include <cstdint>

namespace holdfast::heap_format {

static_assert(std::endian::native == std::endian::little, "the format is little-endian");

inline constexpr std::uint64_t page_bytes = 4096;
inline constexpr std::uint64_t zone_magic = 0x656E6F5A7073'6C48;  ///< "HlspZone"
inline constexpr std::uint32_t zone_version = 1;
/// Page numbers are 32 bits wide, counted from the start of the pool.
inline constexpr std::uint64_t pool_pages_max = 0xFFFFFFFF;

/// The first bytes of a zone; the rest of its page is zero.
struct zone_header {
    std::uint64_t magic;
    std::uint32_t version;
    std::uint32_t reserved;
    std::uint64_t zone_offset;  ///< of this header, from the start of the pool
    std::uint64_t zone_bytes;
    std::uint64_t page_count;    ///< data pages
    std::uint64_t table_offset;  ///< of the descriptor table, from the start of the pool
    std::uint64_t data_offset;   ///< of the first data page, from the start of the pool
    std::uint32_t reserved_too;
    std::uint32_t checksum;  ///< CRC32C of all bytes before it, seed ~0
};
static_assert(sizeof(zone_header) == 64);
static_assert(offsetof(zone_header, zone_offset) == 16);
static_assert(offsetof(zone_header, page_count) == 32);
static_assert(offsetof(zone_header, table_offset) == 40);
static_assert(offsetof(zone_header, data_offset) == 48);
static_assert(offsetof(zone_header, checksum) == 60);

/// Data pages that fit in a zone of `zone_bytes` beside its header and table.
constexpr std::uint64_t data_pages_in(std::uint64_t zone_bytes) noexcept {
    const std::uint64_t descriptors_per_page = page_bytes / 8;
    const std::uint64_t pages = zone_bytes / page_bytes;
    if (pages < 3) return 0;
    const std::uint64_t rest = pages - 1;
    return rest - (rest + descriptors_per_page) / (descriptors_per_page + 1);
}
constexpr std::uint64_t table_pages_for(std::uint64_t data_pages) noexcept {
    return (data_pages * 8 + page_bytes - 1) / page_bytes;
}
static_assert(data_pages_in(3 * page_bytes) == 1);
static_assert(data_pages_in(514 * page_bytes) == 512);
static_assert(data_pages_in(515 * page_bytes) == 512);
static_assert(data_pages_in(516 * page_bytes) == 513);
static_assert(1 + table_pages_for(data_pages_in(1 << 30)) + data_pages_in(1 << 30) <= (1 << 30) / page_bytes);

/// The header a zone of that place and size must have.
constexpr zone_header header_for(std::uint64_t zone_offset, std::uint64_t zone_bytes) noexcept {
    const std::uint64_t pages = data_pages_in(zone_bytes);
    const std::uint64_t table = zone_offset + page_bytes;
    return {zone_magic, zone_version, 0,     zone_offset, zone_bytes,
            pages,      table,        table + table_pages_for(pages) * page_bytes,   0,           0};
}
inline std::uint32_t checksum_of(const zone_header& header) noexcept {
    return crc32c(&header, offsetof(zone_header, checksum), ~std::uint32_t{0});
}

/// Kinds of descriptors; any two, and either and none, differ in at least four bits.
inline constexpr std::uint8_t kind_none = 0x00;
inline constexpr std::uint8_t kind_slab = 0x5A;
inline constexpr std::uint8_t kind_large = 0xA5;

/// A descriptor word: kind in bits 0-7, slab class in 8-15, check in 16-31, length in pages in 32-63.
struct descriptor {
    std::uint8_t kind = kind_none;
    std::uint8_t slab_class = 0;
    std::uint32_t pages = 0;
};

/// The check covers the page's index in the table too, so that a misplaced descriptor is found.
inline std::uint16_t check_of(descriptor what, std::uint64_t index) noexcept {
    const std::uint64_t words[2] = {
        std::uint64_t{what.kind} | std::uint64_t{what.slab_class} << 8 | std::uint64_t{what.pages} << 32, index};
    const std::uint32_t crc = crc32c(words, sizeof words, ~std::uint32_t{0});
    return static_cast<std::uint16_t>(crc ^ crc >> 16);
}
inline std::uint64_t encode(descriptor what, std::uint64_t index) noexcept {
    return std::uint64_t{what.kind} | std::uint64_t{what.slab_class} << 8 |
           std::uint64_t{check_of(what, index)} << 16 | std::uint64_t{what.pages} << 32;
}

/// State bytes of blocks. All other values are damage.
inline constexpr std::uint8_t block_free = 0x00;
inline constexpr std::uint8_t block_allocated = 0xB5;
static_assert(std::popcount(block_allocated) >= 4);
static_assert(std::popcount(kind_slab) >= 4 && std::popcount(kind_large) >= 4);
static_assert(std::popcount(static_cast<std::uint8_t>(kind_slab ^ kind_large)) >= 4);

/// One size class of slabs.
struct slab_class {
    std::uint32_t block_bytes = 0;
    std::uint32_t pages = 0;
    std::uint32_t blocks = 0;
    std::uint32_t first_block = 0;  ///< offset of block 0 in the slab
};

/// Block sizes: steps of 16 to 128, then four to a doubling. Sizes above the last take whole pages.
inline constexpr std::array<std::uint16_t, 27> block_sizes = {
    16,  32,  48,  64,  80,  96,  112, 128,  160,  192,  224,  256,  320, 384,
    448, 512, 640, 768, 896, 1024, 1280, 1536, 1792, 2048, 2560, 3072, 3584};
inline constexpr std::size_t class_count = block_sizes.size();
inline constexpr std::size_t small_bytes_max = block_sizes.back();
inline constexpr std::size_t slab_pages_max = 8;
inline constexpr std::size_t slab_blocks_max = 256;
inline constexpr std::size_t alignment_max = 64;

/// The largest power of two, up to 64, that divides the block size: what its blocks are aligned to.
constexpr std::uint32_t natural_alignment(std::uint32_t block_bytes) noexcept {
    return std::min<std::uint32_t>(block_bytes & (~block_bytes + 1), alignment_max);
}

constexpr slab_class fill_slab(std::uint32_t block_bytes, std::uint32_t pages) noexcept {
    const auto slab_bytes = static_cast<std::uint32_t>(pages * page_bytes);
    const std::uint32_t alignment = natural_alignment(block_bytes);
    std::uint32_t blocks = slab_bytes / (block_bytes + 1);
    std::uint32_t first = 0;
    for (;; --blocks) {
        first = (blocks + alignment - 1) / alignment * alignment;
        if (first + blocks * block_bytes <= slab_bytes) break;
    }
    return {block_bytes, pages, blocks, first};
}

/// The shortest slab of which blocks fill at least 15/16.
constexpr slab_class make_class(std::uint32_t block_bytes) noexcept {
    for (std::uint32_t pages = 1; pages < slab_pages_max; pages *= 2) {
        const slab_class candidate = fill_slab(block_bytes, pages);
        if (candidate.blocks * block_bytes * 16 >= pages * page_bytes * 15) return candidate;
    }
    return fill_slab(block_bytes, slab_pages_max);
}

constexpr std::array<slab_class, class_count> make_classes() noexcept {
    std::array<slab_class, class_count> made{};
    for (std::size_t i = 0; i < class_count; ++i) made[i] = make_class(block_sizes[i]);
    return made;
}
inline constexpr std::array<slab_class, class_count> slab_classes = make_classes();

static_assert(std::all_of(slab_classes.begin(), slab_classes.end(), [](const slab_class& each) {
    return each.blocks <= slab_blocks_max && each.blocks * each.block_bytes * 16 >= each.pages * page_bytes * 15 &&
           each.first_block >= each.blocks && each.first_block % natural_alignment(each.block_bytes) == 0 &&
           each.first_block + each.blocks * each.block_bytes <= each.pages * page_bytes && each.block_bytes % 16 == 0;
}));
static_assert(slab_classes[0].blocks == 240 && slab_classes[3].blocks == 63 && slab_classes[23].pages == 8);

constexpr std::array<std::uint8_t, small_bytes_max / 16 + 1> make_class_table() noexcept {
    std::array<std::uint8_t, small_bytes_max / 16 + 1> table{};
    std::uint8_t at = 0;
    for (std::size_t i = 0; i < table.size(); ++i) {
        if (i * 16 > block_sizes[at]) ++at;
        table[i] = at;
    }
    return table;
}
inline constexpr auto class_table = make_class_table();

/// The class that serves `bytes`. Requires: 0 < bytes <= small_bytes_max.
constexpr std::uint8_t class_of(std::size_t bytes) noexcept { return class_table[(bytes + 15) / 16]; }
static_assert(class_of(1) == 0 && class_of(16) == 0 && class_of(17) == 1 && class_of(129) == 8);
static_assert(class_of(3584) == class_count - 1 && class_of(3073) == class_count - 1);

/// A descriptor read from a file, or kind_none with `valid` false when it cannot be one.
struct decoded {
    descriptor what;
    bool valid = false;
};

/// Checks a descriptor word against everything it must satisfy. `index` counts in the zone's table,
/// `page` from the start of the pool; `index < page_count`.
inline decoded decode(std::uint64_t word, std::uint64_t index, std::uint64_t page, std::uint64_t page_count) noexcept {
    if (word == 0) return {{}, true};
    descriptor what{static_cast<std::uint8_t>(word), static_cast<std::uint8_t>(word >> 8),
                    static_cast<std::uint32_t>(word >> 32)};
    if (word != encode(what, index)) return {};
    if (what.pages == 0 || what.pages > page_count - index) return {};
    if (what.kind == kind_large) return {what, what.slab_class == 0};
    if (what.kind != kind_slab || what.slab_class >= class_count) return {};
    const std::uint32_t pages = slab_classes[what.slab_class].pages;
    if (what.pages != pages || page % pages != 0) return {};
    return {what, true};
}

}  // namespace holdfast::heap_format
