// What a thread's attempt at a transaction could not get, or find out, inside: it is rolled back first, and then served
// with nothing open (between_attempts_run.hpp).
#pragma once

#include <holdfast/base/result.hpp>
#include <holdfast/dnv/damage.hpp>
#include <holdfast/dnv/layout.hpp>

#include <cstdint>
#include <mutex>

namespace holdfast::dnv {

/// One for each thread, constant-initialised and trivially destructible: reached without a guard.
struct attempt {
    static constexpr unsigned nothing = ~0u;

    unsigned wanted_class = nothing;   ///< of blocks that a chunk is needed for
    error* problem = nullptr;          ///< why the transaction cannot be; owned
    bool is_damaged = false;
    damage found;                ///< if is_damaged: a word that cannot be corrected
    bool is_in_heap = false;     ///< dnv_malloc or dnv_free is at work
    std::mutex* held = nullptr;  ///< is given back while a handler is asked
    bool leaves = false;         ///< the transaction is one that can be left: dnv_atomically

    /// Whether there is no room for blocks of the class, as the attempt before this one found out.
    bool is_refused(unsigned of_class, std::uint64_t attempt_number) const noexcept {
        return refused_in_ == attempt_number && (refused_[of_class / 64] >> of_class % 64 & 1) != 0;
    }
    /// Refusals of the attempt that has ended hold in the next one, too.
    void keep_refusals(std::uint64_t ended, std::uint64_t next) noexcept {
        if (refused_in_ != ended)
            for (std::uint64_t& each : refused_) each = 0;
        refused_in_ = next;
    }
    /// The transaction has taken blocks over from other heaps once more, and begins again. Returns how often it has.
    unsigned count_take_over(std::uint64_t ended, std::uint64_t next) noexcept {
        if (taken_over_in_ != ended) taken_over_ = 0;
        taken_over_in_ = next;
        return ++taken_over_;
    }
    unsigned take_overs_before(std::uint64_t attempt_number) const noexcept {
        return taken_over_in_ == attempt_number ? taken_over_ : 0;
    }
    /// It begins again for another reason.
    void keep_take_overs(std::uint64_t ended, std::uint64_t next) noexcept {
        if (taken_over_in_ == ended) taken_over_in_ = next;
    }
    void refuse(unsigned of_class) noexcept { refused_[of_class / 64] |= std::uint64_t{1} << of_class % 64; }

private:
    std::uint64_t taken_over_in_ = 0;  ///< the number of the attempt that the next line is about
    unsigned taken_over_ = 0;
    std::uint64_t refused_in_ = 0;
    std::uint64_t refused_[(all_classes + 63) / 64] = {};  ///< a bit for each class
};

extern constinit thread_local attempt attempt_of_this_thread __attribute__((tls_model("initial-exec")));
inline attempt& this_attempt() noexcept { return attempt_of_this_thread; }

/// A mutex that this thread holds, and that is free while a handler is asked: the handler may want it.
class given_back_to_handlers {
public:
    explicit given_back_to_handlers(std::mutex& held) noexcept { this_attempt().held = &held; }
    ~given_back_to_handlers() { this_attempt().held = nullptr; }
    given_back_to_handlers(const given_back_to_handlers&) = delete;
    given_back_to_handlers& operator=(const given_back_to_handlers&) = delete;
};

/// What is read here are words of the heap. An attempt that ends inside is settled, and is in the heap no more.
class in_heap {
public:
    in_heap() noexcept { this_attempt().is_in_heap = true; }
    ~in_heap() { this_attempt().is_in_heap = false; }
    in_heap(const in_heap&) = delete;
    in_heap& operator=(const in_heap&) = delete;
};

}  // namespace holdfast::dnv
