// The steps of `hybrid`. It owns the word that counts the open software transactions and, for each thread, the blocks
// that a hardware transaction frees, and counts.
//
// Protocol:
//   1. begin: in hardware, at most most_tries times; then in software. An abort that is not worth another try, and a
//      begin that asks to be alone, go to software at once. Wait, outside, until the counter of `Software` is even.
//   2. In hardware, first of all: load the counter. Odd: abort. Even: a thread that makes it odd from here on (a commit
//      in software, or a thread that is alone) aborts this transaction, which has the line in its read set.
//   3. Code without barriers (plain) only while no software transaction is open: the word that counts them is loaded as
//      well, and must be 0. The next one to begin aborts the transaction. Elsewhere the code with barriers runs
//      (followed): loads and stores are plain ones, but what it frees is known.
//   4. commit in hardware: if it followed barriers and may have stored, load the word. Not 0: store the counter, larger
//      by 2. xend: stores and counter are there in one moment.
//   5. begin in software: the word is counted up by an exchange, which is a full fence. Then the steps of `Software`,
//      whose snapshot is loaded behind that. Its end counts the word down.
//   6. what a hardware transaction freed goes back at once if the word was 0 at its commit, else through `Software`,
//      which waits until the transactions that were open have ended.
//   7. roll-back, cancel, irrevocable: in hardware, an abort with a code that sends the same transaction into software.
//
// Invariants:
//   I1. While the counter is odd no hardware transaction commits, and none has loaded what is stored meanwhile.
//   I2. A hardware commit beside an open software transaction that stores moves the counter, so that the other one
//       compares what it has read before it believes another load, and before its commit. It finds either all of the
//       commit's stores or none.
//   I3. Plain code and software transactions are never open side by side: plain code gives memory straight back to the
//       allocator, which may give it to the kernel, and software compares homes that it has read.
//   I4. A hardware transaction that holds a pointer to a freed block does not exist: the commit that took the block out
//       of reach has made the counter odd, or stored to a word that the transaction has read.
//
// Why the order in 4 and 5: the word is read as the last act, so that software transactions that have already ended
// abort none in hardware. One that begins later aborts the transaction, or finds its stores: its exchange comes before
// xend, and takes the line, or after it, and then its snapshot is of a later moment. Software that does not learn of
// hardware commits would be as opaque as a reader without validation (the planted fault hybrid_counter_not_moved).
#pragma once

#include <holdfast/base/assertion.hpp>
#include <holdfast/htm/hybrid.hpp>
#include <holdfast/stm/ranges.hpp>
#include <holdfast/stm/wait.hpp>

#include <cstring>

