// DNV Memory: persistent malloc, static variables and atomic blocks on native pointers, with codes that correct flipped
// bits. Sources with `__transaction_atomic` are compiled by holdfast_target_dnv; docs/guide/dnv.md has an example.
//
// The addresses that a program holds are not accessible: only code in atomic blocks, compiled for them, can load and
// store there.
// One pool is open in a process at a time.
#pragma once

#include <holdfast/base/result.hpp>
#include <holdfast/dnv/damage.hpp>
#include <holdfast/pool/options.hpp>

#include <chrono>
#include <cstddef>
#include <cstdint>
#include <string>

#if defined(__cpp_transactional_memory)
#define HOLDFAST_DNV_SAFE __attribute__((transaction_safe))
#define HOLDFAST_DNV_PURE __attribute__((transaction_pure))
#else
#define HOLDFAST_DNV_SAFE
#define HOLDFAST_DNV_PURE
#endif

/// A static variable of plain data that the pool keeps: `DNV_POD node* head;`. When the pool is created it has its
/// initial value. Variables may be added after the program's others; old ones keep name, size and place.
#define DNV_POD __attribute__((section("holdfast_dnv_statics"), used))

/// How a pool is opened. `bytes`, `reserved_bytes`, `log_bytes` and `protect` apply only when a pool is created.
struct dnv_options {
    std::uint64_t bytes = 64 << 20;          ///< of the file; with codes blocks take twice their size of it
    std::uint64_t reserved_bytes = 0;        ///< address range for growth; 0: as create_options
    std::uint64_t log_bytes = 0;             ///< as create_options
    holdfast::level durability = holdfast::level::power;  ///< as open_options
    bool protect = true;                     ///< words have codes
    bool accept_not_durable = false;         ///< as open_options
    bool tmpfs_is_nvram = false;             ///< as open_options
};

/// Opens the pool at `path`, or creates it, with its static variables.
/// Thread safety: no other thread is in a block or in a call of dnv.
/// What holds if the process dies inside: the next opening finds the pool as it was, or complete.
/// Errors: those of open_pool::create and open; layout_mismatch (static variables), address_taken (half of the pool's
/// address), misuse (one is open, or the program is linked without the linker script of its static variables), corrupt.
holdfast::result<void> dnv_open(const std::string& path, const dnv_options& options = {});
/// Makes the pool `bytes` large in total, in place; see open_pool::grow for errors and crashes. Thread-safe. Requires:
/// outside of blocks.
holdfast::result<void> dnv_grow(std::uint64_t bytes);
/// Closes it: every commit is home. Requires: as dnv_open. Errors: io, misuse (none is open).
holdfast::result<void> dnv_close();

extern "C" {
/// A block of persistent memory, uninitialised, 16-aligned; nullptr where there is no room. In an atomic block it
/// belongs to the transaction: a roll-back frees it. Elsewhere it is a transaction of its own.
/// Requires: a pool is open. Thread-safe.
HOLDFAST_DNV_SAFE void* dnv_malloc(std::size_t bytes) noexcept;
/// The same without codes, in a pool that has them: nothing is compared when its words are read and nothing computed
/// when they are stored, and a flipped bit is not noticed.
HOLDFAST_DNV_SAFE void* dnv_malloc_unprotected(std::size_t bytes) noexcept;
/// Frees a block of either kind; in an atomic block at its commit. nullptr does nothing. Another address ends the
/// program with a message; a block that is free already is not noticed. Thread-safe.
HOLDFAST_DNV_SAFE void dnv_free(void* block) noexcept;
}

/// Sets the handler for uncorrectable words. It runs after the transaction was rolled back, with no lock held; without
/// a handler the program ends. Thread-safe.
void dnv_on_uncorrectable(holdfast::dnv::damage_handler handler);
/// The same for this thread, whose handler is asked first.
void dnv_on_uncorrectable_in_this_thread(holdfast::dnv::damage_handler handler);

