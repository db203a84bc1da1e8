// Sees every load and store to a range of memory by trapping it, without instrumentation: for checking what the
// instrumentation reports. Some 24 µs for each. Uninstrumented.
#pragma once

#include <csignal>
#include <cstddef>
#include <cstdint>
#include <map>
#include <span>
#include <vector>

namespace holdfast::crash {

/// From construction to destruction. One at a time, one thread, Linux on x86-64. The range must be mapped at the
/// first access that is to be trapped; pages that were mapped since are trapped from the next `arm` on.
/// A write-back of a line is no load. System calls that are given an address in the range fail with EFAULT.
class load_trap {
public:
    explicit load_trap(std::span<std::byte> range);
    ~load_trap();
    load_trap(const load_trap&) = delete;
    load_trap& operator=(const load_trap&) = delete;

    /// Traps accesses from here on.
    void arm();
    /// Lets accesses pass until `arm`.
    void disarm();
    /// The program said that it is about to read or write these bytes.
    void announce(std::uint64_t offset, std::size_t size, bool writes);

    /// A load whose first byte nobody had announced, or a store that nobody announced before or after.
    struct escape {
        const void* code;
        bool writes;
        auto operator<=>(const escape&) const = default;
    };
    /// With the offset of the first byte of the first such access.
    std::map<escape, std::uint64_t> escapes() const;
    std::uint64_t loads() const noexcept { return loads_; }
    std::uint64_t stores() const noexcept { return stores_; }

private:
    static constexpr std::size_t page_bytes = 4096;
    static constexpr std::size_t pages_at_once = 4;  ///< what one instruction can reach

    static void on_fault(int, siginfo_t* information, void* context);
    static void on_step(int, siginfo_t*, void* context);
    bool let_through(void* address, const void* code, bool writes);

    static load_trap* active_;

    std::span<std::byte> range_;
    std::vector<bool> read_announced_;   ///< by byte
    std::vector<bool> write_announced_;  ///< by byte
    std::byte* open_[pages_at_once] = {};
    std::size_t open_pages_ = 0;
    bool armed_ = false;
    std::uint64_t loads_ = 0;
    std::uint64_t stores_ = 0;
    std::map<escape, std::uint64_t> escapes_;
    struct sigaction fault_before_ {};
    struct sigaction step_before_ {};
};

}  // namespace holdfast::crash
