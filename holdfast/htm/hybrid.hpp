// `hybrid`: transactions by the processor, beside those of `value` for what it cannot do. What must be inlined; the
// protocol, its invariants and what each order is for are in hybrid_run.hpp.
#pragma once

#include <holdfast/htm/planted.hpp>
#include <holdfast/htm/rtm_instructions.hpp>
#include <holdfast/stm/algorithm.hpp>
#include <holdfast/stm/back_off.hpp>
#include <holdfast/stm/blocks.hpp>
#include <holdfast/stm/registry.hpp>
#include <holdfast/stm/value.hpp>

#include <cstddef>
#include <cstdint>
#include <string_view>

#include <pthread.h>

namespace holdfast::htm {

/// What a thread's transactions came to.
struct hybrid_counts {
    std::uint64_t plain = 0;     ///< commits in hardware of code without barriers
    std::uint64_t followed = 0;  ///< commits in hardware beside software transactions
    std::uint64_t aborts = 0;    ///< of hardware transactions, each try counted
    std::uint64_t software = 0;  ///< transactions that began in software, each attempt counted
};

/// An `algorithm`: a transaction runs in hardware, and after some aborts in software, by `Software`. Both run side by
/// side. Where the hardware is not available it is `Software`, at its price. What holds of that one's threads, forks,
/// privatisation and freed blocks holds here.
///
/// begin_block is for code that exists twice, with barriers and without: in hardware it runs without, unless a software
/// transaction is open. Everything else runs with barriers, also in hardware.
///
/// In hardware, what a transaction stores is in memory at once, and nobody else can see it. An abort does not return:
/// begin returns once more, with everything as it was. So a roll-back, a cancel and becoming irrevocable take the same
/// transaction into software, which does it there.
/// What hardware cannot do is said at basic_rtm.
/// `Software`: an algorithm whose counter is odd while it stores (stm::basic_value).
/// `Hardware`: `hardware`, or what stands in for it in tests; what is asked of it besides: hybrid_hardware.
/// Source: Hybrid NOrec (Dalessandro, Carouge, White, Lev, Moir, Scott, Spear, ASPLOS 2011); plain code only while
/// nothing runs in software: phased transactional memory (Lev, Moir, Nussbaum, TRANSACT 2007).
template <class Software, class Hardware>
class alignas(128) basic_hybrid {
public:
    using home_policy = typename Software::home_policy;
    using hardware_policy = Hardware;
    static constexpr std::string_view name = "hybrid";

    /// In hardware; then software.
    static constexpr unsigned most_tries = 8;

    static basic_hybrid& of_this_thread() noexcept;

    bool active() const noexcept { return software().active() || in_hardware(); }
    bool irrevocable() const noexcept { return software().irrevocable(); }
    /// Whether the open transaction is one of the hardware.
    bool in_hardware() const noexcept { return mode_ >= mode::plain; }
    const hybrid_counts& counts() const noexcept { return counts_; }

    void begin(const stm::start& how) noexcept {
        if (!Hardware::is_available()) [[likely]]
            return software().begin(how);
        begin_somewhere(how, false);
    }
    /// The same for a transaction whose code exists without barriers, too. True: that is the code to run.
    bool begin_block(const stm::start& how) noexcept {
        if (!Hardware::is_available()) [[likely]] {
            software().begin(how);
            return false;
        }
        begin_somewhere(how, true);
        return mode_ == mode::plain;
    }
    /// Whether code without barriers may run now. Requires: active.
    bool runs_plain_code() const noexcept { return mode_ == mode::plain; }
    /// Goes on with the same transaction in software, from its beginning. Requires: in_hardware(). Does not return.
    [[noreturn]] void leave_hardware();

    [[gnu::always_inline]] word load(const word* home) {
        if (is_stood_in()) return Hardware::load(home);
        return software().load(home);
    }
    [[gnu::always_inline]] word load_after_read(const word* home) {
        if (is_stood_in()) return Hardware::load(home);
        return software().load_after_read(home);
    }
    word load_after_write(const word* home) { return load(home); }
    word load_for_write(const word* home) { return load(home); }

    [[gnu::always_inline]] void store(word* home, word what, std::uint8_t byte_mask) {
        if (is_stood_in()) return store_in_hardware(home, what, byte_mask);
        software().store(home, what, byte_mask);
    }
    void store_after_read(word* home, word what, std::uint8_t byte_mask) { store(home, what, byte_mask); }
    void store_after_write(word* home, word what, std::uint8_t byte_mask) { store(home, what, byte_mask); }

