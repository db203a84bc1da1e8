#include <holdfast/engine/combining_mutex.hpp>

#include <holdfast/base/assertion.hpp>
#include <holdfast/stm/wait.hpp>

#include <algorithm>
#include <bit>
#include <thread>

namespace holdfast {

using detail::publication_record;
using detail::waiting_thread;
using answer = waiting_thread::answer;

namespace {

/// About as long as a few commits take. With more threads than processors the one that is waited for may not be
/// running: the processor is given away, and then the thread sleeps.
constexpr unsigned looks_before_yielding = 400;
constexpr unsigned yields_before_sleep = 20;

/// Of a thread that has posted a call: as long as a holder takes that commits, answers and comes again, several times;
/// and how often it looks at the lock meanwhile.
[[maybe_unused]] constexpr unsigned looks_at_record = 100;
constexpr unsigned looks_between_those_at_lock = 40;

unsigned looks_of_this_call() noexcept {
#ifdef HOLDFAST_OBSERVED
    // Of threads that the explorer schedules the holder of the moment finds every other call on the chain, and the next
    // holder the rest in their records.
    static constinit thread_local bool waits_for_next_holder = true;
    waits_for_next_holder = !waits_for_next_holder;
    return waits_for_next_holder ? 8 : 0;
#else
    return looks_at_record;
#endif
}
void pause_before_look() noexcept {
#ifdef HOLDFAST_OBSERVED
    std::this_thread::yield();
#else
    stm::relax_processor();
#endif
}

}  // namespace

void waiting_thread::give(answer what) noexcept {
    // Waking uses the address only: the thread may see the answer before, and be gone.
    if (answer_.exchange(what, std::memory_order_acq_rel) == answer::asleep) answer_.notify_one();
}

answer waiting_thread::wait() noexcept {
    for (unsigned looks = 0; looks < looks_before_yielding + yields_before_sleep; ++looks) {
        const answer now = answer_.load(std::memory_order_acquire);
        if (now != answer::none) return now;
        if (looks < looks_before_yielding) {
            stm::relax_processor();
        } else {
            std::this_thread::yield();
        }
    }
#ifdef HOLDFAST_OBSERVED
    // Threads that the explorer schedules wait by yields: it does not see them asleep.
    while (answer_.load(std::memory_order_acquire) == answer::none) std::this_thread::yield();
#endif
    answer seen = answer::none;
    if (!answer_.compare_exchange_strong(seen, answer::asleep, std::memory_order_acq_rel, std::memory_order_acquire))
        return seen;
    answer_.wait(answer::asleep, std::memory_order_acquire);
    return answer_.load(std::memory_order_acquire);
}

bool combining_mutex::enter(waiting_thread& self) noexcept {
    std::uintptr_t seen = word_.load(std::memory_order_relaxed);
    for (;;) {
        if (seen == free) {
            if (word_.compare_exchange_weak(seen, held, std::memory_order_acquire, std::memory_order_relaxed))
                return true;
            continue;
        }
        self.next_ = reinterpret_cast<waiting_thread*>(seen - held);
        const auto chain = reinterpret_cast<std::uintptr_t>(&self) + held;
        if (word_.compare_exchange_weak(seen, chain, std::memory_order_release, std::memory_order_relaxed))
            return false;
    }
}

void combining_mutex::wait_for_lock() noexcept {
    waiting_thread self(nullptr);
    const bool is_held = wait_on_chain(self);
    HOLDFAST_ASSERT_ALWAYS(is_held, "a thread that wants a lock is answered with the lock");
}

bool combining_mutex::publish_and_wait(waiting_thread& self, std::span<const std::byte> function) noexcept {
    ran_last_call = this;
    publication_record* const record = post(self, function);
    if (record == nullptr) return wait_on_chain(self);
    if (!wait_for_answer(*record)) {
        ran_last_call = nullptr;
        if (wait_on_chain_too(self, *record)) return true;
        if (self.answered() != answer::in_record) return false;
    }
    const bool is_committed = record->now() == publication_record::stage::committed;
    self.answer_.store(is_committed ? answer::committed : answer::served, std::memory_order_relaxed);
    record->clear();
    return false;
}

/// nullptr: another thread has the record that is this one's.
publication_record* combining_mutex::post(waiting_thread& self, std::span<const std::byte> function) noexcept {
    static constinit std::atomic<unsigned> threads{0};
    static thread_local const unsigned number = threads.fetch_add(1, std::memory_order_relaxed);
    publication_record& own = records_[number % record_count];
    auto empty = publication_record::stage::empty;
    if (!own.stage_.compare_exchange_strong(empty, publication_record::stage::being_written, std::memory_order_acquire,
                                            std::memory_order_relaxed))
        return nullptr;
    if (!own.is_listed_) {
        own.is_listed_ = true;
        // Relaxed: a holder that sees it late finds the request a group later, or on the chain.
        listed_.fetch_or(1u << (number % record_count), std::memory_order_relaxed);
    }
    own.request_ = &self;
    own.combines_in_ = self.combines_in();
    own.function_ = function.data();
    std::copy_n(function.begin(), std::min(function.size(), sizeof own.touched_),
                std::as_writable_bytes(std::span(own.touched_)).begin());
    own.stage_.store(publication_record::stage::posted, std::memory_order_release);
    return &own;
}

/// False: none came for a while, or there is no holder.
bool combining_mutex::wait_for_answer(const publication_record& record) const noexcept {
    const unsigned most = looks_of_this_call();
    for (unsigned looks = 1; looks <= most; ++looks) {
        if (record.is_answered()) return true;
        if (looks % looks_between_those_at_lock == 0 && word_.load(std::memory_order_relaxed) == free) return false;
        pause_before_look();
    }
    return false;
}

/// Step d. True: the thread holds the lock, and its call was not run. Otherwise it has its answer, or that is in the
/// record.
bool combining_mutex::wait_on_chain_too(waiting_thread& self, publication_record& record) noexcept {
    self.posted_ = &record;
    if (!wait_on_chain(self)) return false;
    // Nobody else takes a request now.
    if (record.is_answered()) {
        unlock();
        self.answer_.store(answer::in_record, std::memory_order_relaxed);
        return false;
    }
    record.clear();
    return true;
}

void publication_record::fetch() const noexcept {
    const auto* const request = reinterpret_cast<const std::byte*>(request_);
    __builtin_prefetch(request);
    __builtin_prefetch(request + 64);
    __builtin_prefetch(function_);
    for (const void* each : touched_) __builtin_prefetch(each);
}

void combining_mutex::look_at(std::uint32_t records) noexcept {
    for (; records != 0; records &= records - 1) {
        const auto at = static_cast<unsigned>(std::countr_zero(records));
        if (records_[at].now() != publication_record::stage::posted) continue;
        records_[at].fetch();
        posted_ |= 1u << at;
    }
}

publication_record* combining_mutex::take_first_published(const void* where) noexcept {
    while (posted_ != 0) {
        const auto at = static_cast<unsigned>(std::countr_zero(posted_));
        posted_ &= posted_ - 1;
        publication_record& record = records_[at];
        // It may have been taken from the chain.
        if (record.now() != publication_record::stage::posted || record.combines_in_ != where) continue;
        // Nobody but holders reads it, in the order of the lock.
        record.stage_.store(publication_record::stage::taken, std::memory_order_relaxed);
        answered_ |= 1u << at;
        return &record;
    }
    return nullptr;
}

/// Who arrived first of those that were not taken off the chain.
waiting_thread* combining_mutex::first_on_chain() noexcept {
    if (waiting_ != nullptr) return waiting_;
    auto* newest = reinterpret_cast<waiting_thread*>(word_.exchange(held, std::memory_order_acquire) - held);
    while (newest != nullptr) {
        waiting_thread* const older = newest->next_;
        newest->next_ = waiting_;
        waiting_ = newest;
        newest = older;
    }
    return waiting_;
}

/// Who waits longest, and for more than an answer.
waiting_thread* combining_mutex::first_waiting() noexcept {
    while (waiting_thread* const first = first_on_chain()) {
        publication_record* const record = first->posted_;
        if (record == nullptr || record->now() == publication_record::stage::posted) return first;
        waiting_ = first->next_;
        if (record->is_taken()) {
            record->clear();
        } else {
            first->give(answer::in_record);
        }
    }
    return nullptr;
}

waiting_thread* combining_mutex::take_first(const void* where) noexcept {
    waiting_thread* const first = first_waiting();
    if (first == nullptr || first->combines_in() != where) return nullptr;
    waiting_ = first->next_;
    if (first->posted_ != nullptr) first->posted_->clear();
    return first;
}

std::size_t combining_mutex::waiting() const noexcept {
    std::size_t count = 0;
    const auto* arrived = reinterpret_cast<const waiting_thread*>(word_.load(std::memory_order_acquire) - held);
    for (; arrived != nullptr; arrived = arrived->next_) ++count;
    for (const waiting_thread* each = waiting_; each != nullptr; each = each->next_) ++count;
    return count;
}

void combining_mutex::hand_over() noexcept {
    for (;;) {
        if (waiting_thread* const first = first_waiting()) {
            waiting_ = first->next_;
            return first->give(answer::leads);
        }
        // All who waited have been answered.
        std::uintptr_t seen = held;
        if (word_.compare_exchange_strong(seen, free, std::memory_order_release, std::memory_order_relaxed)) return;
    }
}

void combining_mutex::forget_waiting() noexcept {
    waiting_ = nullptr;
    posted_ = 0;
    for (publication_record& each : records_) each.clear();
    word_.store(held, std::memory_order_relaxed);
}

}  // namespace holdfast
