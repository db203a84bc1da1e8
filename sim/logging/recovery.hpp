// Recovery from the NVRAM image alone (the paper, IV-F). Nothing but words of the program's data is written, so it may
// be cut at each of its writes and begin again.
//
//   1. Read how many logs there are, and of each the links to regions that were added, the head, and the log from there
//      on, until a torn bit is not that of its lap: the tail.
//   2. Find the transactions that have a commit record. A number of the hardware is used again at once, so of a log's
//      records with one number those between two commit records are one transaction's.
//   3. Write the undo values of the others, newest record first. Of two logs none has a word of the other one here:
//      neither transaction has committed, and programs lock what they store to until they have.
//   4. Write the redo values of those that committed, in the order of their commits' numbers. Those up to the number up
//      to which all is home are left out: a newer record of their words may be gone from another log.
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
    std::uint64_t laps = 0;       ///< of the log that has most
};

/// `Image` has read_bytes(address, span) and write_bytes(address, span), as memory_image.
template <class Image>
class log_recovery {
public:
    log_recovery(Image& image, const log_config& config) : image_(image), config_(config) {}

    recovery_report recover(const port::log_region& region) {
        const log_header first = header_found_in(image_, region.begin);
        const std::uint64_t logs = std::max<std::uint64_t>(first.logs, 1);
        for (std::uint64_t log = 0; log < logs; ++log) read(ring_found_in(image_, part_of_region(region, log, logs)));
        if (config_.values != logged_values::redo) undo();
        if (config_.values != logged_values::undo) redo(first.home);
        return report_;
    }

private:
    struct found_record {
        log_record record;
        std::size_t transaction = 0;
    };
    struct found_transaction {
        bool has_committed = false;
        std::uint64_t number = ~std::uint64_t{0};  ///< of its commit
    };

    // ---- 1. and 2.
    void read(const log_ring& ring) {
        std::map<std::uint8_t, std::size_t> open;  // of each number of an active transaction
        log_ring::position at = header_found_in(image_, ring.head_place()).head;
        const std::uint64_t bytes = bytes_of(config_.record);
        for (const log_ring::position end = at + ring.units(); at < end;) {
            const log_ring::spot spot = ring.at(at);
            const log_record record = record_at(spot.place, bytes);
            if (record.torn != spot.torn && !is_planted(planted_fault::torn_bit_ignored)) break;
            at += bytes / log_record::unit_bytes;
            report_.records += 1;
            const auto [found, is_new] = open.try_emplace(record.active, transactions_.size());
            if (is_new) transactions_.push_back({});
            records_.push_back({record, found->second});
            if (record.what != log_record::kind::commit) continue;
            transactions_[found->second] = {true, record.number};
            report_.committed += 1;
            if (!is_planted(planted_fault::commits_not_told_apart)) open.erase(found);
        }
        report_.laps = std::max(report_.laps, at / ring.units());
    }
    log_record record_at(address place, std::uint64_t size) const {
        record_bytes bytes{};
        image_.read_bytes(place, std::span(bytes).first(size));
        return decoded(std::span<const std::byte>(bytes).first(size));
    }

    // ---- 3.
    void undo() {
        if (is_planted(planted_fault::undo_oldest_first)) std::reverse(records_.begin(), records_.end());
        for (auto each = records_.rbegin(); each != records_.rend(); ++each) {
            if (!is_undone(*each)) continue;
            each->record.for_each_word([&](address where, std::uint8_t bytes, const logged_word& word) {
                put(where, bytes, word.undo);
                report_.undone += 1;
            });
        }
        if (is_planted(planted_fault::undo_oldest_first)) std::reverse(records_.begin(), records_.end());
    }
    bool is_undone(const found_record& each) const {
        return !transactions_[each.transaction].has_committed || is_planted(planted_fault::undo_everything);
    }

    // ---- 4.
    void redo(std::uint64_t home) {
        std::vector<const found_record*> committed;
        for (const found_record& each : records_) {
            const bool is_redone = is_planted(planted_fault::redo_uncommitted) || !is_undone(each);
            if (is_redone && number_of(each) > home) committed.push_back(&each);
        }
        // A transaction's records stand in the order in which they were found.
        const auto is_earlier = [this](const found_record* a, const found_record* b) {
            return number_of(*a) != number_of(*b) ? number_of(*a) < number_of(*b) : a < b;
        };
        if (!is_planted(planted_fault::numbers_ignored)) std::sort(committed.begin(), committed.end(), is_earlier);
        for (const found_record* const each : committed) {
            each->record.for_each_word([&](address where, std::uint8_t bytes, const logged_word& word) {
                put(where, bytes, word.redo);
                report_.redone += 1;
            });
        }
    }
    std::uint64_t number_of(const found_record& each) const { return transactions_[each.transaction].number; }

    void put(address where, std::uint8_t bytes, std::uint64_t value) {
        image_.write_bytes(where, std::as_bytes(std::span(&value, 1)).first(bytes));
    }

    Image& image_;
    const log_config& config_;
    std::vector<found_record> records_{};  ///< of one log behind the other, each from head to tail
    std::vector<found_transaction> transactions_{};
    recovery_report report_{};
};

template <class Image>
recovery_report recover(Image& image, const port::log_region& region, const log_config& config) {
    return log_recovery<Image>(image, config).recover(region);
}

}  // namespace holdfast::sim