namespace holdfast::htm {

template <class Software, class Hardware>
constinit typename basic_hybrid<Software, Hardware>::software_transactions basic_hybrid<Software, Hardware>::beside_;
template <class Software, class Hardware>
constinit pthread_key_t basic_hybrid<Software, Hardware>::exit_key_ = 0;

/// When the program is loaded; before that, everything runs in software, alone.
template <class Software, class Hardware>
const bool basic_hybrid<Software, Hardware>::is_known_to_process_ = [] {
    return pthread_key_create(&exit_key_, leave) == 0 && pthread_atfork(nullptr, nullptr, after_fork_in_child) == 0;
}();

template <class Software, class Hardware>
void basic_hybrid<Software, Hardware>::begin_somewhere(const stm::start& how, bool may_be_plain) noexcept {
    restart_ = how.restart;
    frames_below_ = how.frames_below;
    read_only_ = how.read_only;
    if (!has_entered_) [[unlikely]]
        enter();
    if (how.serial || !is_known_to_process_ || !begin_in_hardware(how, may_be_plain)) begin_counted(how);
}

/// It returns a second time when the hardware aborts. False: software has to do it.
template <class Software, class Hardware>
bool basic_hybrid<Software, Hardware>::begin_in_hardware(const stm::start& how, bool may_be_plain) noexcept {
    while (tries_ < most_tries) {
        for (stm::waiter wait; (stm::detail::load_home(Software::counter()) & 1) != 0;) wait.pause();
        const bool is_plain = may_be_plain && (stm::detail::load_home(&beside_.open) == 0 ||
                                               is_planted(fault::hybrid_plain_beside_software));
        has_failed_ = false;
        // Before xbegin: what an abort finds.
        mode_ = is_plain ? mode::plain : mode::followed;
        const unsigned why = Hardware::begin({how.frames_below, how.read_only, aborted, is_plain});
        if (why == status::started) [[likely]] {
            if (is_subscribed()) [[likely]]
                return true;
            Hardware::template abort<status::fallback_runs>();
            // Only a stand-in comes here; from the processor it is the status below.
            note_failure(status::of_code(status::fallback_runs));
        } else {
            note_failure(why);
        }
        mode_ = mode::uncounted;
        if (tries_ < most_tries) pauses_.conflict();
    }
    return false;
}

template <class Software, class Hardware>
bool basic_hybrid<Software, Hardware>::is_subscribed() noexcept {
    if (is_planted(fault::hybrid_not_subscribed)) {
        counter_ = stm::detail::load_home(Software::counter()) & ~word{1};
    } else {
        counter_ = Hardware::subscribe(Software::counter());
        if ((counter_ & 1) != 0) return false;
    }
    software().follow(counter_);
    return mode_ != mode::plain || is_planted(fault::hybrid_plain_beside_software) ||
           Hardware::subscribe(&beside_.open) == 0;
}

template <class Software, class Hardware>
void basic_hybrid<Software, Hardware>::begin_counted(const stm::start& how) noexcept {
    has_failed_ = false;
    ++counts_.software;
    __atomic_fetch_add(&beside_.open, word{1}, __ATOMIC_SEQ_CST);
    stm::complete_fence();
    mode_ = mode::software;
    stm::start own = how;
    // What it tries next is the same transaction.
    own.restart = [] {
        basic_hybrid& mine = of_this_thread();
        mine.has_failed_ = true;
        mine.restart_();
    };
    software().begin(own);
}

template <class Software, class Hardware>
void basic_hybrid<Software, Hardware>::leave_software() noexcept {
    mode_ = mode::uncounted;
    __atomic_fetch_sub(&beside_.open, word{1}, __ATOMIC_RELEASE);
    if (tries_ != 0 && !has_failed_) forget_tries();
}

/// The thread's first transaction.
template <class Software, class Hardware>
void basic_hybrid<Software, Hardware>::enter() noexcept {
    has_entered_ = true;
    Software::note_threads_without_slot();
    if (is_known_to_process_) pthread_setspecific(exit_key_, this);
}

template <class Software, class Hardware>
void basic_hybrid<Software, Hardware>::note_failure(unsigned why) noexcept {
    ++counts_.aborts;
    has_failed_ = true;
    const bool met_software = (why & status::by_program) != 0 && status::code_of(why) == status::fallback_runs;
    tries_ = (why & status::retry) != 0 || met_software ? tries_ + 1 : most_tries;
}

/// Where an abort cannot come back by itself: as a conflict of the other algorithms does.
template <class Software, class Hardware>
void basic_hybrid<Software, Hardware>::aborted(unsigned why) {
    basic_hybrid& own = of_this_thread();
    own.note_failure(why);
    own.restart_();
    __builtin_unreachable();
}

template <class Software, class Hardware>
void basic_hybrid<Software, Hardware>::leave_hardware() {
    HOLDFAST_ASSERT(in_hardware(), "only a hardware transaction goes on in software");
    Hardware::template abort<status::rolled_back>();
    aborted(status::of_code(status::rolled_back));
}

template <class Software, class Hardware>
inline bool basic_hybrid<Software, Hardware>::commit_in_hardware() noexcept {
    const bool beside_software = mode_ == mode::followed && Hardware::subscribe(&beside_.open) != 0;
    if (beside_software && !read_only_ && !is_planted(fault::hybrid_counter_not_moved))
        Hardware::store(Software::counter(), counter_ + 2, 0xFF);
    if (const unsigned why = Hardware::end(); why != status::started) [[unlikely]] {
        note_failure(why);
        return false;
    }
    ++(mode_ == mode::plain ? counts_.plain : counts_.followed);
    mode_ = mode::uncounted;
    if (tries_ != 0) [[unlikely]]
        forget_tries();
    if (!blocks_.empty()) [[unlikely]]
        settle_blocks(beside_software);
    return true;
}

template <class Software, class Hardware>
bool basic_hybrid<Software, Hardware>::commit_counted() noexcept {
    return in_hardware() ? commit_in_hardware() : commit_in_software();
}

template <class Software, class Hardware>
bool basic_hybrid<Software, Hardware>::commit_in_software() noexcept {
    if (!software().commit()) {
        has_failed_ = true;
        return false;
    }
    leave_software();
    return true;
}

template <class Software, class Hardware>
void basic_hybrid<Software, Hardware>::settle_blocks(bool beside_software) noexcept {
    blocks_.committed();
    if (!beside_software || is_planted(fault::hybrid_freed_at_once)) return Hardware::give_back(blocks_.freed());
    software().begin({});
    for (const stm::block& each : blocks_.freed())
        software().free_at_commit(each.address, each.bytes, each.alignment, each.back);
    blocks_.freed().clear();
    software().commit();
}

template <class Software, class Hardware>
void basic_hybrid<Software, Hardware>::forget_tries() noexcept {
    tries_ = 0;
    has_failed_ = false;
    pauses_.reset();
}

template <class Software, class Hardware>
void basic_hybrid<Software, Hardware>::roll_back() noexcept {
    // The next attempt is one of the same transaction only where this one came to nothing by itself.
    const bool goes_on = has_failed_;
    if (in_hardware()) {
        // The processor goes back to begin here.
        Hardware::template abort<status::rolled_back>();
    } else {
        // Before: the allocator may have a transaction of its own.
        const bool is_counted = mode_ == mode::software;
        software().roll_back();
        if (is_counted) leave_software();
    }
    mode_ = mode::uncounted;
    if (!goes_on) forget_tries();
    has_failed_ = false;
    blocks_.rolled_back();
}

template <class Software, class Hardware>
bool basic_hybrid<Software, Hardware>::become_irrevocable() noexcept {
    if (!in_hardware()) return software().become_irrevocable();
    Hardware::template abort<status::rolled_back>();
    note_failure(status::of_code(status::rolled_back));
    return false;
}

/// What the hardware undoes includes what the allocator did.
template <class Software, class Hardware>
void basic_hybrid<Software, Hardware>::note_allocated(void* address, std::size_t bytes, std::size_t alignment,
                                                      stm::give_back back) noexcept {
    if (!in_hardware()) return software().note_allocated(address, bytes, alignment, back);
    if (!Hardware::stores_directly) blocks_.note_allocated({address, bytes, alignment, back});
}

template <class Software, class Hardware>
void basic_hybrid<Software, Hardware>::free_at_commit(void* address, std::size_t bytes, std::size_t alignment,
                                                      stm::give_back back) noexcept {
    if (!in_hardware()) return software().free_at_commit(address, bytes, alignment, back);
    blocks_.note_freed({address, bytes, alignment, back});
}

template <class Software, class Hardware>
void basic_hybrid<Software, Hardware>::store_in_hardware(word* home, word what, std::uint8_t byte_mask) {
    Hardware::store(home, what, byte_mask);
}

/// For the parts below: a stand-in's own transaction knows its frames.
template <class Software, class Hardware>
bool basic_hybrid<Software, Hardware>::is_private(const void* from, std::size_t) const noexcept {
    return stm::detail::is_own_frame(from, frames_below_);
}

template <class Software, class Hardware>
void basic_hybrid<Software, Hardware>::read_range(void* to, const void* from, std::size_t bytes) {
    if (is_stood_in()) return stm::detail::read_range(*this, to, from, bytes);
    if (!in_hardware()) return software().read_range(to, from, bytes);
    std::memcpy(to, from, bytes);
}
template <class Software, class Hardware>
void basic_hybrid<Software, Hardware>::write_range(void* to, const void* from, std::size_t bytes) {
    if (is_stood_in()) return stm::detail::write_range(*this, to, from, bytes);
    if (!in_hardware()) return software().write_range(to, from, bytes);
    std::memcpy(to, from, bytes);
}
template <class Software, class Hardware>
void basic_hybrid<Software, Hardware>::copy_range(void* to, const void* from, std::size_t bytes) {
    if (is_stood_in()) return stm::detail::copy_range(*this, to, from, bytes);
    if (!in_hardware()) return software().copy_range(to, from, bytes);
    std::memmove(to, from, bytes);
}
template <class Software, class Hardware>
void basic_hybrid<Software, Hardware>::fill_range(void* to, int byte, std::size_t bytes) {
    if (is_stood_in()) return stm::detail::fill_range(*this, to, byte, bytes);
    if (!in_hardware()) return software().fill_range(to, byte, bytes);
    std::memset(to, byte, bytes);
}

/// At thread exit. What `Software` has open it may have taken back already.
template <class Software, class Hardware>
void basic_hybrid<Software, Hardware>::leave(void* of_thread) noexcept {
    auto& own = *static_cast<basic_hybrid*>(of_thread);
    if (own.irrevocable())
        own.commit();
    else if (own.active() || own.mode_ == mode::software)
        own.roll_back();
    own.blocks_.release();
    own.has_entered_ = false;
}

/// The other threads, and what they have open, do not exist there.
template <class Software, class Hardware>
void basic_hybrid<Software, Hardware>::after_fork_in_child() noexcept {
    __atomic_store_n(&beside_.open, word{of_this_thread().mode_ == mode::software}, __ATOMIC_RELAXED);
}

}  // namespace holdfast::htm
