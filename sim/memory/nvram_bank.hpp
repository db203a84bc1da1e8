// One bank of the DIMM: which row its buffer holds at which time, and what that makes of the next access.
#pragma once

#include <sim/base/units.hpp>

#include <cstddef>
#include <vector>

namespace holdfast::sim {

struct nvram_config;

enum class access_kind : std::uint8_t { read, write };

/// What the DIMM did, in accesses and lines; energy/energy.hpp makes picojoules of it.
struct nvram_counters {
    std::uint64_t reads = 0;
    std::uint64_t writes = 0;
    std::uint64_t read_row_hits = 0;
    std::uint64_t write_row_hits = 0;
    std::uint64_t lines_sensed = 0;      ///< read from the array into a row buffer
    std::uint64_t lines_programmed = 0;  ///< written from a row buffer into the array: dirty ones, when the row closes

    template <class Self, class Visitor>
    static void visit_fields(Self& self, Visitor&& visit) {
        visit("reads", self.reads);
        visit("writes", self.writes);
        visit("read_row_hits", self.read_row_hits);
        visit("write_row_hits", self.write_row_hits);
        visit("lines_sensed", self.lines_sensed);
        visit("lines_programmed", self.lines_programmed);
    }
};

/// Rows are opened in the order of time, but asked for in another, since requests come out of order: an access may be
/// put in front of a reserved one if that one stays as long as it was promised.
class nvram_bank {
public:
    struct plan {
        time begin{};
        time length{};
        bool hit = false;

        time end() const noexcept { return begin + length; }
    };

    explicit nvram_bank(const nvram_config& config) : config_(config) { busy_.reserve(kept_max + 1); }

    /// The first chance not before `from` for an access to this row.
    plan find(std::uint64_t row, access_kind kind, time from) const noexcept;
    /// Requires: `chance` is what find returned for this row, nothing taken since.
    void take(const plan& chance, std::uint64_t row, access_kind kind, std::uint32_t line_in_row,
              nvram_counters& counters);

    /// The row that is open when all that is reserved is done.
    std::uint64_t last_row() const noexcept { return busy_.empty() ? before_.row : busy_.back().row; }
    time last_end() const noexcept { return busy_.empty() ? before_.end : busy_.back().end; }
    /// Dirty lines of that row: the array has them once it closes.
    std::uint32_t dirty_lines() const noexcept;

private:
    static constexpr std::uint64_t no_row = ~std::uint64_t{0};
    /// Half of this is more than one bank has before it at any time.
    static constexpr std::size_t kept_max = 256;

    struct access {
        time begin{}, end{};
        std::uint64_t row = no_row;
        std::uint64_t dirty = 0;  ///< lines of the row buffer that differ from the array afterwards
        bool hit = false;
    };

    std::size_t first_ending_after(time when) const noexcept;
    const access& previous_of(std::size_t at) const noexcept { return at == 0 ? before_ : busy_[at - 1]; }
    void count(const plan& chance, access_kind kind, nvram_counters& counters) const;
    void pass_dirty_on(std::size_t at, std::uint64_t dirty, nvram_counters& counters);

    const nvram_config& config_;
    std::vector<access> busy_;
    access before_{};  ///< the last one of those that were forgotten
};

}  // namespace holdfast::sim
