// What a checkpoint writes to a file: of each page one range, with the last value of every word in it.
#pragma once

#include <holdfast/base/result.hpp>
#include <holdfast/format/log_record.hpp>
#include <holdfast/persist/file.hpp>

#include <cstddef>
#include <cstdint>
#include <span>
#include <vector>

namespace holdfast {

/// Gathers entries of records in the order of their groups, then writes their homes. A call of the kernel costs more
/// than a few kilobytes, and the entries of a log name the same pages again and again: where several fall into a page,
/// the range that they span is read, changed and written. What stands between them is written as it was. So nobody else
/// may write to pages that are named in the log, which is what the heap sees to: a block that is filled past the log
/// has no entry there.
///
/// It asks for memory only when it is made: a checkpoint that a full log needs must not fail for want of it. One thread
/// at a time.
class home_writer {
public:
    /// The file outlives this. `log_words`: as many as the log has; `payload_words`: as many as a record may have.
    /// Throws std::bad_alloc.
    home_writer(persist::file& file, std::uint64_t log_words, std::uint64_t payload_words);

    /// Forgets what was gathered. After an error some of it is in the file: begin again.
    void begin() noexcept;
    /// The entries of one record. Writes what was gathered before if they would not fit.
    result<void> add(std::span<const std::uint64_t> payload);
    /// Writes what is gathered. Not durable before a sync of the file. If the process dies inside, some pages have
    /// their new words: the log must still have them all. Errors: as file::write_at and read_at.
    result<void> write();

private:
    /// A part of an entry in one page.
    struct piece {
        std::uint64_t offset;  ///< in the pool
        std::uint32_t at;      ///< in words_, its first word
        std::uint16_t words;
        std::uint8_t mask;
    };
    static constexpr std::uint64_t page_bytes = 4096;
    /// Gathered at once: as many words as have room in two megabytes.
    static constexpr std::size_t words_at_most = 1 << 18;
    /// Pages that follow each other are written at once, up to this.
    static constexpr std::size_t written_at_once = 1 << 16;

    void gather(std::uint64_t offset, std::uint8_t mask, const std::uint64_t* words, std::uint64_t count);
    result<void> write_page(std::span<const piece> pieces);
    result<void> flush();

    persist::file& file_;
    // None of these grows beyond what was reserved for it.
    std::vector<std::uint64_t> words_;
    std::vector<piece> pieces_;
    std::vector<std::byte> written_;  ///< what the next write of the file takes, from begin_ on
    std::uint64_t begin_ = 0;
};

}  // namespace holdfast
