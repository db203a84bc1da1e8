// The write-combining buffer: a few lines in which non-temporal stores and the log source collect bytes before they go
// to the controller's queue.
#pragma once

#include <sim/port/memory_below.hpp>

#include <optional>
#include <vector>

namespace holdfast::sim {

struct combined_line {
    line_write what{};
    port::source from = port::source::data;
    std::uint32_t log = 0;  ///< which one, if it is from the log source
    hart_set harts{};
    time since{};
};

/// Lines in the order in which they were begun. Holds no more than `entries`; whoever adds makes room first.
class write_combining_buffer {
public:
    explicit write_combining_buffer(std::uint32_t entries) : entries_(entries) { lines_.reserve(entries); }

    bool full() const noexcept { return lines_.size() == entries_; }
    bool empty() const noexcept { return lines_.empty(); }
    std::size_t size() const noexcept { return lines_.size(); }
    const combined_line& operator[](std::size_t age) const noexcept { return lines_[age]; }
    combined_line& operator[](std::size_t age) noexcept { return lines_[age]; }

    std::optional<std::size_t> find(address line) const noexcept {
        for (std::size_t age = 0; age < lines_.size(); ++age) {
            if (lines_[age].what.line == line) return age;
        }
        return std::nullopt;
    }

    combined_line& add(address line, port::source from, std::uint32_t log, time at) {
        return lines_.emplace_back(combined_line{{line, byte_mask{}, {}}, from, log, {}, at});
    }

    combined_line take(std::size_t age) {
        const combined_line taken = lines_[age];
        lines_.erase(lines_.begin() + static_cast<std::ptrdiff_t>(age));
        return taken;
    }

private:
    std::uint32_t entries_;
    std::vector<combined_line> lines_;
};

}  // namespace holdfast::sim
