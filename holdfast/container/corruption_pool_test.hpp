// What the corruption test damages: a pool whose every byte has a class, and what must be read back from it.
#pragma once

#include <holdfast/container/btree_map.hpp>
#include <holdfast/container/hash_map.hpp>
#include <holdfast/container/list.hpp>
#include <holdfast/container/queue.hpp>
#include <holdfast/container/string.hpp>
#include <holdfast/container/vector.hpp>
#include <holdfast/format/roots.hpp>
#include <holdfast/handle/check.hpp>
#include <holdfast/handle/pool.hpp>
#include <holdfast/heap/heap_format.hpp>
#include <holdfast/log/record.hpp>
#include <holdfast/log/replay.hpp>
#include <holdfast/log/truncation.hpp>
#include <holdfast/pool/superblock.hpp>

#include <array>
#include <cstddef>
#include <cstdint>
#include <cstring>
#include <fstream>
#include <iterator>
#include <map>
#include <string>
#include <string_view>
#include <vector>

namespace holdfast::test {

/// What a byte of a pool is for.
enum class area : std::uint8_t {
    superblock,
    roots,
    log_header,      ///< truncation slots
    segment_header,
    record,          ///< header and payload, above the truncation point
    torn_tail,       ///< of the records that no later fence speaks for: lost, they look as if never sent
    zone_header,
    descriptor,
    slab_state,
    structure,       ///< of containers, and what their blocks leave unused
    length,          ///< of a string, vector or queue: the user's, and kept once
    payload,         ///< the user's
    unused,          ///< reserved, free, or left over from before
    count
};
inline constexpr std::array<std::string_view, static_cast<std::size_t>(area::count)> area_names = {
    "superblock",  "roots",      "log header", "segment header", "record",  "torn tail", "zone header",
    "descriptors", "slab state", "structure",  "lengths",        "payload", "unused"};

using byte_classes = std::vector<area>;

inline std::vector<std::byte> read_file(const std::string& path) {
    std::ifstream file(path, std::ios::binary);
    const std::string text{std::istreambuf_iterator<char>(file), {}};
    const auto* begin = reinterpret_cast<const std::byte*>(text.data());
    return {begin, begin + text.size()};
}

/// The objects of the pool.
template <class Engine>
struct corruption_objects {
    btree_map<string<Engine>, string<Engine>, Engine>* words = nullptr;
    hash_map<std::uint64_t, std::uint64_t, Engine>* numbers = nullptr;
    vector<std::uint64_t, Engine>* list = nullptr;
    queue<std::uint64_t, Engine>* line = nullptr;
    holdfast::list<std::uint64_t, Engine>* chain = nullptr;

    /// Errors: what `root` says.
    static result<corruption_objects> objects_in(basic_pool<Engine>& pool) {
        corruption_objects found;
        const auto take = [&]<class T>(T*& at, const char* name) -> result<void> {
            auto root = pool.template root<T>(name);
            if (!root) return root.error();
            at = *root;
            return {};
        };
        if (auto got = take(found.words, "words"); !got) return got.error();
        if (auto got = take(found.numbers, "numbers"); !got) return got.error();
        if (auto got = take(found.list, "list"); !got) return got.error();
        if (auto got = take(found.line, "line"); !got) return got.error();
        if (auto got = take(found.chain, "chain"); !got) return got.error();
        return found;
    }
    static result<corruption_objects> objects_in(const open_pool& pool, const std::vector<root_listing>& roots) {
        corruption_objects found;
        const auto take = [&]<class T>(T*& at, std::string_view name) {
            for (const root_listing& root : roots)
                if (root.name == name && root.bytes == sizeof(T)) at = reinterpret_cast<T*>(pool.base() + root.offset);
            return at != nullptr;
        };
        if (take(found.words, "words") && take(found.numbers, "numbers") && take(found.list, "list") &&
            take(found.line, "line") && take(found.chain, "chain"))
            return found;
        return error{.code = errc::corrupt, .what = "a root is missing"};
    }

