#include <bench/tl2/undo_each.hpp>

#include <holdfast/base/checksum.hpp>

#include <algorithm>
#include <span>

namespace holdfast::bench {

namespace site = persist::site;

struct undo_each::entry {
    std::uint64_t home;
    std::uint64_t old_word;
    std::uint64_t transaction;
    std::uint64_t checksum;

    std::uint64_t right_checksum(std::uint64_t epoch) const noexcept {
        return crc32c(this, 3 * sizeof(std::uint64_t), ~static_cast<std::uint32_t>(epoch));
    }
    bool verifies(std::uint64_t epoch) const noexcept {
        return transaction != 0 && checksum == right_checksum(epoch);
    }
};

undo_each::undo_each(region& memory, unsigned session, shared&) noexcept
    : region_(memory),
      ring_(reinterpret_cast<entry*>(memory.log_of(session).data())),
      entries_(memory.log_of(session).size() / sizeof(entry)) {}

void undo_each::append(std::uint64_t home, std::uint64_t old_word) {
    entry made{home, old_word, transaction_, 0};
    made.checksum = made.right_checksum(region_.epoch());
    if (sizeof made < region_.path().streamed_from_bytes) {
        persist::copy(ring_ + next_, &made, sizeof made, site::measure);
        persist::write_back(region_.path(), ring_ + next_, sizeof made, site::measure);
    } else {
        persist::stream(region_.path(), ring_ + next_, &made, sizeof made, site::measure);
    }
    persist::fence(region_.path(), site::measure);
    next_ = next_ + 1 == entries_ ? 0 : next_ + 1;
}

void undo_each::commit(const stm::write_log& writes, std::uint64_t) {
    if (!region_.is_durable()) return store_homes(writes);
    ++transaction_;
    for (const auto& each : writes)
        append(reinterpret_cast<std::uintptr_t>(each.home()), stm::detail::load_home(each.home()));
    lines_.store_and_write_back(region_, writes);
    persist::fence(region_.path(), site::measure);
    append(0, 0);
}

void undo_each::recover(region& memory) {
    const std::uint64_t epoch = memory.epoch();
    for (unsigned session = 0; session < memory.sessions(); ++session) {
        const auto log = memory.log_of(session);
        const std::span all(reinterpret_cast<const entry*>(log.data()), log.size() / sizeof(entry));
        std::uint64_t ended = 0;
        for (const entry& each : all)
            if (each.verifies(epoch) && each.home == 0) ended = std::max(ended, each.transaction);
        for (const entry& each : all) {
            if (!each.verifies(epoch) || each.transaction <= ended) continue;
            auto* const home = reinterpret_cast<std::uint64_t*>(each.home);
            persist::store_word(home, each.old_word, 0xFF, site::measure);
            persist::write_back(memory.path(), home, sizeof *home, site::measure);
        }
    }
    persist::fence(memory.path(), site::measure);
    memory.begin_epoch(epoch + 1);
}

}  // namespace holdfast::bench
