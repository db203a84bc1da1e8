#include "edits.hpp"

#include <holdfast/base/checksum.hpp>
#include <holdfast/format/roots.hpp>
#include <holdfast/format/superblock.hpp>
#include <holdfast/heap/heap_format.hpp>
#include <holdfast/log/record.hpp>
#include <holdfast/log/segment_header.hpp>
#include <holdfast/log/truncation.hpp>
#include <holdfast/pool/superblock.hpp>

#include <algorithm>
#include <cstring>

namespace holdfast::fuzz {
namespace {

/// Where structures begin; of the pool before it was edited, since edits may move them.
class places {
public:
    explicit places(const std::vector<std::byte>& pool) {
        std::memcpy(&block_, pool.data(), sizeof block_);
        for (const std::uint64_t at : format::superblock_offset) all_.push_back({at, sizeof(format::superblock)});
        for (std::uint64_t i = 0; i < format::root_limit / 4; ++i)
            all_.push_back({format::roots_offset + i * sizeof(format::root_entry), sizeof(format::root_entry)});
        const log_geometry log = log_of(block_);
        for (const std::uint64_t slot : format::truncation_slot_offset) all_.push_back({log.offset + slot, 16});
        for (std::uint32_t i = 0; i < log.segment_count(); ++i) add_segment(pool, log, i);
        const std::uint64_t zone = block_.zones[0].offset;
        all_.push_back({zone, sizeof(heap_format::zone_header)});
        const auto shape = heap_format::header_for(zone, block_.zones[0].bytes);
        all_.push_back({shape.table_offset, shape.page_count * 8});
        for (std::uint64_t i = 0; i < shape.page_count; ++i)
            all_.push_back({shape.data_offset + i * heap_format::page_bytes, heap_format::page_bytes});
    }

    struct place {
        std::uint64_t offset;
        std::uint64_t bytes;
    };
    const place& at(std::uint64_t index) const noexcept { return all_[index % all_.size()]; }
    const format::superblock& block() const noexcept { return block_; }
    const std::vector<place>& records() const noexcept { return records_; }

private:
    void add_segment(const std::vector<std::byte>& pool, const log_geometry& log, std::uint32_t index) {
        const auto header = read_segment_header(pool.data(), log, index);
        if (header.is != segment_header_view::state::sealed) return;
        all_.push_back({log.segment_offset(index), format::segment_header_bytes});
        const std::byte* begin = pool.data() + log.segment_offset(index);
        record_view view;
        for (std::uint64_t at = format::segment_header_bytes;
             read_record(begin + at, begin + log.segment_bytes, seed_of_salt(header.salt), view);
             at += format::record_bytes(view.header.payload_words)) {
            const std::uint64_t bytes = sizeof view.header + view.header.payload_words * 8;
            all_.push_back({log.segment_offset(index) + at, bytes});
            records_.push_back({log.segment_offset(index) + at, header.salt});
        }
    }

