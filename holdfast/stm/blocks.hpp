// The memory that transactions allocate and free: what is private until commit, and what waits until nobody can read
// it.
#pragma once

#include <holdfast/base/assertion.hpp>
#include <holdfast/base/word_map.hpp>
#include <holdfast/stm/algorithm.hpp>
#include <holdfast/stm/grown_array.hpp>

#if __has_include(<malloc.h>)
#include <malloc.h>
#endif

namespace holdfast::stm {

/// The bytes of a block of malloc, where a free does not say them. 0: unknown.
inline std::size_t bytes_of_malloc(void* block) noexcept {
#if __has_include(<malloc.h>)
    return malloc_usable_size(block);
#else
    static_cast<void>(block);
    return 0;
#endif
}

/// A block of memory and who takes it back.
struct block {
    void* address;
    std::size_t bytes;
    std::size_t alignment;
    stm::give_back back;

    void give_back() const { back(address, bytes, alignment); }
};

/// Which words are in blocks that the open transaction allocated. One thread. The last block costs one comparison, all
/// before it one lookup.
class fresh_words {
public:
    bool holds(const void* home) noexcept {
        const auto at = reinterpret_cast<std::uintptr_t>(home);
        return at - begin_ < bytes_ || (!chunks_.empty() && older_hold(at));
    }
    /// Whether all of it is in the last block.
    bool last_holds(const void* from, std::size_t bytes) const noexcept {
        const std::uintptr_t offset = reinterpret_cast<std::uintptr_t>(from) - begin_;
        return offset < bytes_ && bytes <= bytes_ - offset;
    }
    /// Whole words of the block; the rest of a last word may be another's.
    void add(const void* block, std::size_t bytes) {
        if (bytes_ != 0) index_last();
        begin_ = reinterpret_cast<std::uintptr_t>(block);
        bytes_ = bytes & ~std::size_t{7};
    }
    void clear() noexcept {
        begin_ = bytes_ = 0;
        if (!chunks_.empty()) {
            chunks_.clear();
            words_of_chunk_.clear();
        }
    }
    void release() noexcept {
        clear();
        chunks_.release();
        words_of_chunk_.release();
    }

private:
    static constexpr std::uintptr_t chunk_bytes = 512;  ///< a bit for each word in 64

    bool older_hold(std::uintptr_t at) noexcept;
    void index_last();

    std::uintptr_t begin_ = 0;
    std::uintptr_t bytes_ = 0;
    word_table chunks_;  ///< address / chunk_bytes to its place in words_of_chunk_
    grown_array<std::uint64_t> words_of_chunk_;
};

/// What the open transaction allocated and freed. One thread.
class transaction_blocks {
public:
    /// Nothing was allocated or freed.
    bool empty() const noexcept { return !used_; }
    fresh_words& fresh() noexcept { return fresh_; }
    const fresh_words& fresh() const noexcept { return fresh_; }
    grown_array<block>& freed() noexcept { return freed_; }

    void note_allocated(const block& each) {
        used_ = true;
        allocated_.push(each);
        fresh_.add(each.address, each.bytes);
    }
    void note_freed(const block& each) {
        used_ = true;
        freed_.push(each);
    }

    /// The transaction can no longer be rolled back: what it allocated is its own from now on, and still fresh.
    void keep_allocated() noexcept { allocated_.clear(); }
    /// After commit: nothing is fresh any more; what was freed is still there.
    void committed() noexcept {
        used_ = false;
        allocated_.clear();
        fresh_.clear();
    }
    /// Gives back what was freed. Requires: committed, no transaction can read it, this thread's is over.
    void give_back_freed() noexcept { give_back(freed_); }
    /// Gives back what was allocated. Requires: this thread's transaction is over.
    void rolled_back() noexcept;
    void release() noexcept {
        fresh_.release();
        allocated_.release();
        freed_.release();
    }

private:
    /// One at a time and last first, because the allocator may run a transaction of its own.
    static void give_back(grown_array<block>& blocks) noexcept;

    bool used_ = false;
    fresh_words fresh_;
    grown_array<block> allocated_;
    grown_array<block> freed_;
};

/// Blocks that committed transactions of one thread freed, until every transaction that was open then is over
/// (epoch-based reclamation; Fraser, Practical lock-freedom, 2004, section 5.2.3). One thread.
class limbo {
public:
    bool empty() const noexcept { return blocks_.empty(); }
    /// `time`: transactions that begin at it or later cannot reach the block. Requires: not below that of the last.
    void add(const block& each, std::uint64_t time) {
        HOLDFAST_ASSERT(blocks_.empty() || blocks_.back().time <= time, "blocks come into limbo in the order of time");
        blocks_.push({each, time});
        bytes_ += each.bytes;
    }
    /// Whether enough has come together to be worth a look at all threads.
    bool is_due() const noexcept { return !giving_back_ && (blocks_.size() >= due_blocks_ || bytes_ >= due_bytes_); }
    /// Gives back the blocks whose time is not above `oldest`.
    void give_back_until(std::uint64_t oldest) noexcept;
    void release() noexcept { blocks_.release(); }

private:
    struct waiting {
        block each;
        std::uint64_t time;
    };
    static constexpr std::size_t usual_blocks = 256;
    /// Below what the C library trims when it is freed at once: pages given to the kernel cost a fault each to get
    /// back.
    static constexpr std::size_t usual_bytes = std::size_t{96} << 10;

    grown_array<waiting> blocks_;
    std::size_t bytes_ = 0;
    std::size_t due_blocks_ = usual_blocks;
    std::size_t due_bytes_ = usual_bytes;
    bool giving_back_ = false;
};

}  // namespace holdfast::stm
