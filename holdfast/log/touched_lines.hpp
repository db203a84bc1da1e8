// Lines whose homes were stored and are to be written back together, each once.
#pragma once

#include <holdfast/format/log_record.hpp>
#include <holdfast/log/line_set.hpp>
#include <holdfast/persist/line_path.hpp>
#include <holdfast/persist/seam.hpp>

#include <cstddef>
#include <cstdint>
#include <new>

namespace holdfast {

/// Gathers lines of `homes`. One thread at a time.
class touched_lines {
public:
    touched_lines(const std::byte* homes, std::uint64_t pool_bytes, const persist::line_path& lines,
                  persist::site_id where)
        : homes_(homes), lines_(lines), where_(where), touched_(pool_bytes) {}

    /// Words from this offset on were stored. Without memory to remember a line it is written back at once.
    void add(std::uint64_t offset, std::uint64_t words) {
        const std::uint64_t last = (offset + words * 8 - 1) / persist::line_bytes;
        for (std::uint64_t line = offset / persist::line_bytes; line <= last; ++line) {
            try {
                touched_.insert(line);
            } catch (const std::bad_alloc&) {
                persist::write_back_one(lines_, homes_ + line * persist::line_bytes, where_);
            }
        }
    }
    /// The same for each entry of a record.
    void add_homes_of(const std::uint64_t* payload, std::uint64_t payload_words) {
        for (const std::uint64_t* at = payload; at < payload + payload_words;) {
            const format::entry each = format::entry_of(*at);
            add(each.offset, each.words);
            at += 1 + each.words;
        }
    }
    std::uint64_t count() const noexcept { return touched_.count(); }
    /// Writes that many lines back, up to 63 more, or all, in ascending order, and forgets them. The caller fences.
    void write_some_back(std::uint64_t most) {
        touched_.take(most, [this](std::uint64_t first, std::uint64_t count) { write_run_back(first, count); });
    }
    /// The same for all.
    void write_back() {
        touched_.for_each_run([this](std::uint64_t first, std::uint64_t count) { write_run_back(first, count); });
        touched_.clear();
    }

private:
    void write_run_back(std::uint64_t first, std::uint64_t count) {
        persist::write_back(lines_, homes_ + first * persist::line_bytes, count * persist::line_bytes, where_);
    }

    const std::byte* homes_;
    persist::line_path lines_;
    persist::site_id where_;
    line_set touched_;
};

}  // namespace holdfast
