#include <sim/memory/nvram_bank.hpp>

#include <sim/memory/memory_config.hpp>

#include <bit>

namespace holdfast::sim {

namespace {

std::uint64_t count_of(std::uint64_t lines) noexcept { return static_cast<std::uint64_t>(std::popcount(lines)); }

}  // namespace

std::size_t nvram_bank::first_ending_after(time when) const noexcept {
    std::size_t at = busy_.size();
    while (at > 0 && busy_[at - 1].end > when) --at;
    return at;
}

nvram_bank::plan nvram_bank::find(std::uint64_t row, access_kind kind, time from) const noexcept {
    const time conflict = kind == access_kind::read ? config_.read_conflict : config_.write_conflict;
    from = std::max(from, before_.end);
    for (std::size_t at = first_ending_after(from);; ++at) {
        const access& previous = previous_of(at);
        const bool hit = previous.row == row;
        const plan chance{std::max(from, previous.end), hit ? config_.row_hit : conflict, hit};
        if (at == busy_.size()) return chance;
        // A reserved hit relies on the row that is open in front of it.
        const access& next = busy_[at];
        if (chance.end() <= next.begin && (!next.hit || next.row == row)) return chance;
    }
}

void nvram_bank::count(const plan& chance, access_kind kind, nvram_counters& counters) const {
    (kind == access_kind::read ? counters.reads : counters.writes) += 1;
    if (chance.hit) {
        (kind == access_kind::read ? counters.read_row_hits : counters.write_row_hits) += 1;
    } else if (config_.whole_row_activation) {
        counters.lines_sensed += config_.row_bytes / line_bytes;
    } else if (kind == access_kind::read) {
        counters.lines_sensed += 1;
    }
}

void nvram_bank::take(const plan& chance, std::uint64_t row, access_kind kind, std::uint32_t line_in_row,
                      nvram_counters& counters) {
    count(chance, kind, counters);
    const std::size_t at = first_ending_after(chance.begin);
    const std::uint64_t inherited = chance.hit ? previous_of(at).dirty : 0;
    const std::uint64_t own = kind == access_kind::write ? std::uint64_t{1} << line_in_row : 0;
    if (at == busy_.size() && !chance.hit) counters.lines_programmed += count_of(previous_of(at).dirty);
    busy_.insert(busy_.begin() + static_cast<std::ptrdiff_t>(at),
                 access{chance.begin, chance.end(), row, inherited | own, chance.hit});
    if (at + 1 < busy_.size()) {
        // The next one's closing of the row in front was counted when it was reserved, and is put right here.
        if (!busy_[at + 1].hit) {
            counters.lines_programmed += count_of(inherited | own) - count_of(inherited);
        } else {
            pass_dirty_on(at + 1, own, counters);
        }
    }
    if (busy_.size() > kept_max) {
        const auto kept = busy_.begin() + kept_max / 2;
        before_ = *(kept - 1);
        busy_.erase(busy_.begin(), kept);
    }
}

void nvram_bank::pass_dirty_on(std::size_t at, std::uint64_t dirty, nvram_counters& counters) {
    std::uint64_t added = 0;
    for (; at < busy_.size() && busy_[at].hit; ++at) {
        added = count_of(busy_[at].dirty | dirty) - count_of(busy_[at].dirty);
        busy_[at].dirty |= dirty;
    }
    if (at < busy_.size()) counters.lines_programmed += added;
}

std::uint32_t nvram_bank::dirty_lines() const noexcept {
    return static_cast<std::uint32_t>(count_of(busy_.empty() ? before_.dirty : busy_.back().dirty));
}

}  // namespace holdfast::sim
