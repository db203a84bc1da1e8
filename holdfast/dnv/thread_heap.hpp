// Which of the pool's heaps a thread takes blocks from.
#pragma once

#include <holdfast/dnv/layout.hpp>
#include <holdfast/stm/grown_array.hpp>

#include <cstdint>

namespace holdfast::dnv {

/// One for each thread, constant-initialised. A thread claims a heap at its first allocation and gives it back when it
/// ends; who finds all claimed uses the first one, with the others.
struct thread_heap {
    static constexpr unsigned unclaimed = ~0u;

    /// A chunk that the thread was given and no transaction of its has used, as far as known.
    struct grant {
        unsigned of_class;
        unsigned slot;
    };

    unsigned number = unclaimed;
    std::uint64_t of_opening = 0;  ///< the pool's instance when it was claimed
    stm::grown_array<grant> granted;

    bool is_own() const noexcept { return number != 0; }

    /// Blocks that this attempt has freed, as far as remembered.
    void note_freed(const void* block, std::uint64_t attempt) noexcept {
        if (freed_in_ != attempt) {
            freed_in_ = attempt;
            freed_count_ = 0;
        }
        if (freed_count_ < most_freed) freed_[freed_count_] = block;
        ++freed_count_;
    }
    bool has_freed(const void* block, std::uint64_t attempt) const noexcept {
        if (freed_in_ != attempt) return false;
        if (freed_count_ > most_freed) return true;
        for (unsigned each = 0; each < freed_count_; ++each)
            if (freed_[each] == block) return true;
        return false;
    }

private:
    static constexpr unsigned most_freed = 16;
    std::uint64_t freed_in_ = 0;
    unsigned freed_count_ = 0;
    const void* freed_[most_freed] = {};
};

/// Claims one if the thread has none of the open pool.
thread_heap& heap_of_this_thread() noexcept;
/// The memory of this thread's records is released when it ends. Called before it has any.
void release_record_at_end_of_thread() noexcept;
/// Nobody has a heap of the pool that is being opened. Requires: no other thread is in a call of dnv.
void forget_heap_claims() noexcept;

}  // namespace holdfast::dnv
