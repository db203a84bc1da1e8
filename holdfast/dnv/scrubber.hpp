// The thread that looks at every word of the open pool at a bounded pace (dnv_scrub_start).
#pragma once

namespace holdfast::dnv {

/// Stops it and waits for its end; without one it does nothing. Not thread-safe with itself.
void stop_scrubber() noexcept;
/// In a forked child, which does not have the thread.
void forget_scrubber() noexcept;

}  // namespace holdfast::dnv
