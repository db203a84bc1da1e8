// The instructions of hardware transactions (Intel RTM), whether this machine has them, and the stamp that orders their
// commits. Owns nothing but the answer to the first question and, where there is none, a counter in place of the stamp.
//
// The stamp is `mfence; rdtscp` as the last act before xend:
//   * rdtscp waits for the loads before it, not for the stores: those may still be in the store buffer. A line whose
//     store is buffered is not in the write set yet, and nobody who stores there meanwhile aborts. Without the fence
//     two blind stores to one word may commit in the order opposite to that of their stamps.
//   * mfence waits for the stores: when the stamp is read, every line of the transaction is in its read or write set,
//     and stays there until xend. So Claim 1 holds (stamped_rings.hpp).
//   * the counter is the same on every processor only where it is invariant: hence the third condition.
#pragma once

#include <holdfast/stm/algorithm.hpp>
#include <holdfast/stm/grown_array.hpp>
#include <holdfast/stm/blocks.hpp>

#include <atomic>
#include <cstdint>

namespace holdfast::htm {

using stm::word;

/// Why a hardware transaction came to nothing, as the processor says it, and what basic_rtm says when it aborts one.
namespace status {
inline constexpr unsigned started = ~0u;
inline constexpr unsigned by_program = 1u << 0;  ///< an xabort; its code is in the highest byte
inline constexpr unsigned retry = 1u << 1;       ///< the same may succeed when it is tried again
inline constexpr unsigned conflict = 1u << 2;    ///< another thread touched what was read or stored
inline constexpr unsigned capacity = 1u << 3;    ///< more lines than the processor follows

inline constexpr unsigned code_of(unsigned why) noexcept { return why >> 24; }
inline constexpr unsigned of_code(unsigned code) noexcept { return code << 24 | by_program; }

enum code : unsigned {
    fallback_runs = 1,  ///< somebody is in the fallback
    rolled_back = 2,    ///< by the program: software knows how to go on behind a roll-back
    log_full = 3,
};
}  // namespace status

/// What CPUID says, for find_obstacle.
struct processor_facts {
    bool has_rtm = false;            ///< leaf 7, EBX bit 11
    bool always_aborts = false;      ///< leaf 7, EDX bit 11: RTM_ALWAYS_ABORT
    bool has_rdtscp = false;         ///< leaf 0x80000001, EDX bit 27
    bool has_invariant_tsc = false;  ///< leaf 0x80000007, EDX bit 8
    bool empty_ones_commit = false;  ///< one of many empty transactions did; looked at only where the others allow it
};

/// A sentence why hardware transactions are not used, or nullptr where they are.
const char* find_obstacle(const processor_facts& facts) noexcept;

/// The same for this machine; for records and for people. Any thread.
const char* obstacle_here() noexcept;

/// What the open hardware transaction of a policy begins with.
struct attempt {
    std::uintptr_t frames_below = 0;
    bool read_only = false;
    /// Called where an abort cannot come back by itself. If it returns, the transaction is over.
    void (*aborted)(unsigned why) = nullptr;
    /// Its code loads and stores by itself, not through the policy.
    bool is_plain = false;
};

/// The processor's transactions: the policy with which basic_rtm is fast. Another one is the stand-in of tests.
///
/// What basic_rtm asks of a policy:
///   stores_directly        stores are in memory at once and vanish by themselves when the transaction aborts, with all
///                          else that the thread has stored since
///   is_available()         else everything runs in the fallback
///   begin(attempt)         `started`, or why not. It returns a second time when the transaction aborts later, with
///                          everything as it was; a policy that cannot do that calls attempt.aborted instead
///   is_taken(held)         whether somebody is in the fallback; from here on, taking it aborts this transaction
///   load(home), store(home, value, mask)
///   abort<code>()          does not return, where abort can come back; elsewhere rolls back and returns
///   end()                  commits: `started`. Or why not, where it was aborted just now and that could not come back
///   end_with_stamp(stamp)  the same; `stamp` is the commit's place among all commits that it conflicts with
///   end_with_number(counter, number)   the same; `number` is what the counter had, which has the next one now
///   take(held)             outside: true when the fallback is this thread's. Then no transaction that has not
///                          committed yet commits before it is released by storing 0
///   stamp()                outside: the next place in that order, behind all stores so far
///   now(), now_before_loads()   outside: below every stamp that is drawn from here on; the second is read before any
///                          load that follows
///   give_back(blocks)      outside: what a committed transaction freed, once nobody can load from it
struct hardware {
    static constexpr bool stores_directly = true;

