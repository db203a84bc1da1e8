#include <holdfast/log/home_writer.hpp>

#include <holdfast/base/assertion.hpp>
#include <holdfast/log/planted.hpp>
#include <holdfast/log/sites.hpp>

#include <algorithm>
#include <bitset>
#include <cstring>
#include <utility>

namespace holdfast {
namespace {

namespace site = persist::site;

constexpr std::uint64_t word_bytes = sizeof(std::uint64_t);
constexpr std::uint8_t whole_word = 0xFF;

/// What stands in memory instead; the normal build never asks.
const std::byte* planted_bytes([[maybe_unused]] std::uint64_t offset) noexcept {
#ifdef HOLDFAST_OBSERVED
    return static_cast<const std::byte*>(planted_pool) + offset;
#else
    return nullptr;
#endif
}

void put_bytes(std::byte* to, const std::byte* from, std::uint64_t words, std::uint8_t mask) noexcept {
    if (mask == whole_word) {
        std::memcpy(to, from, words * word_bytes);
        return;
    }
    for (unsigned i = 0; i < word_bytes; ++i)
        if ((mask >> i & 1u) != 0) to[i] = from[i];
}

}  // namespace

home_writer::home_writer(persist::file& file, std::uint64_t log_words, std::uint64_t payload_words) : file_(file) {
    const std::size_t words = std::max<std::size_t>(std::min<std::size_t>(log_words, words_at_most), payload_words);
    words_.reserve(words);
    // A piece has a word at least.
    pieces_.reserve(words);
    written_.reserve(written_at_once);
}

void home_writer::begin() noexcept {
    words_.clear();
    pieces_.clear();
    written_.clear();
}

result<void> home_writer::add(std::span<const std::uint64_t> payload) {
    HOLDFAST_ASSERT(payload.size() <= words_.capacity(), "a record has as many words as was said");
    if (words_.size() + payload.size() > words_.capacity())
        if (auto written = write(); !written) return written;
    for (std::size_t at = 0; at < payload.size();) {
        const format::entry each = format::entry_of(payload[at]);
        gather(each.offset, each.mask, &payload[at + 1], each.words);
        at += 1 + each.words;
    }
    return {};
}

void home_writer::gather(std::uint64_t offset, std::uint8_t mask, const std::uint64_t* words, std::uint64_t count) {
    const auto first = static_cast<std::uint32_t>(words_.size());
    words_.insert(words_.end(), words, words + count);
    for (std::uint64_t done = 0; done < count;) {
        const std::uint64_t from = offset + done * word_bytes;
        const std::uint64_t in_page = std::min(count - done, (page_bytes - from % page_bytes) / word_bytes);
        pieces_.push_back({from, first + static_cast<std::uint32_t>(done), static_cast<std::uint16_t>(in_page), mask});
        done += in_page;
    }
}

result<void> home_writer::write() {
    const auto page_of = [](const piece& each) { return each.offset / page_bytes; };
    // Within a page in the order of the groups: of two stores to a word the later one counts.
    std::ranges::sort(pieces_, {}, [&](const piece& each) { return std::pair(page_of(each), each.at); });
    for (auto first = pieces_.begin(); first != pieces_.end();) {
        const auto last =
            std::find_if(first, pieces_.end(), [&](const piece& each) { return page_of(each) != page_of(*first); });
        if (auto written = write_page({first, last}); !written) return written;
        first = last;
    }
    words_.clear();
    pieces_.clear();
    return flush();
}

result<void> home_writer::write_page(std::span<const piece> pieces) {
    std::uint64_t begin = pieces.front().offset, end = begin;
    for (const piece& each : pieces) {
        begin = std::min(begin, each.offset);
        end = std::max(end, each.offset + each.words * word_bytes);
    }
    // Behind what is to be written already, if it ends where this begins.
    if (begin_ + written_.size() != begin || written_.size() + (end - begin) > written_at_once) {
        if (auto flushed = flush(); !flushed) return flushed;
        begin_ = begin;
    }
    const std::uint64_t page = begin / page_bytes * page_bytes;
    std::bitset<page_bytes / word_bytes> stored;
    for (const piece& each : pieces)
        if (each.mask == whole_word)
            for (std::uint64_t i = 0; i < each.words; ++i) stored.set((each.offset - page) / word_bytes + i);
    const std::size_t at = written_.size();
    written_.resize(at + (end - begin));
    std::byte* const bytes = written_.data() + at;
    if (stored.count() != (end - begin) / word_bytes)
        if (auto read = file_.read_at(begin, bytes, end - begin); !read) return read;
    for (const piece& each : pieces) {
        const auto* from = reinterpret_cast<const std::byte*>(words_.data() + each.at);
        if (is_planted(planted::checkpoint_from_memory)) from = planted_bytes(each.offset);
        put_bytes(bytes + (each.offset - begin), from, each.words, each.mask);
    }
    return {};
}

result<void> home_writer::flush() {
    if (written_.empty()) return {};
    auto written = file_.write_at(begin_, written_.data(), written_.size(), site::log_checkpoint_home);
    written_.clear();
    return written;
}

}  // namespace holdfast
