// Concurrency control alone, `htm_only`: an algorithm of stm/ on the memory that the rivals use. Nothing is logged and
// nothing is durable.
#pragma once

#include <bench/tl2/blocks.hpp>

#include <holdfast/stm/atomically.hpp>

#include <atomic>
#include <cstddef>
#include <cstdint>
#include <memory>
#include <vector>

namespace holdfast::bench {

/// Blocks of a session for transactions of stm/, which give blocks back some time after the transaction, with nothing
/// but the address. So each thread knows whose transactions it runs, and blocks come with the number of theirs: one
/// that comes when its region is gone is let go.
class volatile_blocks {
public:
    explicit volatile_blocks(region& memory) noexcept : cache_(memory) {}
    ~volatile_blocks() {
        if (of_this_thread_ == this) of_this_thread_ = nullptr;
    }
    volatile_blocks(const volatile_blocks&) = delete;
    volatile_blocks& operator=(const volatile_blocks&) = delete;

    void use_in_this_thread() noexcept { of_this_thread_ = this; }
    void* allocate(std::size_t bytes) { return cache_.allocate(bytes); }
    /// A multiple of the alignment that blocks have, and no other session's.
    std::size_t number() const noexcept { return number_; }

    static void give_back(void* block, std::size_t, std::size_t number) {
        volatile_blocks* const own = of_this_thread_;
        if (own != nullptr && own->number_ == number) own->cache_.give_back(block);
    }

private:
    static inline std::atomic<std::size_t> last_number_{0};
    static inline constinit thread_local volatile_blocks* of_this_thread_ = nullptr;

    block_cache cache_;
    std::size_t number_ = 16 * ++last_number_;
};

/// The workloads' access to memory in transactions of `A`; see workload/access.hpp. Copyable.
template <stm::algorithm A>
class volatile_access : public stm::stm_access<A> {
public:
    explicit volatile_access(volatile_blocks& blocks) noexcept : blocks_(&blocks) {}

    void* allocate(std::size_t bytes) const {
        void* const made = blocks_->allocate(bytes);
        if (made == nullptr) stm::abandon<A>();
        A::of_this_thread().note_allocated(made, bytes, blocks_->number(), volatile_blocks::give_back);
        return made;
    }
    void free(void* block) const {
        A::of_this_thread().free_at_commit(block, 0, blocks_->number(), volatile_blocks::give_back);
    }

    template <class F>
    bool atomically(F&& f) const {
        blocks_->use_in_this_thread();
        return stm::atomically<A>(f);
    }
    /// A lock that others take for the same data is not needed.
    template <class Lock, class F>
    bool atomically(Lock&, F&& f) const {
        return atomically(f);
    }

private:
    volatile_blocks* blocks_;
};

/// One session for each thread, each used by one thread at a time.
template <stm::algorithm A>
class volatile_memory {
public:
    using isolation = A;
    static constexpr bool is_durable = false;
    static constexpr bool has_log = false;

    explicit volatile_memory(region& memory) : region_(memory) {
        for (unsigned i = 0; i < memory.sessions(); ++i)
            sessions_.push_back(std::make_unique<volatile_blocks>(memory));
    }

    volatile_access<A> access(unsigned session) noexcept { return volatile_access<A>(*sessions_[session]); }
    region& memory() noexcept { return region_; }
    std::uint64_t truncations() const noexcept { return 0; }

private:
    region& region_;
    std::vector<std::unique_ptr<volatile_blocks>> sessions_;
};

}  // namespace holdfast::bench
