// Recovery: what the log says, applied to the mapped bytes. No file calls.
#pragma once

#include <holdfast/base/result.hpp>
#include <holdfast/log/geometry.hpp>
#include <holdfast/log/line_set.hpp>
#include <holdfast/log/segments.hpp>
#include <holdfast/persist/seam.hpp>

#include <cstddef>
#include <cstdint>
#include <span>
#include <vector>

namespace holdfast {

/// What recovery found and did.
struct replay_report {
    std::uint64_t records = 0;         ///< whole records above the truncation point
    std::uint64_t applied = 0;         ///< of these, applied
    std::uint64_t truncated = 0;       ///< the truncation point S
    std::uint64_t last_sequence = 0;   ///< highest number seen; the next commit draws one above
    std::uint64_t words = 0;           ///< stored to homes
};

/// The log as recovery finds it. `read` looks and judges, `apply` stores; nothing is stored
/// before everything was judged.
///   1. Read the truncation point S.
///   2. Read each segment from its start while records verify under its salt; the first that does
///      not ends the segment.
///   3. Redo: keep records above S whose parts are all there; a missing number is a commit that
///      was not acknowledged. Apply in order of sequence.
///      Undo: keep transactions above S without an end; apply their records, newest first.
class log_replay {
public:
    /// Errors: corrupt (no valid truncation point; an entry outside roots and heap). `pool` is the
    /// whole pool, mapped anywhere.
    static result<log_replay> read(std::span<const std::byte> pool, const log_geometry& geometry);

    /// Stores to the homes in `pool` and adds each touched line to `touched`. Idempotent: it reads
    /// only the log, which it does not write. What holds if the process dies inside: the log is as
    /// it was, so the next run repeats it.
    void apply(std::span<std::byte> pool, line_set& touched);

    const replay_report& report() const noexcept { return report_; }
    /// Segments with records above the truncation point, in the order in which they were filled.
    const std::vector<used_segment>& used_segments() const noexcept { return used_; }
    /// True when every record above the truncation point is whole, none lacking a part.
    bool all_whole() const;

private:
    struct found_record {
        std::uint64_t sequence;
        std::uint32_t number;  ///< redo: part. undo: number within the transaction
        std::uint16_t parts;
        format::record_kind kind;
        std::uint64_t payload_offset;  ///< from the start of the pool
        std::uint64_t payload_words;
    };

    void scan(std::span<const std::byte> pool, const log_geometry& geometry, std::uint32_t segment,
              std::uint64_t truncated);
    result<void> check_bounds(std::span<const std::byte> pool, const log_geometry& geometry) const;
    bool is_whole(std::size_t begin, std::size_t end) const;
    void apply_redo(std::span<std::byte> pool, line_set& touched);
    void apply_undo(std::span<std::byte> pool, line_set& touched);
    void apply_record(std::span<std::byte> pool, const found_record& record, line_set& touched);

    std::vector<found_record> records_;  ///< by sequence, then number
    std::vector<used_segment> used_;
    replay_report report_;
};

/// The rest of recovery where homes are shared memory: applies the replay, makes the homes durable
/// where `persists`, and empties the log. What holds if the process dies inside: the log is whole
/// until all homes are durable, so the next run repeats it.
void finish_in_place(log_replay& replay, std::span<std::byte> pool, const log_geometry& geometry, bool persists,
                     const persist::line_path& lines);

/// After replay, with the touched homes durable: makes `last_sequence` the truncation point and
/// empties every segment, durably where `persists`, so that no record or user byte of before can
/// verify again. For media mapped shared.
void reset_log(std::byte* pool, const log_geometry& geometry, std::uint64_t last_sequence, bool persists,
               const persist::line_path& lines);

/// Formats the log of a new pool over all-zero bytes.
void format_log(std::byte* pool, const log_geometry& geometry, bool persists, const persist::line_path& lines);

}  // namespace holdfast