    result<void> check() const {
        if (auto checked = words->check(); !checked) return checked;
        if (auto checked = numbers->check(); !checked) return checked;
        if (auto checked = list->check(); !checked) return checked;
        if (auto checked = line->check(); !checked) return checked;
        return chain->check();
    }
    template <class F>
    void visit_blocks(F&& f) const {
        words->visit_blocks(f);
        numbers->visit_blocks(f);
        list->visit_blocks(f);
        line->visit_blocks(f);
        chain->visit_blocks(f);
    }

    /// All of it in one text. Requires: checked.
    std::string contents() const {
        std::string text;
        for (const auto& [key, value] : std::as_const(*words)) text += key.str() + "=" + value.str() + "\n";
        std::map<std::uint64_t, std::uint64_t> sorted;
        for (const auto& [key, value] : std::as_const(*numbers)) sorted[key] = value;
        for (const auto& [key, value] : sorted) text += std::to_string(key) + ":" + std::to_string(value) + " ";
        for (const std::uint64_t each : std::as_const(*list)) text += std::to_string(each) + ",";
        for (const std::uint64_t each : std::as_const(*line)) text += std::to_string(each) + ";";
        for (const std::uint64_t each : std::as_const(*chain)) text += std::to_string(each) + ">";
        return text;
    }

    /// One commit's worth of change.
    void change(std::uint64_t n) {
        const std::string value(n % 61 + 3, static_cast<char>('a' + n % 26));
        words->insert_or_assign("key " + std::to_string(n % 29), value);
        (*numbers)[n % 41] = n * 3;
        if (n % 7 == 0 && n > 20) numbers->erase(n % 41);
        list->push_back(n);
        line->push(n);
        if (n % 3 == 0) line->pop();
        chain->push_back(n);
        if (chain->size() > 20) chain->erase(std::next(chain->begin(), static_cast<std::ptrdiff_t>(n % 15)));
        if (n % 11 == 0 && n > 30) words->erase("key " + std::to_string(n % 13));
    }
};

/// A contents_checker for them.
template <class Engine>
std::optional<contents_finding> check_corruption_objects(const open_pool& pool,
                                                         const std::vector<root_listing>& roots) {
    contents_finding found;
    const auto objects = corruption_objects<Engine>::objects_in(pool, roots);
    if (!objects) {
        found.problem = objects.error().text();
    } else if (const auto checked = objects->check(); !checked) {
        found.problem = checked.error().text();
    } else {
        for (const root_listing& root : roots) found.owned.push_back(pool.base() + root.offset);
        objects->visit_blocks([&](const void* block) { found.owned.push_back(block); });
    }
    return found;
}

/// Gives each byte of a pool its class.
class classifier {
public:
    /// `bytes` as they stand in the file, `recovered` as recovery leaves them in memory.
    classifier(const std::vector<std::byte>& bytes, std::vector<std::byte> recovered)
        : bytes_(std::move(recovered)), classes_(bytes.size(), area::unused) {
        std::memcpy(&block_, bytes.data() + format::superblock_offset[0], sizeof block_);
        for (const std::uint64_t at : format::superblock_offset) mark(at, sizeof block_, area::superblock);
        mark(format::roots_offset, sizeof(format::root_entry) * format::root_limit, area::roots);
        mark_log(bytes);
        mark_heap({block_.zones[0].offset, block_.zones[0].bytes});
    }
    /// The pages of the segment that holds the last record: without them, too, the log looks as if it were shorter.
    std::uint64_t last_segment_offset() const { return log_of(block_).segment_offset(last_segment_); }
    byte_classes take() && { return std::move(classes_); }

    void mark(std::uint64_t offset, std::uint64_t bytes, area what) {
        std::fill_n(classes_.begin() + static_cast<std::ptrdiff_t>(offset), bytes, what);
    }

