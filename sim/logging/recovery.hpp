// Recovery from the NVRAM image alone (the paper, IV-F). Nothing but words of the program's data is written, so it may
// be cut at each of its writes and begin again.
//
//   1. Read the links to regions that were added, the head, and the log from there on, until a torn bit is not that of
//      its lap: the tail.
//   2. Find the transactions that have a commit record. A number is used again at once, so of the records with one
//      number those between two commit records are one transaction's.
//   3. Write the undo values of the others, newest record first.
//   4. Write the redo values of those that committed, oldest first.
// A log of undo values alone has no step 4, one of redo values no step 3.
#pragma once

#include <sim/base/planted.hpp>
#include <sim/logging/log_config.hpp>
#include <sim/logging/log_ring.hpp>

#include <algorithm>
#include <map>
#include <vector>

namespace holdfast::sim {

struct recovery_report {
    std::uint64_t records = 0;
    std::uint64_t undone = 0;  ///< words
    std::uint64_t redone = 0;
    std::uint64_t committed = 0;  ///< transactions whose commit record was found
    log_ring::position tail = 0;
};

/// `Image` has read_bytes(address, span) and write_bytes(address, span), as memory_image.
template <class Image>
recovery_report recover(Image& image, const port::log_region& region, const log_config& config) {
    const log_ring ring = ring_found_in(image, region);
    struct found_record {
        log_record record;
        std::size_t transaction = 0;  ///< in `committed`
    };
    std::vector<found_record> log;
    std::vector<bool> committed;
    std::map<std::uint8_t, std::size_t> open;  // of each number of an active transaction
    recovery_report report;

    log_ring::position at = 0;
    image.read_bytes(ring.head_place(), std::as_writable_bytes(std::span(&at, 1)));
    for (const log_ring::position end = at + ring.units(); at < end;) {
        record_bytes bytes{};
        const std::uint64_t size = bytes_of(config.record);
        const log_ring::spot spot = ring.at(at);
        image.read_bytes(spot.place, std::span(bytes).first(size));
        const log_record record = decoded(std::span<const std::byte>(bytes).first(size));
        if (record.torn != spot.torn && !is_planted(planted_fault::torn_bit_ignored)) break;
        at += size / log_record::unit_bytes;
        report.records += 1;
        const auto [found, is_new] = open.try_emplace(record.active, committed.size());
        if (is_new) committed.push_back(false);
        log.push_back({record, found->second});
        if (record.what != log_record::kind::commit) continue;
        committed[found->second] = true;
        report.committed += 1;
        if (!is_planted(planted_fault::commits_not_told_apart)) open.erase(found);
    }
    report.tail = at;

    const auto put = [&](address where, std::uint8_t bytes, std::uint64_t value) {
        image.write_bytes(where, std::as_bytes(std::span(&value, 1)).first(bytes));
    };
    const auto undo = [&](const found_record& each) {
        each.record.for_each_word([&](address where, std::uint8_t bytes, const logged_word& word) {
            put(where, bytes, word.undo);
            report.undone += 1;
        });
    };
    const auto is_undone = [&](const found_record& each) {
        return !committed[each.transaction] || is_planted(planted_fault::undo_everything);
    };
    if (is_planted(planted_fault::undo_oldest_first)) std::reverse(log.begin(), log.end());
    if (config.values != logged_values::redo)
        for (auto each = log.rbegin(); each != log.rend(); ++each)
            if (is_undone(*each)) undo(*each);
    if (is_planted(planted_fault::undo_oldest_first)) std::reverse(log.begin(), log.end());
    if (config.values != logged_values::undo)
        for (const found_record& each : log)
            if (is_planted(planted_fault::redo_uncommitted) || !is_undone(each))
                each.record.for_each_word([&](address where, std::uint8_t bytes, const logged_word& word) {
                    put(where, bytes, word.redo);
                    report.redone += 1;
                });
    return report;
}

}  // namespace holdfast::sim
