#include <holdfast/pool/repair.hpp>

#include <holdfast/base/checksum.hpp>
#include <holdfast/format/roots.hpp>
#include <holdfast/heap/heap.hpp>
#include <holdfast/log/replay.hpp>
#include <holdfast/log/truncation.hpp>
#include <holdfast/persist/sites.hpp>
#include <holdfast/pool/boot.hpp>
#include <holdfast/pool/superblock.hpp>
#include <holdfast/powerfail/save.hpp>
#include <holdfast/powerfail/shadow_log.hpp>

#include <algorithm>
#include <cstring>
#include <optional>
#include <span>

namespace holdfast {
namespace {

using outcome = repair_step::outcome;

/// Undoes damage to one byte of `bytes`, if that is what makes `holds` true. A 32-bit checksum is wrong about that once
/// in 2^32 tries, of which there are 255 for each byte.
template <class Holds>
bool undo_one_byte(std::span<std::byte> bytes, Holds&& holds) {
    for (std::byte& each : bytes) {
        const std::byte before = each;
        for (unsigned difference = 1; difference < 256; ++difference) {
            each = before ^ std::byte(difference);
            if (holds()) return true;
        }
        each = before;
    }
    return false;
}

template <class T>
std::span<std::byte> bytes_of(T& object) noexcept {
    return std::as_writable_bytes(std::span(&object, 1));
}

class repairer {
public:
    repairer(persist::file& file, const persist::file& original) : file_(file), original_(original) {}

    result<std::vector<repair_step>> run() {
        if (auto done = mend_superblocks(); !done) return done.error();
        auto mapped = persist::mapping::map(file_, 0, block_.pool_bytes, block_.pool_bytes,
                                            persist::mapping::kind::shared);
        if (!mapped) return mapped.error();
        pool_ = {mapped->data(), block_.pool_bytes};
        if (auto done = take_log_over(); !done) return done.error();
        if (auto done = mend_log(); !done) return done.error();
        mend_zones();
        mend_roots();
        if (auto synced = mapped->sync_all(persist::site::pool_format); !synced) return synced.error();
        return std::move(steps_);
    }

private:
    void add(std::string part, outcome is, std::string words) {
        steps_.push_back({std::move(part), is, std::move(words)});
    }
    void put(std::uint64_t offset, const void* bytes, std::size_t size) {
        persist::copy(pool_.data() + offset, bytes, size, persist::site::pool_format);
    }

    result<void> mend_superblocks() {
        auto header = read_superblock(file_);
        if (!header) {
            if (header.error().code != errc::corrupt) return header.error();
            auto saved = save_superblock();
            if (!saved) return header.error();
            header = *saved;
        }
        block_ = *header;
        auto in_memory = log_outside_pool(block_, original_);
        if (!in_memory) return std::move(in_memory).give_error();
        shadow_ = std::move(*in_memory);
        if (auto marked = take_mark_over(); !marked) return marked;
        for (unsigned copy = 0; copy < 2; ++copy) {
            if (block_.generation % 2 == copy || read_superblock_copy(file_, copy)) continue;
            format::superblock older = block_;
            --older.generation;
            had_both_superblocks_ = false;
            if (auto written = write_superblock(file_, older); !written) return written;
            add("superblock", outcome::restored, "copy " + std::to_string(copy + 1) + " of 2, from the other");
        }
        return {};
    }

    /// The copy was made while nobody used the pool, so it counts as the file that was used.
    result<void> take_mark_over() {
        if (block_.file_mark == 0) return {};
        const auto original = mark_of(original_);
        if (!original) return original.error();
        if (block_.file_mark != *original) return {};
        const auto copy = mark_of(file_);
        if (!copy) return copy.error();
        block_.file_mark = *copy;
        return write_superblock(file_, block_);
    }

    /// A log in memory is the original's: the copy gets what is in it.
    result<void> take_log_over() {
        if (!shadow_) return {};
        powerfail::copy_log(shadow_->header(), pool_.data());
        block_ = saved_after(block_);
        return write_superblock(file_, block_);
    }

    /// A superblock that holds once damage to one byte of it is undone.
    std::optional<format::superblock> save_superblock() {
        for (unsigned copy = 0; copy < 2; ++copy) {
            format::superblock block;
            if (!file_.read_at(format::superblock_offset[copy], &block, sizeof block)) continue;
            const auto holds = [&] {
                return block.checksum == ~crc32c(&block, offsetof(format::superblock, checksum), ~0u);
            };
            if (!undo_one_byte(bytes_of(block), holds)) continue;
            if (!write_superblock(file_, block)) continue;
            auto read = read_superblock_copy(file_, copy);
            if (!read) continue;
            add("superblock", outcome::restored,
                "copy " + std::to_string(copy + 1) + " of 2, in which one byte was damaged; both were damaged, so the "
                "pool may have been used once more since this copy was written");
            return *read;
        }
        return std::nullopt;
    }

