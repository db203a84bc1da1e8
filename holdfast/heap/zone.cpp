#include <holdfast/heap/zone.hpp>

#include <holdfast/format/superblock.hpp>

#include <algorithm>
#include <vector>

namespace holdfast::detail {

using namespace heap_format;

namespace {

error damaged_header(std::uint64_t offset, std::string what, std::uint64_t expected, std::uint64_t found) {
    return error{.code = errc::corrupt,
                 .what = std::move(what),
                 .offset = offset,
                 .expected = std::to_string(expected),
                 .found = std::to_string(found)};
}

error bad_place(std::string what, const heap_zone& zone) {
    return error{.code = errc::invalid_argument,
                 .what = std::move(what),
                 .offset = zone.offset,
                 .found = std::to_string(zone.bytes) + " bytes"};
}

}  // namespace

result<void> check_places(std::span<const heap_zone> zones) {
    std::vector<heap_zone> sorted(zones.begin(), zones.end());
    std::sort(sorted.begin(), sorted.end(),
              [](const heap_zone& a, const heap_zone& b) { return a.offset < b.offset; });
    constexpr std::uint64_t end_max = pool_pages_max * page_bytes;
    if (zones.size() > format::zone_limit) return bad_place("a pool has at most 32 heap zones", zones.back());
    std::uint64_t end = page_bytes;
    for (const heap_zone& each : sorted) {
        if (each.offset % page_bytes != 0 || each.bytes % page_bytes != 0)
            return bad_place("a heap zone is not a whole number of pages", each);
        if (each.bytes < heap::smallest_zone_bytes()) return bad_place("a heap zone is too small", each);
        if (each.offset < end) return bad_place("a heap zone overlaps what precedes it", each);
        if (each.offset > end_max || each.bytes > end_max - each.offset)
            return bad_place("a heap zone ends too far out", each);
        end = each.offset + each.bytes;
    }
    return {};
}

result<void> check_header(const std::byte* pool, const heap_zone& zone) {
    zone_header found;
    std::memcpy(&found, pool + zone.offset, sizeof found);
    const zone_header expected = header_for(zone.offset, zone.bytes);
    const auto at = [&zone](std::size_t field) { return zone.offset + field; };
    if (found.magic != zone_magic)
        return damaged_header(at(offsetof(zone_header, magic)), "no heap zone begins here", zone_magic, found.magic);
    if (const std::uint32_t sum = checksum_of(found); found.checksum != sum)
        return damaged_header(at(offsetof(zone_header, checksum)), "a heap zone's header is damaged", sum,
                              found.checksum);
    struct field {
        std::size_t offset;
        const char* name;
        std::uint64_t expected;
        std::uint64_t found;
    };
    const field fields[] = {
        {offsetof(zone_header, version), "version", expected.version, found.version},
        {offsetof(zone_header, zone_offset), "offset", expected.zone_offset, found.zone_offset},
        {offsetof(zone_header, zone_bytes), "size", expected.zone_bytes, found.zone_bytes},
        {offsetof(zone_header, page_count), "page count", expected.page_count, found.page_count},
        {offsetof(zone_header, table_offset), "table offset", expected.table_offset, found.table_offset},
        {offsetof(zone_header, data_offset), "data offset", expected.data_offset, found.data_offset},
    };
    for (const field& each : fields)
        if (each.found != each.expected)
            return damaged_header(at(each.offset), std::string("a heap zone's header has another ") + each.name,
                                  each.expected, each.found);
    return {};
}

std::uint64_t block_bytes_at(const std::byte* pool, const heap_zone& zone, std::uint64_t offset) noexcept {
    const zone_header shape = header_for(zone.offset, zone.bytes);
    const std::uint64_t first = shape.data_offset / page_bytes;
    const std::uint64_t page = offset / page_bytes;
    if (page < first || page - first >= shape.page_count) return 0;
    for (std::uint64_t pages = 1; pages <= slab_pages_max; pages *= 2) {
        const std::uint64_t head = page & ~(pages - 1);
        if (head < first) return 0;
        std::uint64_t word;
        std::memcpy(&word, pool + shape.table_offset + (head - first) * 8, sizeof word);
        const descriptor what = decode(word, head - first, head, shape.page_count).what;
        if (what.kind == kind_none) continue;
        if (what.kind == kind_large) return offset == page * page_bytes && head == page ? what.pages * page_bytes : 0;
        const slab_class& blocks = slab_classes[what.slab_class];
        const std::uint64_t distance = offset - head * page_bytes;
        if (distance < blocks.first_block || (distance - blocks.first_block) % blocks.block_bytes != 0) return 0;
        const std::uint64_t index = (distance - blocks.first_block) / blocks.block_bytes;
        if (index >= blocks.blocks) return 0;
        const auto state = std::to_integer<std::uint8_t>(pool[head * page_bytes + index]);
        return state == block_allocated ? blocks.block_bytes : 0;
    }
    return 0;
}

}  // namespace holdfast::detail
