// FWB: lines that stay dirty are forced home by scans of the caches' tags, so that the log's ring gets free (the paper,
// III-C and IV-D, Figure 5). The state of a line is its dirty bit and one bit more, the paper's fwb.
//
//   1. A scan visits every set of every DL1 and of L2. It begins when a period has passed since the last one began, or
//      when the log runs short and a scan would free some of it, and not before that one has ended. It takes the tags
//      for a time, and waits until memory has accepted what it forces. It is walked as time passes. Where the log is
//      nearly full the rest is walked at once: harts will wait for its end, and only then.
//   2. A dirty line whose fwb bit is not set: set it. The caches clear it when the line becomes clean, and pass it on
//      with the line from a DL1 to L2.
//   3. A dirty line whose fwb bit is set, so that it was dirty in the scan before: force it to memory, through L2.
//   4. After a scan every line that was stored to before the scan before it began is home, or in the controller's
//      queue. When that is durable, the log's head may move to where the tail was then.
// A scan that begins because the log runs short forces every dirty line, and the head moves to where the tail was when
// it began. Where each hart has a log this is said of all of them: a scan frees all, and one that runs short is enough.
//
// While caches are warmed up there is no time, so scans begin when a part of the log has been appended. The measured
// phase begins with the lines and bits that they leave: caches that are clean then would have nothing to write back for
// millions of cycles.
#pragma once

#include <sim/cache/tag_walker.hpp>
#include <sim/logging/hardware_log.hpp>

#include <deque>
#include <vector>

namespace holdfast::sim {

struct scan_counters {
    std::uint64_t scans = 0;
    std::uint64_t hurried = 0;  ///< of them, since the log ran short
    std::uint64_t lines_forced = 0;
    time scanning{};            ///< while a scan was under way
    time late{};                ///< that scans began after their period was over

    template <class Self, class Visitor>
    static void visit_fields(Self& self, Visitor&& visit) {
        visit("scans", self.scans);
        visit("scans_hurried", self.hurried);
        visit("lines_forced", self.lines_forced);
        visit("scanning_ps", self.scanning.picoseconds);
        visit("scans_late_ps", self.late.picoseconds);
    }
};

class force_write_back {
public:
    /// Both outlive it.
    force_write_back(hierarchy& caches, memory_system& memory, hardware_log& log)
        : caches_(caches), walker_(caches), memory_(memory), log_(log), cores_(caches.cores()) {}

    /// Walks what is due. Requires: between two instructions.
    void reached(time now);
    /// The same while caches are warmed up.
    void reached_in_warm_up();
    /// The memory gets what dirty lines have, and they stay dirty. Without time.
    void write_homes();
    /// The first scan begins a period from now on.
    void restart() noexcept;

    /// Of scans until then, also of a part of one. Requires: no earlier time than the last one that was told.
    scan_counters counters_until(time moment) const;
    /// Whether the last third of the scans took as long as the third before, within a half: a few vary by that much.
    bool is_steady() const;

private:
    struct interval {
        time begin{}, end{};
    };
    /// Harts run ahead of the time that is told, and shall meet the walker.
    static constexpr time ahead = ns(50);
    /// Of the log; that of a period differs from program to program, and does not grow with a log of any size.
    static constexpr std::uint64_t part_of_log_in_warm_up = 4;
    static constexpr std::uint64_t most_units_in_warm_up = 32'768;

    std::uint64_t sets() const noexcept { return cores_ * walker_.data_sets() + walker_.l2_sets(); }
    void begin_scan(time at, bool hurried);
    void walk_one(bool all);
    void end_scan(time now);

    hierarchy& caches_;
    tag_walker walker_;
    memory_system& memory_;
    hardware_log& log_;
    std::uint32_t cores_;
    bool scanning_ = false, hurried_ = false;
    std::uint64_t next_set_ = 0;
    time walked_until_{};   ///< in the scan that is under way, or was last
    time began_{}, due_{};
    log_cut at_begin_{}, at_last_begin_{};
    std::uint64_t warm_up_units_ = 0;  ///< of the logs, when the last scan of the warm-up began
    scan_counters counters_{};        ///< but for the time of scanning
    time past_{};                     ///< of scans that have ended in the time that was told
    std::deque<interval> ended_{};    ///< in the walker's time only
    std::vector<time> took_{};        ///< each scan
};

}  // namespace holdfast::sim
