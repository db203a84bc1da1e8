// `rtm`: transactions by the processor, and a fallback that runs alone. What must be inlined; the protocol, its
// invariants and what each order is for are in rtm_run.hpp.
#pragma once

#include <holdfast/htm/planted.hpp>
#include <holdfast/htm/rtm_instructions.hpp>
#include <holdfast/htm/stamped_rings.hpp>
#include <holdfast/stm/algorithm.hpp>
#include <holdfast/stm/back_off.hpp>
#include <holdfast/stm/blocks.hpp>
#include <holdfast/stm/home.hpp>
#include <holdfast/stm/planted.hpp>
#include <holdfast/stm/write_log.hpp>

#include <atomic>
#include <concepts>
#include <string_view>

#include <pthread.h>

namespace holdfast::htm {

using stm::give_back;
using stm::start;

/// A home that keeps the write set of each commit, in the order of the commits' stamps (ringed_home.hpp). Called in the
/// thread of the transaction:
///   make_room()               where the next write set is appended; waits until there is room. Nothing is open
///   announce(), withdraw()    an open start, from before the transaction until it is known to have come to nothing
///   committed(done, owned)    instead of withdraw(): stamp and write set, which is in the room or `owned`, of malloc
///   leave()                   the thread ends
template <class Home>
concept recording_home = requires(const finished& done, void* owned) {
    { Home::make_room() } noexcept -> std::same_as<log_room>;
    Home::announce();
    Home::withdraw();
    Home::committed(done, owned);
    Home::leave();
};

/// What a hardware transaction ends with whose home numbers commits. In hardware nothing of the home is called.
struct hardware_place {
    std::atomic<std::uint64_t>* counter = nullptr;  ///< has the next number; nullptr: there is no place
    std::size_t most_writes = 0;                    ///< of a write set for which there is room
};

/// A home that numbers commits (stm/home.hpp), those of the hardware as well. Called in the thread of the transaction:
///   enter_hardware()          before each hardware transaction, with nothing open: takes what a commit needs, and may
///                             wait for it. No place: it cannot be had, which the fallback will tell
///   drawn(number)             the hardware transaction has committed, with this number
///   leave_hardware()          instead of drawn(): it came to nothing, or stored nothing. Also where nothing was taken
template <class Home>
concept numbering_home = Home::numbers_commits && requires(std::uint64_t number) {
    { Home::enter_hardware() } noexcept -> std::same_as<hardware_place>;
    Home::drawn(number);
    Home::leave_hardware();
};

/// What a thread's transactions came to.
struct rtm_counts {
    std::uint64_t commits = 0;    ///< in hardware
    std::uint64_t aborts = 0;     ///< of hardware transactions, each try counted
    std::uint64_t fallbacks = 0;  ///< transactions that took the fallback, each attempt counted
};

/// An `algorithm`. Hardware transactions do not wait for each other; who is in the fallback is alone. Where the
/// hardware is not available everything runs in the fallback. Privatisation needs no waiting, and freed blocks are
/// given back at once. Any number of threads; where the home records, it decides how many. fork(2) may be called
/// outside a transaction.
///
/// In hardware, what a transaction stores is in memory at once, and nobody else can see it. Rolling back there does not
/// return: begin() returns once more, and this time software runs the transaction, rolls back and goes on. So an
/// exception that leaves a transaction is thrown twice, and the first time never happened.
/// What hardware cannot do: system calls, pages that nobody has touched yet, more lines than the cache follows, write
/// back, flush, stream. It is aborted there, and the fallback runs.
/// `Home`: what a commit does besides (stm/home.hpp), where a word is what is at its address; it records if it is a
/// recording_home, and numbers commits if it is a numbering_home.
/// `Hardware`: `hardware`, or what stands in for it in tests.
template <class Home, class Hardware>
class alignas(128) basic_rtm {
public:
    using home_policy = Home;
    using hardware_policy = Hardware;

    /// In hardware; then the fallback.
    static constexpr unsigned most_tries = 8;
    static constexpr std::string_view name = "rtm";
    static constexpr bool records = recording_home<Home>;
    static constexpr bool numbers = numbering_home<Home>;
    static constexpr bool keeps_writes = records || numbers;  ///< for the home, which reads them after the commit

    static basic_rtm& of_this_thread() noexcept;

    bool active() const noexcept { return mode_ != mode::inactive; }
    bool irrevocable() const noexcept { return mode_ == mode::irrevocable; }
    /// Whether the open transaction is one of the hardware.
    bool in_hardware() const noexcept { return mode_ == mode::hardware; }
    const rtm_counts& counts() const noexcept { return counts_; }

    void begin(const start& how) noexcept {
        restart_ = how.restart;
        frames_below_ = how.frames_below;
        read_only_ = how.read_only;
        if (!has_entered_) [[unlikely]]
            enter();
        if (!Hardware::is_available() || how.serial || !is_known_to_process_) [[unlikely]]
            return begin_alone();
        begin_in_hardware();
    }

    [[gnu::always_inline]] word load(const word* home) {
        if (mode_ == mode::hardware) [[likely]]
            return Hardware::load(home);
        return load_in_software(home);
    }
    word load_after_read(const word* home) { return load(home); }
    word load_after_write(const word* home) { return load(home); }
    word load_for_write(const word* home) { return load(home); }

