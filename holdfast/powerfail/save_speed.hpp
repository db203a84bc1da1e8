// How long a save takes here, measured: what a handler promises rests on it.
#pragma once

#include <holdfast/base/result.hpp>
#include <holdfast/persist/line_path.hpp>

#include <cstddef>
#include <cstdint>
#include <string>

namespace holdfast::powerfail {

/// What a pool takes of a save, in ns.
struct save_cost {
    double copy_ns = 0;        ///< of the log
    double write_back_ns = 0;  ///< of log and homes

    double sum() const noexcept { return copy_ns + write_back_ns; }
};

/// What this machine takes.
class save_speed {
public:
    /// Measures copies in memory. Takes about a millisecond.
    save_speed();

    double copy_ns_per_byte() const noexcept { return copy_ns_per_byte_; }
    /// Lines of a pool that can be in the processor's caches, where these bound it.
    std::uint64_t cached_lines_at_most() const noexcept { return cached_lines_; }

    /// Measures on the pool's own medium what writing its lines back takes, and touches each page of it, so that a save
    /// meets none for the first time. The words of the log are stored to again, with their own values. Requires: all of
    /// the pool is mapped at `pool`, and nobody stores to it meanwhile. Takes about as long as a save, and at most some
    /// milliseconds and a touch of each page. `shadow_log`: `log_bytes` that a save copies.
    save_cost measure(std::byte* pool, std::uint64_t pool_bytes, std::uint64_t log_offset, std::uint64_t log_bytes,
                      const std::byte* shadow_log, const persist::line_path& lines) const;

    /// What a sync of `bytes` of a file in `directory` takes, in ns: by that of some MiB of an unnamed file there.
    /// Errors: permission_denied, no_space, io.
    static result<double> measure_sync(const std::string& directory, std::uint64_t bytes);

private:
    double copy_ns_per_byte_ = 0;
    std::uint64_t cached_lines_ = 0;
};

}  // namespace holdfast::powerfail
