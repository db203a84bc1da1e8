#include <bench/tl2/undo_once.hpp>

#include <holdfast/base/checksum.hpp>

#include <algorithm>
#include <vector>

namespace holdfast::bench {
namespace {

namespace site = persist::site;

std::uint32_t seed_of(const region& memory) noexcept { return ~static_cast<std::uint32_t>(memory.epoch()); }

}  // namespace

/// The words of a record: [0] the number of writes, and above it the transaction; [1] the checksum of all other words,
/// and above it that of the new words; [2…] for each session what ended; then a home and its old word for each write.
/// So a transaction that writes two words has a record of one line, if there are two sessions.
struct undo_once::record {
    const std::uint64_t* words;
    unsigned sessions;

    static constexpr std::uint64_t head(std::uint64_t transaction, std::uint64_t writes) noexcept {
        return transaction << 16 | writes;
    }
    std::uint64_t transaction() const noexcept { return words[0] >> 16; }
    std::uint64_t writes() const noexcept { return words[0] & most_writes; }
    std::uint64_t ended(unsigned session) const noexcept { return words[head_words + session]; }
    const std::uint64_t* entry(std::uint64_t i) const noexcept { return words + head_words + sessions + 2 * i; }
    std::size_t size() const noexcept { return head_words + sessions + 2 * writes(); }

    /// Word 1 of a record.
    static std::uint64_t sums(const std::uint64_t* words, std::size_t count, std::uint32_t of_new_words,
                              std::uint32_t seed) noexcept {
        const std::uint64_t first[]{words[0], std::uint64_t{of_new_words}};
        const std::uint32_t of_head = interleaved_crc32c(first, 2, seed);
        return std::uint64_t{of_new_words} << 32 | interleaved_crc32c(words + head_words, count - head_words, of_head);
    }
    std::uint32_t sum_of_new_words() const noexcept { return static_cast<std::uint32_t>(words[1] >> 32); }
    bool verifies(std::size_t most_words, std::uint32_t seed) const noexcept {
        if (transaction() == 0 || size() > most_words) return false;
        return words[1] == sums(words, size(), sum_of_new_words(), seed);
    }
};

/// The newest record of a session; none: no words.
struct undo_once::finding {
    record newest{nullptr, 0};
    bool found() const noexcept { return newest.words != nullptr; }
};

void undo_once::make_record(const stm::write_log& writes) {
    const std::size_t head = head_words + region_.sessions();
    std::uint64_t* const words = record_.begin(head + 2 * writes.size());
    std::uint64_t* const news = new_words_.begin(writes.size());
    for (unsigned i = 0; i < region_.sessions(); ++i)
        words[head_words + i] = shared_.of_session[i].ended.load(std::memory_order_acquire);
    std::size_t at = 0;
    for (const auto& each : writes) {
        const std::uint64_t old_word = stm::detail::load_home(each.home());
        words[head + 2 * at] = reinterpret_cast<std::uintptr_t>(each.home());
        words[head + 2 * at + 1] = old_word;
        news[at++] = merged(old_word, each.value, each.mask());
    }
    words[0] = record::head(transaction_, writes.size());
    const std::uint32_t of_new_words = interleaved_crc32c(news, writes.size(), seed_of(region_));
    words[1] = record::sums(words, head + 2 * writes.size(), of_new_words, seed_of(region_));
}

void undo_once::commit(const stm::write_log& writes, std::uint64_t) {
    if (!region_.is_durable()) return store_homes(writes);
    ++transaction_;
    make_record(writes);
    if (next_ + record_.bytes() > ring_.size()) next_ = 0;
    persist::send(region_.path(), ring_.data() + next_, record_.data(), record_.bytes(), site::measure);
    next_ += record_.bytes();
    persist::fence(region_.path(), site::measure);
    lines_.store_and_write_back(region_, writes);
    persist::fence(region_.path(), site::measure);
    shared_.of_session[session_].ended.store(transaction_, std::memory_order_release);
}

undo_once::finding undo_once::newest_of(const region& memory, unsigned session, std::uint64_t* ended) {
    const auto log = memory.log_of(session);
    finding result;
    for (std::size_t at = 0; at < log.size(); at += persist::line_bytes) {
        const record each{reinterpret_cast<const std::uint64_t*>(log.data() + at), memory.sessions()};
        if (!each.verifies((log.size() - at) / sizeof(std::uint64_t), seed_of(memory))) continue;
        for (unsigned i = 0; i < memory.sessions(); ++i) ended[i] = std::max(ended[i], each.ended(i));
        if (!result.found() || each.transaction() > result.newest.transaction()) result.newest = each;
    }
    return result;
}

void undo_once::recover(region& memory) {
    std::array<std::uint64_t, most_sessions> ended{};
    std::array<finding, most_sessions> found{};
    for (unsigned i = 0; i < memory.sessions(); ++i) found[i] = newest_of(memory, i, ended.data());
    std::vector<std::uint64_t> at_home;
    for (unsigned i = 0; i < memory.sessions(); ++i) {
        if (!found[i].found() || found[i].newest.transaction() <= ended[i]) continue;
        const record& cut = found[i].newest;
        at_home.clear();
        for (std::uint64_t each = 0; each < cut.writes(); ++each)
            at_home.push_back(*reinterpret_cast<const std::uint64_t*>(cut.entry(each)[0]));
        const bool ended_unseen =
            interleaved_crc32c(at_home.data(), at_home.size(), seed_of(memory)) == cut.sum_of_new_words();
        for (std::uint64_t each = 0; each < cut.writes(); ++each) {
            auto* const home = reinterpret_cast<std::uint64_t*>(cut.entry(each)[0]);
            if (!ended_unseen) persist::store_word(home, cut.entry(each)[1], 0xFF, site::measure);
            persist::write_back(memory.path(), home, sizeof *home, site::measure);
        }
    }
    persist::fence(memory.path(), site::measure);
    memory.begin_epoch(memory.epoch() + 1);
}

}  // namespace holdfast::bench
