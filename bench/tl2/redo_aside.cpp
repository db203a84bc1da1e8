#include <bench/tl2/redo_aside.hpp>

#include <holdfast/base/checksum.hpp>

#include <algorithm>
#include <vector>

namespace holdfast::bench {

namespace site = persist::site;

/// The words of a record: [0] its number; [1] how many writes it has; [2] its epoch; [3] the checksum of all others;
/// then a home and its new word for each write.
struct redo_aside::record {
    const std::uint64_t* words;

    std::uint64_t number() const noexcept { return words[0]; }
    std::uint64_t writes() const noexcept { return words[1]; }
    const std::uint64_t* entry(std::uint64_t i) const noexcept { return words + head_words + 2 * i; }
    std::size_t bytes() const noexcept { return bytes_of(writes()); }

    static std::uint32_t checksum_of(const std::uint64_t* words, std::size_t count) noexcept {
        const std::uint32_t of_head = interleaved_crc32c(words, head_words - 1, ~0u);
        return interleaved_crc32c(words + head_words, count - head_words, of_head);
    }
    bool verifies(std::uint64_t epoch, std::size_t bytes_left) const noexcept {
        if (words[2] != epoch || writes() == 0 || writes() > bytes_left / 16 || bytes() > bytes_left) return false;
        return words[3] == checksum_of(words, head_words + 2 * writes());
    }
};

redo_aside::redo_aside(region& memory, unsigned session, shared& all)
    : region_(memory),
      session_(session),
      shared_(all),
      area_bytes_(area_bytes_of(memory)),
      epoch_(all.epoch()),
      lines_(memory.bytes()) {
    shared_.logs_[session] = this;
}

void redo_aside::make_record(const stm::write_log& writes, std::uint64_t number) {
    words_ = head_words + 2 * writes.size();
    std::uint64_t* const words = record_.begin(words_);
    words[0] = number;
    words[1] = writes.size();
    std::uint64_t* at = words + head_words;
    for (const auto& each : writes) {
        *at++ = reinterpret_cast<std::uintptr_t>(each.home());
        *at++ = word_after(each);
    }
}

void redo_aside::commit(const stm::write_log& writes, std::uint64_t number) {
    if (!region_.is_durable()) return store_homes(writes);
    make_record(writes, number);
    while (!append(writes)) shared_.move_on(epoch_);
}

bool redo_aside::append(const stm::write_log& writes) {
    const taken alone(*this);
    const std::uint64_t now = shared_.epoch();
    if (now != epoch_) enter(now);
    if (used_ + record_.bytes() > area_bytes_) return false;
    std::uint64_t* const words = record_.data();
    words[2] = epoch_;
    words[3] = record::checksum_of(words, words_);
    std::byte* const area = region_.log_of(session_).data() + epoch_ % 2 * area_bytes_;
    persist::send(region_.path(), area + used_, words, record_.bytes(), site::measure);
    persist::fence(region_.path(), site::measure);
    used_ += record_.bytes();
    store_homes(writes);
    std::uint64_t last = ~std::uint64_t{0};
    for (const auto& each : writes) {
        const auto offset = reinterpret_cast<std::uintptr_t>(each.home()) -
                            reinterpret_cast<std::uintptr_t>(region_.begin());
        if (offset / persist::line_bytes != last) lines_.insert(last = offset / persist::line_bytes);
    }
    return true;
}

void redo_aside::enter(std::uint64_t epoch) {
    bring_home();
    epoch_ = epoch;
    used_ = 0;
}

void redo_aside::bring_home() {
    bool some = false;
    const auto write_back = [&](std::uint64_t first, std::uint64_t count) {
        some = true;
        persist::write_back(region_.path(), region_.begin() + first * persist::line_bytes, count * persist::line_bytes,
                            site::measure);
    };
    lines_.for_each_run(write_back);
    if (!some) return;
    persist::fence(region_.path(), site::measure);
    lines_.clear();
}

void redo_aside::shared::move_on(std::uint64_t full) {
    const std::lock_guard guard(moving_);
    if (epoch() != full) return;
    for (redo_aside* each : logs_) {
        if (each == nullptr) continue;
        const taken alone(*each);
        if (each->epoch_ < full) each->bring_home();
    }
    if (region_.epoch() != full) region_.begin_epoch(full);
    epoch_.store(full + 1, std::memory_order_release);
    truncations_.fetch_add(1, std::memory_order_relaxed);
}

void redo_aside::recover(region& memory) {
    std::vector<record> all;
    const std::size_t area_bytes = area_bytes_of(memory);
    for (unsigned session = 0; session < memory.sessions(); ++session) {
        for (const std::uint64_t epoch : {memory.epoch(), memory.epoch() + 1}) {
            const std::byte* const area = memory.log_of(session).data() + epoch % 2 * area_bytes;
            for (std::size_t at = 0; at < area_bytes;) {
                const record each{reinterpret_cast<const std::uint64_t*>(area + at)};
                if (!each.verifies(epoch, area_bytes - at)) break;
                persist::write_back(memory.path(), each.words, each.bytes(), site::measure);
                all.push_back(each);
                at += each.bytes();
            }
        }
    }
    persist::fence(memory.path(), site::measure);
    std::sort(all.begin(), all.end(), [](const record& a, const record& b) { return a.number() < b.number(); });
    for (const record& each : all) {
        for (std::uint64_t i = 0; i < each.writes(); ++i) {
            auto* const home = reinterpret_cast<std::uint64_t*>(each.entry(i)[0]);
            persist::store_word(home, each.entry(i)[1], 0xFF, site::measure);
            persist::write_back(memory.path(), home, sizeof *home, site::measure);
        }
    }
    persist::fence(memory.path(), site::measure);
    memory.begin_epoch(memory.epoch() + 2);
}

}  // namespace holdfast::bench
