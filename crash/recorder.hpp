// Sees every store to a mapped pool without instrumentation: the pool is write-protected, a store
// that faults is let through and single-stepped, and what it changed is compared word by word. What
// the seam does besides comes from the observed build.
#pragma once

#include <crash/trace.hpp>

#include <holdfast/persist/observer.hpp>

#include <csignal>
#include <cstddef>
#include <cstdint>
#include <span>
#include <vector>

namespace holdfast::crash {

/// One recording at a time in a process; the stores of one thread. Linux on x86-64.
/// A store that changes nothing is not seen: no crash can tell it.
class recorder final : public persist::observer {
public:
    explicit recorder(std::span<std::byte> pool);
    ~recorder() override;
    recorder(const recorder&) = delete;
    recorder& operator=(const recorder&) = delete;

    void operation_begins() { trace_.events.push_back({event_kind::operation_begins, {}}); }
    void operation_done() { trace_.events.push_back({event_kind::operation_done, {}}); }
    /// Ends the recording.
    trace take();

    void store(const void* home, std::size_t size, persist::site where) override;
    void write_back(const void* begin, std::size_t size, persist::site where) override;
    void stream(const void* home, std::size_t size, persist::site where) override;
    void before_fence(persist::site) override {}
    void after_fence(persist::site where) override;
    void file_write(std::uint64_t, const void*, std::size_t, bool, persist::site) override {}
    void file_sync(persist::site) override {}

private:
    static constexpr std::size_t page_bytes = 4096;
    static constexpr std::size_t pages_at_once = 2;  ///< what one instruction can store to

    struct open_page {
        std::byte* at = nullptr;
        std::byte before[page_bytes];
    };

    static void on_fault(int, siginfo_t* information, void* context);
    static void on_step(int, siginfo_t*, void* context);
    bool let_through(void* address, const void* code);
    void compare_pages();
    void stop();
    void name_stores(const void* home, std::size_t size, persist::site where, event_kind kind);

    static recorder* active_;

    std::span<std::byte> pool_;
    trace trace_;
    open_page pages_[pages_at_once];
    std::size_t open_pages_ = 0;
    const void* code_ = nullptr;
    bool recording_ = true;
    struct sigaction fault_before_ {};
    struct sigaction step_before_ {};
    persist::observer* observer_before_ = nullptr;
};

}  // namespace holdfast::crash
