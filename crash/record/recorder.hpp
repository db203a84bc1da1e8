// Sees every store to a mapped pool without instrumentation: the pool is write-protected, a store
// that faults is carried out here, or let through and single-stepped, and what it changed is compared
// word by word. What the seam does besides comes from the observed build.
#pragma once

#include <crash/cut/trace.hpp>
#include <crash/record/second_mapping.hpp>

#include <holdfast/base/result.hpp>
#include <holdfast/persist/observer.hpp>

#include <pthread.h>
#include <ucontext.h>

#include <csignal>
#include <cstddef>
#include <cstdint>
#include <span>

namespace holdfast::crash {

/// One recording at a time in a process, from construction to `take`: the stores of the thread that
/// made it and of a scheduled run (scheduler.hpp), where each store, and each call of the seam, is a
/// step; no other thread may store to the pool meanwhile. Linux on x86-64.
///
/// What one instruction stores comes as its words in ascending order; a repeated string instruction
/// is one store after another, but a single step for each page. Data that read, pread, readv, preadv,
/// recv and recvfrom bring are stores like others; other system calls that write to the pool fail
/// with EFAULT. A store that changes nothing is not seen: no crash can tell it.
class recorder final : public persist::observer {
public:
    explicit recorder(std::span<std::byte> pool);
    ~recorder() override;
    recorder(const recorder&) = delete;
    recorder& operator=(const recorder&) = delete;

    void explore_from_here() noexcept { trace_.explored_from = trace_.events.size(); }
    void operation_begins() { add({event_kind::operation_begins, {}}); }
    void operation_done() { add({event_kind::operation_done, {}}); }
    /// Ends the recording.
    /// Errors: misuse, when something was stored that the trace cannot tell (one instruction that stores
    /// to three pages, a thread outside the run) or more than events_at_most were.
    result<trace> take();

    /// Whether the range has a byte of the pool that is being recorded.
    static bool covers(const void* begin, std::size_t size) noexcept;

    void store(const void* home, std::size_t size, persist::site_id where) override;
    void write_back(const void* begin, std::size_t size, persist::site_id where) override;
    void stream(const void* home, std::size_t size, persist::site_id where) override;
    void before_fence(persist::site_id) override {}
    void after_fence(persist::site_id where) override;
    void order(persist::site_id where) override;
    void file_write(std::uint64_t, const void*, std::size_t, bool, persist::site_id) override;
    void file_sync(persist::site_id) override;
    void committed() override { trace_.commits.push_back(trace_.events.size()); }

    static constexpr std::size_t events_at_most = std::size_t{1} << 20;

private:
    static constexpr std::size_t page_bytes = 4096;
    static constexpr std::size_t pages_at_once = 2;  ///< what one instruction can store to

    struct open_page {
        std::byte* at = nullptr;
        std::byte before[page_bytes];
    };
    enum class loss : std::uint8_t { none, too_many_pages, unknown_thread, too_many_events };

    static void on_fault(int, siginfo_t* information, void* context);
    static void on_step(int, siginfo_t*, void* context);
    bool let_through(std::byte* address, mcontext_t& machine);
    bool carry_out(std::byte* page, mcontext_t& machine);
    void compare_pages();
    void compare_page(const open_page& page);
    void add(event next);
    void lose(loss what);
    void unprotect();
    void close_pages();
    void stop();
    error describe_loss() const;
    void name_stores(const void* home, std::size_t size, persist::site_id where, event_kind kind);

    static recorder* active_;

    std::span<std::byte> pool_;
    second_mapping second_;
    trace trace_;
    open_page pages_[pages_at_once];
    std::size_t open_pages_ = 0;
    const std::byte* code_ = nullptr;
    loss lost_ = loss::none;
    bool recording_ = true;
    pthread_t owner_ = ::pthread_self();
    struct sigaction fault_before_ {};
    struct sigaction step_before_ {};
    persist::observer* observer_before_ = nullptr;
};

}  // namespace holdfast::crash
