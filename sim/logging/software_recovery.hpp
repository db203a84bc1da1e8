// Recovery from the logs that software keeps. Nothing but words of the program's data is written, so it may be cut at
// each of its writes and begin again.
//
//   1. Find the records of each ring: those with a lap. A record that was only partly durable has none, or the lap
//      before.
// undo, redo:
//   2. What stands behind the newest mark `retired` belongs to the transaction that was open.
//   3. Of a log of old values: write those before the first that is missing, newest record first. No line was written
//      back while one is missing, and one behind it may have what the same transaction stored before.
//   4. Of a log of new values: if the mark `committed` is there, and as many records before it as it says, write them.
// undo, redo in a central log:
//   2. What is a whole ring before the newest record, or further, has retired: nobody wrote that one before.
//   3. Of each transaction behind it find the parts, in order, up to the first record that is missing. If its mark
//      `retired` is not there, do as in 3 and 4 above. Of two of these none has a word of the other one: programs lock
//      what they store to until they have retired.
// steal but no force:
//   2. Find the head: the largest number that a thread has left. Up to it all is home.
//   3. Find the transactions behind it whose mark `committed` is there, and as many records before it as it says.
//   4. Write their values in the order of their numbers. Older values of a word come before newer ones, and a record
//      whose word has newer ones that are gone is not behind the head.
#pragma once

#include <sim/base/line.hpp>
#include <sim/base/software_log.hpp>

#include <algorithm>
#include <map>
#include <utility>
#include <vector>

namespace holdfast::sim {

enum class software_logging : std::uint8_t { undo, redo, steal_no_force };

struct software_recovery_report {
    std::uint64_t undone = 0;  ///< words
    std::uint64_t redone = 0;
    std::uint64_t laps = 0;    ///< of the log that has most
};

/// `Image` has read_bytes(address, span) and write_bytes(address, span), as memory_image.
template <class Image>
class software_recovery {
public:
    software_recovery(Image& image, const software_log_layout& layout) : image_(image), layout_(layout) {}

    /// Requires: no log that has wrapped 65,535 times.
    software_recovery_report recover(software_logging how) {
        if (how == software_logging::steal_no_force) {
            replay();
        } else if (layout_.is_central()) {
            for (const found_records& each : open_transactions(records_of(0))) {
                how == software_logging::undo ? undo_all(each) : redo(each);
            }
        } else {
            for (std::uint32_t log = 0; log < layout_.logs; ++log) {
                const auto records = records_of(log);
                how == software_logging::undo ? undo(records, log) : redo(records);
            }
        }
        return report_;
    }

private:
    struct found_record {
        std::uint64_t position;  ///< over all laps
        software_record record;
    };
    using found_records = std::vector<found_record>;
    using place = found_records::const_iterator;

    found_records records_of(std::uint32_t log) {
        std::vector<software_record> ring(layout_.records);
        image_.read_bytes(layout_.of(log), std::as_writable_bytes(std::span(ring)));
        found_records found;
        for (std::uint64_t slot = 0; slot < ring.size(); ++slot) {
            if (ring[slot].lap() != 0) found.push_back({ring[slot].lap() * layout_.records + slot, ring[slot]});
        }
        std::sort(found.begin(), found.end(), [](auto& a, auto& b) { return a.position < b.position; });
        if (!found.empty()) report_.laps = std::max(report_.laps, found.back().record.lap());
        return found;
    }
    void put(const software_record& record, std::uint64_t& count) {
        image_.write_bytes({record.address()}, std::as_bytes(std::span(&record.value, 1)));
        ++count;
    }

    /// The first record behind the newest mark `retired`.
    static place open_in(const found_records& records) {
        const auto is_retired = [](const found_record& each) {
            return each.record.mark() == software_record::retired;
        };
        return std::find_if(records.rbegin(), records.rend(), is_retired).base();
    }
    void undo(const found_records& records, std::uint32_t log) {
        const place open = open_in(records);
        const bool has_mark = open != records.begin();
        std::uint64_t expected = has_mark ? std::prev(open)->position + 1 : layout_.first_record(log);
        place end = open;
        for (; end != records.end() && end->position == expected; ++end) ++expected;
        while (end != open) put((--end)->record, report_.undone);
    }
    void undo_all(const found_records& records) {
        for (auto each = records.rbegin(); each != records.rend(); ++each) put(each->record, report_.undone);
    }
    void redo(const found_records& records) {
        for (place mark = open_in(records); mark != records.end(); ++mark) {
            if (!is_whole(records, mark)) continue;
            for (place each = mark - of_mark(mark); each != mark; ++each) put(each->record, report_.redone);
        }
    }

    static std::ptrdiff_t of_mark(place mark) { return static_cast<std::ptrdiff_t>(mark->record.number()); }
    /// Whether it is the mark of a transaction all of whose records are there.
    static bool is_whole(const found_records& records, place mark) {
        if (mark->record.mark() != software_record::committed) return false;
        const std::ptrdiff_t count = of_mark(mark);
        return count <= mark - records.begin() &&
               (mark - count)->position == mark->position - static_cast<std::uint64_t>(count);
    }

    /// Of a central log: the records of each transaction that has not retired, without the marks that begin its parts.
    std::vector<found_records> open_transactions(const found_records& all) {
        std::map<std::uint64_t, found_records> found;  // by number
        found_records* followed = nullptr;             // which transaction's part is looked at
        std::uint64_t next = 0;
        for (const found_record& each : all) {
            if (each.position + layout_.records <= all.back().position) continue;
            if (each.record.mark() == software_record::begun) {
                found_records& mine = found[each.record.value];
                followed = mine.size() == each.record.number() ? &mine : nullptr;
            } else if (followed != nullptr && each.position == next) {
                followed->push_back({followed->size(), each.record});
            } else {
                followed = nullptr;
            }
            next = each.position + 1;
        }
        std::vector<found_records> open;
        for (auto& [number, records] : found) {
            const bool is_open = !records.empty() && records.back().record.mark() != software_record::retired;
            if (is_open) open.push_back(std::move(records));
        }
        return open;
    }

    void replay() {
        std::uint64_t head = 0;
        for (std::uint32_t thread = 0; thread < layout_.threads; ++thread) {
            std::uint64_t of_thread = 0;
            image_.read_bytes(layout_.head_of(thread), std::as_writable_bytes(std::span(&of_thread, 1)));
            head = std::max(head, of_thread);
        }
        std::vector<found_records> logs;
        std::vector<place> marks;
        for (std::uint32_t log = 0; log < layout_.logs; ++log) logs.push_back(records_of(log));
        for (const found_records& records : logs) {
            for (place mark = records.begin(); mark != records.end(); ++mark) {
                if (is_whole(records, mark) && mark->record.value > head) marks.push_back(mark);
            }
        }
        std::sort(marks.begin(), marks.end(), [](place a, place b) { return a->record.value < b->record.value; });
        for (const place mark : marks) {
            for (place each = mark - of_mark(mark); each != mark; ++each) put(each->record, report_.redone);
        }
    }

    Image& image_;
    const software_log_layout& layout_;
    software_recovery_report report_{};
};

template <class Image>
software_recovery_report recover_software_logs(Image& image, const software_log_layout& layout, software_logging how) {
    return software_recovery<Image>(image, layout).recover(how);
}

}  // namespace holdfast::sim