/// What the open pool has done so far.
struct dnv_statistics {
    holdfast::level durability{};  ///< in force: `power` if `on_power_fail` was requested and no handler armed the pool
    std::uint64_t mended_words = 0;  ///< words whose flipped bits were corrected
    std::uint64_t mended_bits = 0;
    std::uint64_t mended_words_of_life = 0;  ///< with those of earlier openings; a kill loses the last of them
    std::uint64_t mended_bits_of_life = 0;
    std::uint64_t damaged_words = 0;  ///< that nothing corrects, as the pool's list says
    std::uint64_t chunks = 0;        ///< in use
    std::uint64_t scrubbed_words = 0;  ///< checked by scrubbers
    std::uint64_t scrub_rounds = 0;    ///< that they ended
    /// What transactions of the calling thread have stored to pools, with the codes: homes at each commit, and new
    /// blocks. With `on_power_fail` no other byte of a commit reaches the pool; elsewhere its record does, too.
    std::uint64_t bytes_stored_by_this_thread = 0;
};
/// Requires: a pool is open.
dnv_statistics dnv_state();

/// The pace of a scrubber.
struct dnv_scrub_options {
    std::uint64_t bytes_per_second = 16 << 20;          ///< of the program's blocks and variables; in steps of 16 KiB
    std::chrono::milliseconds between_rounds{60'000};  ///< from the end of a round to the next one
};
/// Starts a thread that repeatedly checks every word that has a code, allocated or free: it corrects flipped bits, and
/// enters words that nothing corrects in the pool's list, without asking a handler. It takes no lock that a transaction
/// waits for; on an ordinary file at `power` short transactions of its own bring corrections to the file. One runs at a
/// time, until dnv_scrub_stop, dnv_close or the end of the program.
/// Thread safety, also of the stop: no other thread starts or stops one, or opens or closes the pool.
/// Errors: misuse (no pool is open, it has no codes, or a scrubber runs), invalid_argument, io.
holdfast::result<void> dnv_scrub_start(const dnv_scrub_options& options = {});
/// Stops it, and returns when it has ended. Without one it does nothing.
void dnv_scrub_stop();

namespace holdfast::dnv::detail {
/// While it exists, an attempt of the thread that cannot be retried returns an error instead of ending the program.
class leavable {
public:
    HOLDFAST_DNV_PURE leavable() noexcept;
    HOLDFAST_DNV_PURE ~leavable();
    leavable(const leavable&) = delete;
    leavable& operator=(const leavable&) = delete;

    HOLDFAST_DNV_PURE result<void> outcome(bool committed) noexcept;

private:
    bool before_ = false;
};
}  // namespace holdfast::dnv::detail

#if defined(__cpp_transactional_memory)
#include <holdfast/itm/called_in_block.hpp>
#include <holdfast/itm/itm.hpp>

#include <new>
#include <type_traits>

/// Room for a T in a static variable of the pool. The first block ever to access it constructs the T by the default
/// constructor, as a part of that transaction; its destructor never runs.
template <class T>
class dnv_object {
public:
    constexpr dnv_object() noexcept = default;
    dnv_object(const dnv_object&) = delete;
    dnv_object& operator=(const dnv_object&) = delete;

    /// Requires: in a block. The constructor of T is one that a block may call.
    T& operator*() {
        if (!is_made_) {
            ::new (static_cast<void*>(bytes_)) T();
            is_made_ = true;
        }
        return *reinterpret_cast<T*>(bytes_);
    }
    T* operator->() { return &**this; }

private:
    alignas(T) unsigned char bytes_[sizeof(T)] = {};
    bool is_made_ = false;
};

/// A static variable of a class with a constructor, that the pool keeps: `DNV_OBJ(table, prices);` and then, in blocks,
/// `prices->find(key)`.
#define DNV_OBJ(type, name) DNV_POD dnv_object<type> name

/// Runs f() as one atomic block that fails instead of ending the program. What can be copied as bytes, and is called as
/// const, is copied before. Requires: outside of blocks.
/// Errors, with nothing of f done: transaction_too_large, busy, corrupt (the handler chose to leave), aborted (f
/// cancelled), poisoned. Further: outcome_unknown.
template <class F>
holdfast::result<void> dnv_atomically(F&& f) {
    holdfast::itm::detail::called_in_block<std::remove_reference_t<F>> called(f);
    holdfast::dnv::detail::leavable attempt;
    bool committed = false;
    __transaction_atomic {
        called();
        committed = true;
        // Never taken: the compiler must expect that the block is left.
        if (holdfast_itm_value_or_holdfast_itm_versioned_is_not_linked != 0) HOLDFAST_CANCEL;
    }
    return attempt.outcome(committed);
}
#endif
