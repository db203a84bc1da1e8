// A rival as a whole: a region, and sessions over it.
#pragma once

#include <bench/tl2/redo_aside.hpp>
#include <bench/tl2/tl2.hpp>
#include <bench/tl2/undo_each.hpp>
#include <bench/tl2/undo_once.hpp>

#include <memory>
#include <type_traits>
#include <vector>

namespace holdfast::bench {

/// `Log`: undo_each (`ptl2`), undo_once (`ptl2_best`), redo_aside (`redo_tl2`). It has as many sessions as the region,
/// each used by one thread at a time.
template <class Log>
class tl2_memory {
public:
    using isolation = void;  ///< nothing of the processor's
    static constexpr bool is_durable = true;
    static constexpr bool has_log = std::is_same_v<Log, redo_aside>;  ///< that fills and is truncated

    /// Brings to an end what an earlier one over the same memory left, wherever it was cut.
    explicit tl2_memory(region& memory) : region_(recovered(memory)), logs_(memory) {
        for (unsigned i = 0; i < memory.sessions(); ++i)
            sessions_.push_back(std::make_unique<tl2<Log>>(memory, i, logs_));
    }

    tl2_access<Log> access(unsigned session) noexcept { return tl2_access<Log>(*sessions_[session]); }
    region& memory() noexcept { return region_; }
    /// How often a log was emptied; 0 for those that are with each commit.
    std::uint64_t truncations() const noexcept {
        if constexpr (requires { logs_.truncations(); }) return logs_.truncations();
        return 0;
    }

private:
    static region& recovered(region& memory) {
        Log::recover(memory);
        return memory;
    }

    region& region_;
    typename Log::shared logs_;
    std::vector<std::unique_ptr<tl2<Log>>> sessions_;
};

}  // namespace holdfast::bench