    void read_range(void* to, const void* from, std::size_t bytes);
    void write_range(void* to, const void* from, std::size_t bytes);
    void copy_range(void* to, const void* from, std::size_t bytes);
    void fill_range(void* to, int byte, std::size_t bytes);

    bool commit() noexcept {
        if (mode_ == mode::uncounted) [[likely]]
            return software().commit();
        return commit_counted();
    }
    void roll_back() noexcept;
    bool become_irrevocable() noexcept;

    void note_allocated(void* address, std::size_t bytes, std::size_t alignment, stm::give_back back) noexcept;
    void free_at_commit(void* address, std::size_t bytes, std::size_t alignment, stm::give_back back) noexcept;

    /// Of read_range and the other range functions (stm/ranges.hpp).
    bool is_private(const void* from, std::size_t bytes) const noexcept;

private:
    /// uncounted: nothing is open, or a software transaction where there is no hardware. software: counted among the
    /// open ones. plain: in hardware, without barriers, while none of those is open. followed: in hardware, with them.
    enum class mode : std::uint8_t { uncounted, software, plain, followed };
    /// Alone in a pair of lines: every hardware transaction reads it.
    struct alignas(128) software_transactions {
        word open = 0;
    };
    static constinit software_transactions beside_;
    static constinit pthread_key_t exit_key_;
    static const bool is_known_to_process_;  ///< its ends of threads and its forks are noticed

    static Software& software() noexcept { return Software::of_this_thread(); }
    /// Whether what the transaction loads and stores goes through the policy. The processor's is in memory.
    [[gnu::always_inline]] bool is_stood_in() const noexcept {
        return !Hardware::stores_directly && mode_ == mode::followed;
    }

    void begin_somewhere(const stm::start& how, bool may_be_plain) noexcept;
    bool begin_in_hardware(const stm::start& how, bool may_be_plain) noexcept;
    bool is_subscribed() noexcept;
    void begin_counted(const stm::start& how) noexcept;
    void leave_software() noexcept;
    /// One function for both, as rtm's commit is, and for its reason.
    [[gnu::noinline, gnu::aligned(128)]] bool commit_counted() noexcept;
    [[gnu::always_inline]] bool commit_in_hardware() noexcept;
    [[gnu::noinline]] bool commit_in_software() noexcept;
    void settle_blocks(bool beside_software) noexcept;
    void store_in_hardware(word* home, word what, std::uint8_t byte_mask);
    void forget_tries() noexcept;
    void note_failure(unsigned why) noexcept;
    [[noreturn]] static void aborted(unsigned why);

    void enter() noexcept;
    static void leave(void* of_thread) noexcept;
    static void after_fork_in_child() noexcept;

    mode mode_ = mode::uncounted;
    bool read_only_ = false;
    bool has_entered_ = false;
    bool has_failed_ = false;  ///< the open try has come to nothing already
    unsigned tries_ = 0;
    std::uint64_t counter_ = 0;  ///< as the hardware transaction has found it
    std::uintptr_t frames_below_ = 0;
    decltype(stm::start::restart) restart_ = nullptr;
    stm::transaction_blocks blocks_;
    stm::back_off pauses_;
    hybrid_counts counts_;
};

/// What basic_hybrid asks of a policy beside what `hardware` says of begin, load, store and abort.
template <class Hardware>
concept hybrid_hardware = requires(const word* home, stm::grown_array<stm::block>& freed) {
    { Hardware::subscribe(home) } -> std::same_as<word>;  ///< loads; a store there from now on aborts it
    { Hardware::end() } -> std::same_as<unsigned>;
};

/// Ordinary memory. Transactions of stm::value are others: they do not count as open.
struct hybrid_home : stm::plain_home {};
using software_of_hybrid = stm::basic_value<hybrid_home>;
using hybrid = basic_hybrid<software_of_hybrid, hardware>;

[[gnu::tls_model("initial-exec")]] extern constinit thread_local software_of_hybrid software_of_this_thread;
[[gnu::tls_model("initial-exec")]] extern constinit thread_local hybrid hybrid_of_this_thread;

}  // namespace holdfast::htm

namespace holdfast {
template <>
inline htm::software_of_hybrid& htm::software_of_hybrid::of_this_thread() noexcept {
    return htm::software_of_this_thread;
}
template <>
inline htm::hybrid& htm::hybrid::of_this_thread() noexcept {
    return htm::hybrid_of_this_thread;
}
extern template class stm::basic_value<htm::hybrid_home>;
extern template class htm::basic_hybrid<htm::software_of_hybrid, htm::hardware>;
}  // namespace holdfast