    static bool is_available() noexcept { return is_available_; }

    [[gnu::always_inline]] static unsigned begin([[maybe_unused]] const attempt& how) noexcept {
        unsigned result = 0;
#if defined(__x86_64__)
        result = status::started;
        asm volatile("xbegin 1f\n1:" : "+a"(result)::"memory");
#endif
        return result;
    }
    /// A load is all that it takes: the line is in the read set then.
    [[gnu::always_inline]] static bool is_taken(const word& held) noexcept {
        return stm::detail::load_home(&held) != 0;
    }
    [[gnu::always_inline]] static word load(const word* home) noexcept { return stm::detail::load_home(home); }
    [[gnu::always_inline]] static void store(word* home, word value, std::uint8_t mask) noexcept {
        stm::detail::store_home(home, value, mask);
    }
    template <unsigned Code>
    [[gnu::always_inline]] static void abort() noexcept {
#if defined(__x86_64__)
        asm volatile("xabort %0" ::"i"(Code) : "memory");
#endif
    }
    [[gnu::always_inline]] static unsigned end() noexcept {
#if defined(__x86_64__)
        asm volatile("xend" ::: "memory");
#endif
        return status::started;
    }
    [[gnu::always_inline]] static unsigned end_with_stamp(std::uint64_t& stamp) noexcept {
        stamp = fenced_ticks();
        return end();
    }
    /// The counter's line is the last that is touched, and this transaction's alone until its end: numbers are in the
    /// order of commits, and one that aborts has drawn none. A locked addition waits for the stores before it, which
    /// the end would wait for anyway, and takes the line once, to own it. A load would run ahead of those stores, share
    /// the line, and give others all that time to take it away.
    [[gnu::always_inline]] static unsigned end_with_number(std::atomic<std::uint64_t>& counter,
                                                           std::uint64_t& number) noexcept {
        number = counter.fetch_add(1, std::memory_order_seq_cst);
        return end();
    }
    /// A load is all that it takes here, too.
    [[gnu::always_inline]] static word subscribe(const word* home) noexcept { return load(home); }
    /// Whether the calling thread is in a hardware transaction. Requires: is_available().
    static bool is_open() noexcept {
        bool open = false;
#if defined(__x86_64__)
        asm volatile("xtest\n\tsetnz %0" : "=r"(open)::"cc");
#endif
        return open;
    }

    /// The exchange aborts every transaction that has looked, and is a full fence: what is loaded next is newer.
    static bool take(word& held) noexcept { return __atomic_exchange_n(&held, word{1}, __ATOMIC_SEQ_CST) == 0; }

    static std::uint64_t stamp() noexcept { return is_available_ ? fenced_ticks() : next_count(); }
    static std::uint64_t now() noexcept {
        return is_available_ ? bare_ticks() : count_.load(std::memory_order_seq_cst);
    }
    static std::uint64_t now_before_loads() noexcept {
        const std::uint64_t ticks = now();
#if defined(__x86_64__)
        asm volatile("lfence" ::: "memory");
#endif
        return ticks;
    }
    /// A transaction that might still read the block was aborted by the commit that unlinked it.
    static void give_back(stm::grown_array<stm::block>& freed) noexcept {
        while (!freed.empty()) {
            const stm::block last = freed.back();
            freed.pop();
            last.give_back();
        }
    }

    /// The stamp, and what it would be without its fence, for the test that shows what the fence is for.
    [[gnu::always_inline]] static std::uint64_t fenced_ticks() noexcept {
#if defined(__x86_64__)
        asm volatile("mfence" ::: "memory");
#endif
        return bare_ticks();
    }
    [[gnu::always_inline]] static std::uint64_t bare_ticks() noexcept {
#if defined(__x86_64__)
        std::uint32_t low, high;
        asm volatile("rdtscp" : "=a"(low), "=d"(high)::"rcx", "memory");
        return std::uint64_t{high} << 32 | low;
#else
        return 0;
#endif
    }

private:
    /// Where everything runs in the fallback, one after the other, a counter orders as well.
    static std::uint64_t next_count() noexcept { return count_.fetch_add(1, std::memory_order_seq_cst) + 1; }

    static const bool is_available_;
    static constinit std::atomic<std::uint64_t> count_;
};

}  // namespace holdfast::htm
