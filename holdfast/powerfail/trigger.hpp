// What tells a handler that the power fails: each is a descriptor that becomes readable, and what reading it means.
#pragma once

#include <chrono>
#include <cstdint>

namespace holdfast::powerfail {

enum class news : std::uint8_t {
    nothing,
    power_fails,
    power_is_back,
    lost,  ///< nothing more will come
};

/// Used by one thread at a time.
class trigger {
public:
    virtual ~trigger() = default;
    /// Readable when there is something to read; owned by the trigger.
    virtual int descriptor() const noexcept = 0;
    /// What has come since. Does not wait, lock or allocate: it is called while threads are stopped.
    virtual news read() noexcept = 0;
    /// Once nothing was readable for so long the trigger is lost; 0: it may be silent.
    virtual std::chrono::milliseconds silence_allowed() const noexcept { return std::chrono::milliseconds{0}; }
};

}  // namespace holdfast::powerfail