    result<void> mend_log() {
        const log_geometry log = log_of(block_);
        auto replay = log_replay::read(pool_, log, log_reading::salvage);
        if (!replay) return replay.error();
        std::uint64_t truncated = replay->report().truncated;
        const bool clean = block_.state == format::pool_state::clean;
        const bool has_point = read_truncation_point(pool_.data() + log.offset).has_value();
        if (!has_point && clean && had_both_superblocks_) {
            // A closed pool's records are all home; without the point that says so they look as if they were not.
            reset_log(pool_.data(), log, replay->report().last_sequence, false, {});
            add("log", outcome::restored,
                "truncation point: " + std::to_string(replay->report().last_sequence) + ", for the pool was closed");
        } else if (replay->report().records != 0 || !replay->damage().empty()) {
            // Also a sound one: what the heap's metadata are must stand in the file before they can be mended.
            if (!has_point && clean && replay->report().records != 0)
                add("log", outcome::lost,
                    "its end is unknown: a superblock is damaged too. The pool may have been closed after the last "
                    "applied record; later changes may be lost");
            bring_home(*replay, log);
            truncated = replay->report().last_sequence;
        }
        for (unsigned slot = 0; slot < 2; ++slot) {
            format::truncation_slot found;
            const std::uint64_t at = log.offset + format::truncation_slot_offset[slot];
            std::memcpy(&found, pool_.data() + at, sizeof found);
            if (truncation_slot_valid(found)) continue;
            found = make_truncation_slot(truncated);
            put(at, &found, sizeof found);
            add("log", outcome::restored, "slot " + std::to_string(slot + 1) + " of 2 of the truncation point: " +
                                              std::to_string(truncated));
        }
        return {};
    }

    /// Applies what verifies, empties the log, and names what may be missing where it was damaged.
    void bring_home(log_replay& replay, const log_geometry& log) {
        replay.apply(pool_);
        reset_log(pool_.data(), log, replay.report().last_sequence, false, {});
        if (replay.damage().empty()) return;
        const std::string missing = missing_sequences(replay);
        for (const error& each : replay.damage()) {
            // A truncation point alone loses nothing: segment headers name one from which all is still there.
            const bool harmless = each.offset == log.offset;
            if (!harmless) add("log", missing.empty() ? outcome::restored : outcome::lost, each.text());
        }
        if (!missing.empty())
            add("log", outcome::lost, "commits lost or never acknowledged: " + missing + "; the others were applied");
    }

    /// The numbers above the truncation point of which no whole record is there, as ranges; or open undo transactions
    /// that could not be rolled back with certainty.
    static std::string missing_sequences(const log_replay& replay) {
        std::string text;
        const auto note = [&](std::uint64_t first, std::uint64_t last) {
            if (first > last) return;
            text += (text.empty() ? "" : ", ") + std::to_string(first);
            if (last != first) text += "-" + std::to_string(last);
        };
        std::uint64_t next = replay.report().truncated + 1;
        const auto& records = replay.records();
        for (std::size_t i = 0; i < records.size();) {
            std::size_t end = i;
            while (end < records.size() && records[end].sequence == records[i].sequence) ++end;
            const bool redo = records[i].kind == format::record_kind::redo;
            const bool ended = std::any_of(records.begin() + static_cast<std::ptrdiff_t>(i),
                                           records.begin() + static_cast<std::ptrdiff_t>(end), [](const auto& each) {
                                               return each.kind == format::record_kind::undo_end;
                                           });
            const bool whole = redo ? replay.is_whole(i, end) : ended;
            // What an undo log does not show any more has ended.
            if (redo) note(next, records[i].sequence - 1);
            if (!whole) note(records[i].sequence, records[i].sequence);
            next = records[i].sequence + 1;
            i = end;
        }
        note(next, replay.report().last_sequence);
        return text;
    }

    void mend_zones() {
        for (std::uint32_t i = 0; i < block_.zone_count; ++i) {
            const heap_zone zone{block_.zones[i].offset, block_.zones[i].bytes};
            if (heap::open(pool_.data(), std::span(&zone, 1))) continue;
            heap::format_zone(pool_.data(), zone);
            add("heap", outcome::restored, "header of the zone at offset " + std::to_string(zone.offset) +
                                               ", from the superblock");
        }
    }

    void mend_roots() {
        const bool sealed = (block_.required_features & format::feature_seals) != 0;
        static constexpr format::root_entry zeros{};
        for (std::size_t index = 0; index < format::root_limit; ++index) {
            const std::uint64_t at = format::roots_offset + index * sizeof(format::root_entry);
            format::root_entry entry;
            std::memcpy(&entry, pool_.data() + at, sizeof entry);
            if (holds(entry) || (!sealed && std::memcmp(&entry, &zeros, sizeof entry) == 0)) continue;
            const std::string name = printable(entry);
            const std::string words = "entry " + std::to_string(index) + " at offset " + std::to_string(at);
            if (undo_one_byte(bytes_of(entry), [&] { return holds(entry); })) {
                put(at, &entry, sizeof entry);
                add("roots", outcome::restored, words + ", of which one byte was damaged: " + printable(entry));
                continue;
            }
            entry = sealed ? format::unused_root() : zeros;
            put(at, &entry, sizeof entry);
            add("roots", outcome::lost, words + ", given up; it read: " + name);
        }
    }

    bool holds(const format::root_entry& entry) const noexcept {
        return entry.checksum == checksum_of(entry) && entry.offset < pool_.size() &&
               entry.bytes <= pool_.size() - entry.offset;
    }
    static std::string printable(const format::root_entry& entry) {
        std::string text = "\"";
        for (const char each : text_of(entry.name)) text += each >= ' ' && each <= '~' ? each : '?';
        return text + "\", " + std::to_string(entry.bytes) + " bytes at " + std::to_string(entry.offset);
    }

    persist::file& file_;
    const persist::file& original_;
    format::superblock block_{};
    std::optional<powerfail::shadow_log> shadow_;
    bool had_both_superblocks_ = true;
    std::span<std::byte> pool_;
    std::vector<repair_step> steps_;
};

}  // namespace

result<std::vector<repair_step>> repair_metadata(persist::file& file, const persist::file& original) {
    return repairer(file, original).run();
}

}  // namespace holdfast
