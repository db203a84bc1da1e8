// The open dnv pool of this process: its window, its chunks, and which block an address is in.
#pragma once

#include <holdfast/base/result.hpp>
#include <holdfast/dnv/corrections.hpp>
#include <holdfast/dnv/layout.hpp>
#include <holdfast/dnv/placement.hpp>
#include <holdfast/handle/pool.hpp>
#include <holdfast/persist/addresses.hpp>

#include <atomic>
#include <cstdint>
#include <mutex>
#include <optional>
#include <span>
#include <unordered_set>
#include <vector>

namespace holdfast::dnv {

/// What is known of chunks in memory, and made from the pool at each opening. Thread-safe but for open and close.
class chunk_map {
public:
    /// Reserves memory for every page of the window. Errors: io.
    result<void> reserve(std::uintptr_t window_begin, std::uintptr_t window_bytes);
    void release() noexcept;

    void add(unsigned slot, const chunk& each, std::uint64_t bytes) noexcept;
    /// The chunk that holds `at`, if one does.
    struct found {
        unsigned slot;
        chunk which;
        std::uint64_t bytes;

        std::uintptr_t first_block;
        std::uint64_t blocks;

        /// Of a block of the chunk.
        std::uint64_t number_of(const void* at) const noexcept {
            return (reinterpret_cast<std::uintptr_t>(at) - first_block) / block_bytes(which.of_class);
        }
        /// Whether it is in a block: links are in front of those, and the end may be none.
        bool holds_in_block(const void* at) const noexcept {
            return reinterpret_cast<std::uintptr_t>(at) >= first_block && number_of(at) < blocks;
        }
        /// Requires: it is in one.
        std::uintptr_t block_of(const void* at) const noexcept {
            return first_block + number_of(at) * block_bytes(which.of_class);
        }
        bool begins_block(const void* at) const noexcept {
            return holds_in_block(at) && block_of(at) == reinterpret_cast<std::uintptr_t>(at);
        }
        /// The links of the free list, with codes. Requires: the chunk is unprotected.
        stm::word* links() const noexcept {
            return reinterpret_cast<stm::word*>(which.begin - the_placement.uncoded_offset());
        }
        /// Where the free list has the address of the block behind this one. Requires: `block` begins a block.
        stm::word* link_of(const void* block) const noexcept {
            if (!is_unprotected(which.of_class)) return static_cast<stm::word*>(const_cast<void*>(block));
            return links() + number_of(block);
        }
        /// What of it has codes, if the pool has: all, or the links.
        std::span<const stm::word> coded_words() const noexcept {
            if (!is_unprotected(which.of_class))
                return {reinterpret_cast<const stm::word*>(which.begin), bytes / sizeof(stm::word)};
            return {links(), (first_block - which.begin) / sizeof(stm::word)};
        }
    };
    std::optional<found> find(const void* at) const noexcept;
    std::optional<found> at_slot(unsigned slot) const noexcept;

private:
    std::uintptr_t begin_ = 0;
    std::uintptr_t bytes_ = 0;
    persist::address_range memory_;
    std::uint32_t* slots_ = nullptr;  ///< for each window page the slot of its chunk + 1; 0: none
    struct entry {
        std::atomic<std::uint64_t> word{0};
        std::uint64_t bytes = 0;
        std::uintptr_t first_block = 0;
        std::uint64_t blocks = 0;
    };
    entry chunks_[most_chunks];
};

/// One for a process.
struct space {
    std::optional<engine::pool> handle;
    open_pool* pool = nullptr;  ///< nullptr: none is open
    root* in_pool = nullptr;
    header* staged = nullptr;  ///< window address
    std::atomic<unprotected_header*> staged_unprotected{nullptr};  ///< window address; nullptr: there is none yet
    directory_entry* directory = nullptr;
    persist::address_range window;
    chunk_map chunks;
    /// Records are withdrawn when homes are stored, so that none in the log names words of a block that is free.
    std::atomic<bool> stores_fresh_home = false;

    std::mutex taking;  ///< held by the thread that takes a list over
    std::mutex mutex;   ///< of what follows
    std::vector<unsigned> idle[all_classes];  ///< chunks that the Chunk Table may not name
    std::vector<bool> slot_is_used;

    /// In a forked child what the parent's window was: nothing is mapped behind it.
    placement of_parent;

    std::atomic<std::uint64_t> mended_words{0};
    std::atomic<std::uint64_t> mended_bits{0};
    corrections corrected;
    std::mutex listing;  ///< of the pool's list of damages, and of what follows
    std::uint64_t recorded_words = 0;  ///< of mended_words, in the list
    std::uint64_t recorded_bits = 0;
    std::unordered_set<const void*> unlisted;  ///< damaged words that found no room in the list
    std::uint64_t unlisted_before = 0;         ///< how many there were when the pool was opened, or last looked through

    std::atomic<std::uint64_t> scrubbed_words{0};
    std::atomic<std::uint64_t> scrub_rounds{0};

    /// Nothing was corrected yet, nor looked at.
    void forget_mended() noexcept {
        mended_words = mended_bits = scrubbed_words = scrub_rounds = 0;
        recorded_words = recorded_bits = unlisted_before = 0;
        unlisted.clear();
    }

    /// The offset in the pool of a word's place. Requires: the placement holds it.
    std::uint64_t offset_of(const void* at) const noexcept {
        return static_cast<std::uint64_t>(reinterpret_cast<const std::byte*>(place_of(at)) - pool->base());
    }

    /// The bin of a class in a heap, and the list on its way. Requires: that of its blocks' header is there.
    bin& bin_of(unsigned heap, unsigned of_class) const noexcept {
        if (!is_unprotected(of_class)) return staged->bins[heap][of_class];
        return staged_unprotected.load(std::memory_order_acquire)->bins[heap][of_class - classes];
    }
    stm::word& parked_of(unsigned of_class) const noexcept {
        if (!is_unprotected(of_class)) return staged->parked[of_class];
        return staged_unprotected.load(std::memory_order_acquire)->parked[of_class - classes];
    }
    bool has_bins_of(unsigned of_class) const noexcept {
        return !is_unprotected(of_class) || staged_unprotected.load(std::memory_order_acquire) != nullptr;
    }
    /// Where the free list has the address of the block behind this one. Requires: `block` begins one of that class.
    stm::word* link_of(void* block, unsigned of_class) const noexcept {
        return is_unprotected(of_class) ? chunks.find(block)->link_of(block) : static_cast<stm::word*>(block);
    }

    /// Whether those words are zeros, and their codes, as they were made.
    static bool are_zeros(const stm::word* first, std::size_t words) noexcept;
    /// The first slot from `from` on of which table or directory say something; most_chunks: there is none.
    unsigned next_slot_in_use(unsigned from) const noexcept;

    /// The slot of a chunk for blocks of that class which no bin has; most_chunks: there is no room. Runs a transaction
    /// of the pool. Requires: the thread has no attempt open, or is alone.
    unsigned acquire_chunk(unsigned of_class) noexcept;
    /// Finds what the root says of it.
    void attach_unprotected_header() noexcept;
    /// A chunk that acquire_chunk gave and nobody used.
    void give_chunk_back(unsigned of_class, unsigned slot) noexcept;
};
extern space the_space;

/// Zeros are words with their codes. Returns their offset. Requires: a transaction of the pool is open.
std::uint64_t make_zeros(std::size_t bytes);

}  // namespace holdfast::dnv
