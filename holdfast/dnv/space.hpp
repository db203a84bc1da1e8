// The open dnv pool of this process: its window, its chunks, and which block an address is in.
#pragma once

#include <holdfast/base/result.hpp>
#include <holdfast/dnv/layout.hpp>
#include <holdfast/dnv/placement.hpp>
#include <holdfast/handle/pool.hpp>
#include <holdfast/persist/addresses.hpp>

#include <atomic>
#include <cstdint>
#include <mutex>
#include <optional>
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

        /// Requires: `at` is in the chunk, whose end may be no block.
        bool begins_block(const void* at) const noexcept {
            const std::uint64_t offset = reinterpret_cast<std::uintptr_t>(at) - which.begin;
            const std::uint64_t of_block = block_bytes(which.of_class);
            return offset % of_block == 0 && offset + of_block <= bytes;
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
    };
    entry chunks_[most_chunks];
};

/// One for a process.
struct space {
    std::optional<engine::pool> handle;
    open_pool* pool = nullptr;  ///< nullptr: none is open
    root* in_pool = nullptr;
    header* staged = nullptr;  ///< window address
    directory_entry* directory = nullptr;
    persist::address_range window;
    chunk_map chunks;
    /// Records are withdrawn when homes are stored, so that none in the log names words of a block that is free.
    std::atomic<bool> stores_fresh_home = false;

    std::mutex taking;  ///< held by the thread that takes a list over
    std::mutex mutex;   ///< of what follows
    std::vector<unsigned> idle[classes];  ///< chunks that the Chunk Table may not name
    std::vector<bool> slot_is_used;

    /// In a forked child what the parent's window was: nothing is mapped behind it.
    placement of_parent;

    std::atomic<std::uint64_t> mended_words{0};
    std::atomic<std::uint64_t> mended_bits{0};

    /// The offset in the pool of a word's place. Requires: the placement holds it.
    std::uint64_t offset_of(const void* at) const noexcept {
        return static_cast<std::uint64_t>(reinterpret_cast<const std::byte*>(place_of(at)) - pool->base());
    }

    /// The slot of a chunk for blocks of that class which no bin has; most_chunks: there is no room. Runs a transaction
    /// of the pool. Requires: the thread has no attempt open, or is alone.
    unsigned acquire_chunk(unsigned of_class) noexcept;
    /// A chunk that acquire_chunk gave and nobody used.
    void give_chunk_back(unsigned of_class, unsigned slot) noexcept;
};
extern space the_space;

}  // namespace holdfast::dnv