    [[gnu::always_inline]] void store(word* home, word what, std::uint8_t byte_mask) {
        if (mode_ == mode::hardware) [[likely]]
            return store_in_hardware(home, what, byte_mask);
        store_in_software(home, what, byte_mask);
    }
    void store_after_read(word* home, word what, std::uint8_t byte_mask) { store(home, what, byte_mask); }
    void store_after_write(word* home, word what, std::uint8_t byte_mask) { store(home, what, byte_mask); }

    void read_range(void* to, const void* from, std::size_t bytes);
    void write_range(void* to, const void* from, std::size_t bytes);
    void copy_range(void* to, const void* from, std::size_t bytes);
    void fill_range(void* to, int byte, std::size_t bytes);

    /// One function for hardware and fallback, whose beginning, up to the end of the hardware transaction, is in one
    /// page of code: a page that only hardware transactions execute would stay away once the kernel has taken it.
    [[gnu::noinline, gnu::aligned(128)]] bool commit() noexcept;
    void roll_back() noexcept;
    bool become_irrevocable() noexcept;

    /// Where the home numbers commits: what the last commit stored, until conclude().
    const stm::write_log& committed_writes() const noexcept { return writes_; }
    void conclude() noexcept { writes_.clear(); }

    /// What the hardware undoes includes what the allocator did.
    void note_allocated(void* address, std::size_t bytes, std::size_t alignment, give_back back) noexcept {
        if (Hardware::stores_directly && mode_ == mode::hardware) return;
        blocks_.note_allocated({address, bytes, alignment, back});
    }
    void free_at_commit(void* address, std::size_t bytes, std::size_t alignment, give_back back) noexcept {
        blocks_.note_freed({address, bytes, alignment, back});
    }

    /// Of read_range and the other range functions (stm/ranges.hpp).
    bool is_private(const void* from, std::size_t bytes) const noexcept;

private:
    enum class mode : std::uint8_t { inactive, hardware, alone, irrevocable };
    /// Alone in a pair of lines: every hardware transaction reads it.
    struct alignas(128) fallback {
        word held = 0;
    };
    static constinit fallback fallback_;
    static constinit pthread_key_t exit_key_;
    static const bool is_known_to_process_;  ///< its ends of threads and its forks are noticed

    [[gnu::always_inline]] void store_in_hardware(word* home, word what, std::uint8_t byte_mask) {
        Hardware::store(home, what, byte_mask);
        if constexpr (records) {
            if (stm::detail::is_own_frame(home, frames_below_)) [[unlikely]]
                return;
            if (log_next_ == room_.end) [[unlikely]]
                return fail<status::log_full>();
            *log_next_++ = {home, what, byte_mask};
        }
        if constexpr (numbers) {
            if (!Hardware::stores_directly && mode_ != mode::hardware) return;
            if (!stm::detail::is_own_frame(home, frames_below_)) [[likely]]
                writes_.put(home, what, byte_mask);
        }
    }
    word load_in_software(const word* home) noexcept;
    void store_in_software(word* home, word what, std::uint8_t byte_mask);

    void enter() noexcept;
    void begin_in_hardware() noexcept;
    void begin_alone() noexcept;
    void open_log() noexcept;
    void wait_for_fallback() noexcept;
    [[gnu::always_inline]] unsigned end_hardware() noexcept;
    void come_to_nothing() noexcept;
    [[gnu::noinline]] bool commit_alone() noexcept;
    void store_all_home() noexcept;
    void release_fallback() noexcept;
    finished move_to_log(void*& owned) noexcept;
    void close() noexcept;
    void forget_tries() noexcept;

    void note_failure(unsigned why) noexcept;
    template <unsigned Code>
    void fail();
    static void aborted(unsigned why);

    static void leave(void* of_thread) noexcept;
    static void before_fork() noexcept;
    static void after_fork_in_parent() noexcept;
    static void after_fork_in_child() noexcept;

    mode mode_ = mode::inactive;
    bool read_only_ = false;
    bool has_entered_ = false;
    bool has_failed_ = false;  ///< the open attempt has come to nothing already
    bool stopped_others_ = false;  ///< for a fork
    unsigned tries_ = 0;
    std::uintptr_t frames_below_ = 0;
    decltype(start::restart) restart_ = nullptr;
    hardware_place place_;
    log_room room_;
    stm::write_log::entry* log_next_ = nullptr;
    std::uint64_t stamp_ = 0;
    stm::write_log writes_;
    stm::transaction_blocks blocks_;
    stm::back_off pauses_;
    rtm_counts counts_;
};

/// In ordinary memory: what `htm_only` measures.
using rtm = basic_rtm<stm::plain_home, hardware>;

[[gnu::tls_model("initial-exec")]] extern constinit thread_local rtm rtm_of_this_thread;

template <>
inline rtm& rtm::of_this_thread() noexcept {
    return rtm_of_this_thread;
}
extern template class basic_rtm<stm::plain_home, hardware>;

}  // namespace holdfast::htm
