#include <holdfast/dnv/attach.hpp>

#include <holdfast/base/checksum.hpp>
#include <holdfast/dnv/damage_list.hpp>
#include <holdfast/dnv/home.hpp>
#include <holdfast/dnv/space.hpp>
#include <holdfast/ecc/repair.hpp>

#include <string>
#include <utility>

namespace holdfast::dnv {
namespace {

error corrupt(std::string what, std::uint64_t offset, std::string expected, std::string found) {
    return error{.code = errc::corrupt,
                 .what = std::move(what),
                 .path = the_space.pool->path(),
                 .offset = offset,
                 .expected = std::move(expected),
                 .found = std::move(found),
                 .remedy = "`holdfast pool check --repair` corrects a single flipped bit; for more of them go back to "
                           "a copy of the pool"};
}

/// Whether [offset, offset + bytes) is in the pool, at whole pairs of words.
bool is_inside(std::uint64_t offset, std::uint64_t bytes) noexcept {
    const std::uint64_t size = the_space.pool->size();
    return offset % sizeof(ecc::coded_word) == 0 && offset != 0 && offset <= size && bytes <= size - offset;
}

/// What has no codes has checksums.
result<void> compare_checksums() {
    const root& in_pool = *the_space.in_pool;
    const auto offset =
        static_cast<std::uint64_t>(reinterpret_cast<const std::byte*>(&in_pool) - the_space.pool->base());
    if (in_pool.checksum.get() == in_pool.checksum_of_words()) return {};
    return corrupt("the root of a dnv pool has flipped bits", offset, std::to_string(in_pool.checksum_of_words()),
                   std::to_string(in_pool.checksum.get()));
}

result<void> attach_parts() {
    const root& in_pool = *the_space.in_pool;
    const struct {
        const char* what;
        std::uint64_t offset;
        std::uint64_t bytes;
    } parts[] = {{"the header", in_pool.header.get(), sizeof(header) * the_placement.expansion},
                 {"the header of blocks without codes", in_pool.unprotected.get(),
                  in_pool.unprotected.get() != 0 ? sizeof(unprotected_header) * the_placement.expansion : 0},
                 {"the directory of chunks", in_pool.directory.get(), most_chunks * sizeof(directory_entry)},
                 {"the region of static variables", in_pool.statics.get(),
                  in_pool.statics_room.get() * the_placement.expansion},
                 {"the list of names of static variables", in_pool.names.get(), in_pool.names_room.get()}};
    for (const auto& each : parts)
        if ((each.offset != 0 || each.bytes != 0) && !is_inside(each.offset, each.bytes))
            return corrupt(std::string(each.what) + " of a dnv pool lies outside the pool", each.offset,
                           "at most " + std::to_string(the_space.pool->size()) + " bytes",
                           std::to_string(each.bytes) + " bytes at " + std::to_string(each.offset));
    if (in_pool.statics_bytes.get() > in_pool.statics_room.get() ||
        in_pool.names_bytes.get() > in_pool.names_room.get())
        return corrupt("a dnv pool has more static variables than room for them", 0, "at most the room",
                       std::to_string(in_pool.statics_bytes.get()) + " bytes");
    return {};
}

bool is_chunk_inside(const chunk& each, std::uint64_t bytes) noexcept {
    const placement& in = the_placement;
    // Of the window, what covers the pool.
    const std::uint64_t covers = in.is_coded ? in.coded_bytes : in.heap_bytes;
    const std::uintptr_t begin = in.heap_begin + (is_unprotected(each.of_class) ? in.uncoded_offset() : 0);
    const std::uint64_t offset = each.begin - begin;
    return each.begin >= begin && offset < covers && bytes != 0 && bytes % window_page == 0 && bytes <= covers &&
           each.of_class < (in.is_coded ? all_classes : classes) && each.count_of_blocks(bytes) != 0 &&
           is_inside(offset * in.expansion, bytes * in.expansion);
}

result<void> attach_chunks() {
    for (unsigned slot = 0; (slot = the_space.next_slot_in_use(slot)) < most_chunks; ++slot) {
        directory_entry& entry = the_space.directory[slot];
        const std::uint64_t word = entry.word.get();
        auto named = table_word(slot);
        // The directory says it as well. A chunk that no transaction came to name has blocks that nobody uses.
        if (!named && entry.checksum.get() == entry.checksum_of_words()) named = word;
        if (!named) return std::move(named).give_error();
        if (*named == 0 && (word == 0 || entry.checksum.get() != entry.checksum_of_words())) continue;
        if ((*named != 0 && *named != word) || entry.checksum.get() != entry.checksum_of_words() ||
            !is_chunk_inside(chunk::of(word), entry.bytes.get()))
            return corrupt("the table and the directory of chunks disagree",
                           static_cast<std::uint64_t>(reinterpret_cast<std::byte*>(&entry) - the_space.pool->base()),
                           "a chunk as in the table, " + std::to_string(*named),
                           std::to_string(word) + ", " + std::to_string(entry.bytes.get()) + " bytes");
        if (*named != 0) the_space.chunks.add(slot, chunk::of(word), entry.bytes.get());
    }
    return {};
}

}  // namespace

result<std::uint64_t> table_word(unsigned slot) {
    const ecc::coded_word* const place = place_of(&the_space.staged->chunks[slot]);
    if (!the_placement.is_coded || ecc::is_valid(*place)) return place->word;
    const ecc::repair_result repaired = ecc::repair(*place);
    if (repaired) return repaired.right.word;
    return corrupt("a word of the table of chunks has more flipped bits than its code corrects",
                   static_cast<std::uint64_t>(reinterpret_cast<const std::byte*>(place) - the_space.pool->base()),
                   "a word and its code", std::to_string(place->word));
}

result<void> attach(root* in_pool, std::uint64_t reserved_bytes) {
    std::byte* const base = the_space.pool->base();
    the_space.in_pool = in_pool;
    the_placement = placement::of_pool(base, reserved_bytes, in_pool->is_coded.get() != 0);
    the_space.unlisted_before = read_damages(*in_pool).further;
    if (auto same = compare_checksums(); !same) return same;
    if (auto inside = attach_parts(); !inside) return inside;
    the_space.staged = reinterpret_cast<header*>(window_of(base + in_pool->header.get()));
    the_space.attach_unprotected_header();
    the_space.directory = reinterpret_cast<directory_entry*>(base + in_pool->directory.get());
    auto mapped = the_space.chunks.reserve(the_placement.heap_begin, the_placement.heap_bytes);
    if (!mapped) return mapped;
    // For an audit; a program's own begin here when it opens the pool.
    if (in_pool->statics_bytes.get() != 0)
        the_placement.put_statics(statics_address, in_pool->statics_bytes.get(), base + in_pool->statics.get());
    return attach_chunks();
}

result<std::string> names_of_statics() {
    const root& in_pool = *the_space.in_pool;
    const std::uint64_t offset = in_pool.names.get();
    std::string text(reinterpret_cast<const char*>(the_space.pool->base() + offset), in_pool.names_bytes.get());
    const std::uint32_t sum = crc32c(text.data(), text.size());
    if (sum == in_pool.names_checksum.get()) return text;
    return corrupt("the names of static variables have flipped bits", offset,
                   std::to_string(in_pool.names_checksum.get()),
                   std::to_string(sum));
}

void detach() noexcept {
    the_placement = {};
    the_space.chunks.release();
    the_space.pool = nullptr;
    the_space.in_pool = nullptr;
    the_space.staged = nullptr;
    the_space.staged_unprotected.store(nullptr, std::memory_order_relaxed);
    the_space.directory = nullptr;
}

}  // namespace holdfast::dnv