    format::superblock block_;
    std::vector<place> all_;
    std::vector<place> records_;  ///< where each stands, and its salt in place of a size
};

void edit_once(std::vector<std::byte>& pool, const places& where, input& from) {
    const auto& place = where.at(from.byte() | std::uint64_t{from.byte()} << 8);
    const std::uint64_t within = from.number(2) % place.bytes;
    const std::uint64_t word = place.offset + within / 8 * 8;
    const std::uint8_t operation = from.byte();
    const auto put = [&](std::uint64_t value) { std::memcpy(pool.data() + word, &value, sizeof value); };
    std::uint64_t value;
    std::memcpy(&value, pool.data() + word, sizeof value);
    switch (operation % 8) {
        case 0: pool[place.offset + within] ^= std::byte{from.byte()}; break;
        case 1: pool[place.offset + within] = std::byte{from.byte()}; break;
        case 2: put(0); break;
        case 3: put(value + static_cast<std::uint64_t>(static_cast<std::int8_t>(from.byte()))); break;
        case 4: put(from.number(8)); break;
        case 5: put(std::uint64_t{1} << from.byte() % 64); break;
        case 6: {  // Another place's bytes here.
            const auto& other = where.at(from.byte() | std::uint64_t{from.byte()} << 8);
            std::memmove(pool.data() + place.offset, pool.data() + other.offset, std::min(place.bytes, other.bytes));
            break;
        }
        default: put(~std::uint64_t{0} >> from.byte() % 64); break;
    }
}

template <class T, class F>
void change(std::vector<std::byte>& pool, std::uint64_t at, F&& f) {
    T object;
    std::memcpy(&object, pool.data() + at, sizeof object);
    f(object);
    std::memcpy(pool.data() + at, &object, sizeof object);
}

void seal_superblocks(std::vector<std::byte>& pool) {
    for (const std::uint64_t at : format::superblock_offset)
        change<format::superblock>(pool, at, [](auto& block) {
            block.checksum = ~crc32c(&block, offsetof(format::superblock, checksum), ~0u);
        });
}

void seal_log(std::vector<std::byte>& pool, const places& where) {
    const log_geometry log = log_of(where.block());
    for (const std::uint64_t slot : format::truncation_slot_offset)
        change<format::truncation_slot>(pool, log.offset + slot,
                                        [](auto& each) { each = make_truncation_slot(each.sequence); });
    for (std::uint32_t i = 0; i < log.segment_count(); ++i)
        change<format::segment_header>(pool, log.segment_offset(i), [&](auto& each) {
            if (each.salt != 0) each = make_segment_header(log, i, each.salt, each.acknowledged, each.truncated);
        });
}

void seal_records(std::vector<std::byte>& pool, const places& where) {
    const log_geometry log = log_of(where.block());
    for (const auto& each : where.records()) {
        std::uint64_t words[format::record_header_words];
        std::memcpy(words, pool.data() + each.offset, sizeof words);
        const std::uint64_t in_segment = (each.offset - log.segment_offset(0)) % log.segment_bytes;
        if (format::record_bytes(payload_words_of(words)) > log.segment_bytes - in_segment) continue;
        const auto kind = static_cast<format::record_kind>(words[0] >> 32 & 0xFF);
        const auto* record = reinterpret_cast<const std::uint64_t*>(pool.data() + each.offset);
        const std::uint32_t sum = record_checksum(record, payload_words_of(words), kind, seed_of_salt(each.bytes));
        std::memcpy(pool.data() + each.offset, &sum, sizeof sum);
    }
}

void seal_heap(std::vector<std::byte>& pool, const places& where) {
    using namespace heap_format;
    const std::uint64_t zone = where.block().zones[0].offset;
    change<zone_header>(pool, zone, [](auto& header) { header.checksum = checksum_of(header); });
    const auto shape = header_for(zone, where.block().zones[0].bytes);
    for (std::uint64_t i = 0; i < shape.page_count; ++i)
        change<std::uint64_t>(pool, shape.table_offset + i * 8, [&](std::uint64_t& word) {
            const descriptor what{static_cast<std::uint8_t>(word), static_cast<std::uint8_t>(word >> 8),
                                  static_cast<std::uint32_t>(word >> 32)};
            if (word != 0) word = encode(what, i);
        });
}

}  // namespace

void edit(std::vector<std::byte>& pool, input& from) {
    const places where(pool);
    const std::uint8_t seals = from.byte();
    constexpr unsigned most_edits = 64;
    for (unsigned i = 0; i < most_edits && !from.empty(); ++i) edit_once(pool, where, from);
    if ((seals & 1) != 0) seal_superblocks(pool);
    if ((seals & 2) != 0) seal_log(pool, where);
    if ((seals & 4) != 0) seal_records(pool, where);
    if ((seals & 8) != 0) seal_heap(pool, where);
    if ((seals & 16) != 0)
        for (std::uint64_t i = 0; i < format::root_limit; ++i)
            change<format::root_entry>(pool, format::roots_offset + i * sizeof(format::root_entry),
                                       [](auto& entry) { entry.checksum = checksum_of(entry); });
}

}  // namespace holdfast::fuzz
