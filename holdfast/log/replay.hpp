// Recovery: what the log says, applied to the mapped bytes. No file calls.
#pragma once

#include <holdfast/base/result.hpp>
#include <holdfast/log/geometry.hpp>
#include <holdfast/log/home_stores.hpp>
#include <holdfast/log/replay_report.hpp>
#include <holdfast/log/scan.hpp>
#include <holdfast/log/segments.hpp>
#include <holdfast/persist/seam.hpp>

#include <cstddef>
#include <cstdint>
#include <span>
#include <vector>

namespace holdfast {

/// The log as recovery finds it. `read` reads and validates, `apply` stores; nothing is stored
/// before everything was validated.
///   1. Read the truncation point S: of the valid slots and of what sealed segment headers say of it the highest.
///   2. Read each segment from its start while records verify under its salt; the first that does
///      not ends the segment. Where it cannot be a torn tail (log/scan.hpp), it is damage.
///   3. Look for every commit that a sealed header calls acknowledged, and for every record of an open undo
///      transaction that a later one calls fenced. A missing one is damage.
///   4. Redo: keep records above S whose parts are all there. A missing number is a commit that was not acknowledged:
///      where the log keeps a prefix, all behind it are dropped, since they may have used what it left; elsewhere its
///      locks were held until it was durable, and nobody has seen it. Apply in order of sequence.
///      Undo: keep transactions above S without an end; apply their records, newest first.
///   5. Store page by page, in that order within a page (log/home_stores.hpp).
class log_replay {
public:
    /// Errors: corrupt (numbers that no pool reaches), and unless the log is read to salvage it: corrupt (no valid
    /// truncation point; an entry outside roots and heap; read strictly, damage that is no torn tail).
    /// `pool` is the whole pool, mapped anywhere.
    static result<log_replay> read(std::span<const std::byte> pool, const log_geometry& geometry,
                                   log_reading how = log_reading::strict);

    /// Stores to the homes in `pool`, and returns what it stored. Idempotent: it reads only the log, which it does not
    /// write. Throws std::bad_alloc: then nothing is stored. What holds if the process dies inside: the log is as it
    /// was, so the next run repeats it.
    home_stores apply(std::span<std::byte> pool, const storing& how = {});

    const replay_report& report() const noexcept { return report_; }
    /// Segments with records above the truncation point, in the order in which they were filled.
    const std::vector<used_segment>& used_segments() const noexcept { return used_; }
    /// True when every record above the truncation point is whole, none lacking a part.
    bool all_whole() const;
    /// By sequence, then number.
    const std::vector<found_record>& records() const noexcept { return records_; }
    /// Whether records [begin, end), all of one sequence, are all parts of a redo commit.
    bool is_whole(std::size_t begin, std::size_t end) const;
    /// The findings of a salvage read.
    const std::vector<error>& damage() const noexcept { return damage_; }

private:
    result<void> find_truncation_point(std::span<const std::byte> pool, const log_geometry& geometry,
                                       log_reading how);
    result<void> check_room_for_numbers(const log_geometry& geometry) const;
    void scan(std::span<const std::byte> pool, const log_geometry& geometry, log_reading how);
    /// Goes on above the numbers of torn records too: what is left of one must not look like a record that came
    /// after the next lap's first, were that torn as well.
    void pass_torn_sequences(std::span<const std::uint64_t> torn, const log_geometry& geometry) noexcept;
    void check_acknowledged(std::span<const segment_contents> segments, const log_geometry& geometry);
    void check_fenced();
    void keep_prefix();
    bool is_acknowledged_there(std::uint64_t sequence) const;
    bool has_ended(std::uint64_t sequence) const;
    static result<void> check_bounds(std::span<const std::byte> pool, const log_geometry& geometry,
                                     const found_record& record);
    result<void> check_bounds(std::span<const std::byte> pool, const log_geometry& geometry, log_reading how);
    void add_redo(std::span<const std::byte> pool, home_stores& stores);
    void add_undo(std::span<const std::byte> pool, home_stores& stores);
    void add_record(std::span<const std::byte> pool, const found_record& record, home_stores& stores);

    std::vector<found_record> records_;
    std::vector<error> damage_;
    std::vector<used_segment> used_;
    replay_report report_;
};

/// The rest of recovery where homes are shared memory: makes the records durable where it persists, applies them, makes
/// the homes durable, and empties the log. Throws std::bad_alloc: then nothing is stored. What holds if the process
/// dies inside: the log is whole until all homes are durable, so the next run repeats it.
void finish_in_place(log_replay& replay, std::span<std::byte> pool, const log_geometry& geometry, const storing& how);

/// After replay, with the touched homes durable: makes `last_sequence` the truncation point and
/// empties every segment, durably where `persists`, so that no record or user byte of before can
/// verify again. For media mapped shared.
void reset_log(std::byte* pool, const log_geometry& geometry, std::uint64_t last_sequence, bool persists,
               const persist::line_path& lines);

/// Formats the log of a new pool over all-zero bytes.
void format_log(std::byte* pool, const log_geometry& geometry, bool persists, const persist::line_path& lines);

}  // namespace holdfast
