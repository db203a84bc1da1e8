// A record of the hardware's log as the NVRAM has it: the paper's fields in 32 bytes, or 64.
//
//   word 0     address of the first byte, 48 bits; transaction, 16 bits
//   word 1     thread, 8 bits; bytes, 4; kind, 2; torn bit, 1; which words of the line (merged records), 8; the
//              hardware's number of the transaction, 8, which no other active one has: recovery goes by this
//   words 2, 3 undo and redo value; of a merged record one such pair for each word, lowest first; of a commit record in
//              word 2 its number among the commits of all harts
//
// A record never crosses a line, so a line that reaches the array has it whole or not at all. The torn bit says of
// which lap of the ring it is: 1 in the first one, so that what was never written, zero, is no record. All records of a
// log have one size: the second half of a longer one from the lap before would have any bit where a record of half its
// size has the torn one.
#pragma once

#include <sim/base/line.hpp>

#include <array>
#include <optional>

namespace holdfast::sim {

struct logged_word {
    std::uint64_t undo = 0;
    std::uint64_t redo = 0;
};

struct log_record {
    enum class kind : std::uint8_t { none, store, merged, commit };
    static constexpr std::uint64_t unit_bytes = 32;
    static constexpr std::uint32_t words_most = 3;

    kind what = kind::none;
    transaction_id transaction{};
    hart_id thread{};         ///< the hart's number
    std::uint8_t active = 0;  ///< the transaction's, while it is active
    address where{};          ///< of a merged record its line
    std::uint8_t bytes = 0;   ///< 1 to 8, of `words[0]`
    std::uint8_t in_line = 0; ///< of a merged record: bit i stands for word i of the line
    bool torn = false;
    std::uint64_t number = 0; ///< of a commit, from 1
    std::array<logged_word, words_most> words{};

    std::uint32_t word_count() const noexcept {
        if (what == kind::merged) return static_cast<std::uint32_t>(std::popcount(in_line));
        return what == kind::store ? 1 : 0;
    }

    /// Calls f(address, bytes, word) for each word that was stored.
    template <class F>
    void for_each_word(F&& f) const {
        if (what == kind::store) f(where, bytes, words[0]);
        if (what != kind::merged) return;
        std::size_t next = 0;
        for (unsigned rest = in_line; rest != 0; rest &= rest - 1)
            f(where + 8u * static_cast<unsigned>(std::countr_zero(rest)), std::uint8_t{8}, words[next++]);
    }
};

using record_bytes = std::array<std::byte, line_bytes>;

/// Of a record without merged words the first 32 bytes count.
inline record_bytes encoded(const log_record& record) noexcept {
    std::array<std::uint64_t, 8> all{};
    all[0] = record.where.value | std::uint64_t{record.transaction.value} << 48;
    const std::uint64_t what = static_cast<std::uint8_t>(record.what);
    all[1] = record.thread.value | std::uint64_t{record.bytes} << 8 | what << 12 | std::uint64_t{record.torn} << 14 |
             std::uint64_t{record.in_line} << 16 | std::uint64_t{record.active} << 24;
    for (std::size_t i = 0; i < record.words.size(); ++i) {
        all[2 + 2 * i] = record.words[i].undo;
        all[3 + 2 * i] = record.words[i].redo;
    }
    if (record.what == log_record::kind::commit) all[2] = record.number;
    record_bytes bytes;
    std::memcpy(bytes.data(), all.data(), bytes.size());
    return bytes;
}

/// Requires: `bytes` are 32, or 64.
inline log_record decoded(std::span<const std::byte> bytes) noexcept {
    std::array<std::uint64_t, 8> all{};
    std::memcpy(all.data(), bytes.data(), std::min<std::size_t>(bytes.size(), sizeof all));
    log_record record;
    record.where = {all[0] & ((std::uint64_t{1} << 48) - 1)};
    record.transaction = {static_cast<std::uint16_t>(all[0] >> 48)};
    record.thread = {static_cast<std::uint32_t>(all[1] & 0xff)};
    record.bytes = static_cast<std::uint8_t>(all[1] >> 8 & 0xf);
    record.what = static_cast<log_record::kind>(all[1] >> 12 & 3);
    record.torn = (all[1] >> 14 & 1) != 0;
    record.in_line = static_cast<std::uint8_t>(all[1] >> 16 & 0xff);
    record.active = static_cast<std::uint8_t>(all[1] >> 24 & 0xff);
    if (record.what == log_record::kind::commit) {
        record.number = all[2];
        return record;
    }
    for (std::size_t i = 0; i < record.words.size(); ++i) record.words[i] = {all[2 + 2 * i], all[3 + 2 * i]};
    return record;
}

}  // namespace holdfast::sim