    /// The users' bytes, from a pool that is open over the same bytes.
    template <class Engine>
    void mark_contents(const corruption_objects<Engine>& objects, const open_pool& pool) {
        const auto at = [&](const void* address) {
            return static_cast<std::uint64_t>(static_cast<const std::byte*>(address) - pool.base());
        };
        const auto mark_string = [&](const string<Engine>& text) {
            constexpr std::size_t length_at = 16;
            mark(at(&text) + length_at, 8, area::length);
            bool is_inline = true;
            text.visit_blocks([&](const void* block) {
                is_inline = false;
                mark(at(block), text.capacity(), area::payload);
            });
            if (is_inline) mark(at(&text), length_at, area::payload);
        };
        for (const auto& [key, value] : std::as_const(*objects.words)) {
            mark_string(key);
            mark_string(value);
        }
        for (const auto& each : std::as_const(*objects.numbers)) {
            mark(at(&each.first), 8, area::payload);
            mark(at(&each.second), 8, area::payload);
        }
        for (const auto& each : std::as_const(*objects.list)) mark(at(&each), 8, area::payload);
        for (const auto& each : std::as_const(*objects.line)) mark(at(&each), 8, area::payload);
        for (const auto& each : std::as_const(*objects.chain)) mark(at(&each), 8, area::payload);
        mark(at(objects.list), sizeof *objects.list, area::length);
        mark(at(objects.line), sizeof *objects.line, area::length);
    }

private:
    void mark_log(const std::vector<std::byte>& file) {
        const log_geometry log = log_of(block_);
        for (const std::uint64_t slot : format::truncation_slot_offset)
            mark(log.offset + slot, sizeof(format::truncation_slot), area::log_header);
        const auto replay = log_replay::read(file, log);
        if (!replay) return;
        for (const used_segment& each : replay->used_segments())
            mark(log.segment_offset(each.index), offsetof(format::segment_header, reserved_words),
                 area::segment_header);
        for (const found_record& each : replay->records()) {
            const bool is_last = &each == &replay->records().back();
            mark(each.payload_offset - sizeof(format::record_header),
                 sizeof(format::record_header) + each.payload_words * 8, is_last ? area::torn_tail : area::record);
            const std::uint64_t distance = each.payload_offset - log.segment_offset(0);
            if (is_last) last_segment_ = static_cast<std::uint32_t>(distance / log.segment_bytes);
        }
    }

    /// Walks a zone's blocks for zone_walk's sake; see heap/zone.hpp.
    void mark_heap(const heap_zone& zone) {
        using namespace heap_format;
        const zone_header shape = header_for(zone.offset, zone.bytes);
        mark(zone.offset, sizeof shape, area::zone_header);
        mark(shape.table_offset, shape.page_count * 8, area::descriptor);
        for (std::uint64_t index = 0; index < shape.page_count;) {
            std::uint64_t word;
            std::memcpy(&word, bytes_.data() + shape.table_offset + index * 8, sizeof word);
            const std::uint64_t offset = shape.data_offset + index * page_bytes;
            const descriptor what = decode(word, index, offset / page_bytes, shape.page_count).what;
            if (what.kind == kind_large) mark(offset, what.pages * page_bytes, area::structure);
            if (what.kind == kind_slab) mark_slab(offset, slab_classes[what.slab_class]);
            index += std::max(what.pages, 1u);
        }
    }
    void mark_slab(std::uint64_t offset, const heap_format::slab_class& shape) {
        mark(offset, shape.blocks, area::slab_state);
        for (std::uint32_t i = 0; i < shape.blocks; ++i)
            if (bytes_[offset + i] == std::byte{heap_format::block_allocated})
                mark(offset + shape.first_block + std::uint64_t{i} * shape.block_bytes, shape.block_bytes,
                     area::structure);
    }

    std::vector<std::byte> bytes_;
    byte_classes classes_;
    format::superblock block_{};
    std::uint32_t last_segment_ = 0;
};

}  // namespace holdfast::test
