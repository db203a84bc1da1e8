// Blocks of a region, as one session allocates and frees them in transactions.
//
// What is free is known in lists outside the region: a free block is not stored to, since a transaction that is going
// to be restarted may still read it.
#pragma once

#include <bench/tl2/region.hpp>

#include <holdfast/stm/grown_array.hpp>

#include <array>
#include <bit>
#include <cstddef>
#include <cstdint>

namespace holdfast::bench {

/// The free blocks of one session. One thread.
class block_cache {
public:
    explicit block_cache(region& memory) noexcept : region_(memory) {}
    ~block_cache() {
        for (auto& each : free_) each.release();
    }
    block_cache(const block_cache&) = delete;
    block_cache& operator=(const block_cache&) = delete;

    /// Aligned to 16, contents arbitrary. nullptr: there is no room.
    void* allocate(std::size_t bytes) {
        const unsigned kind = kind_of(bytes);
        if (kind >= kinds) return region_.take_chunks((bytes + region::chunk_bytes - 1) / region::chunk_bytes, bytes);
        auto& free = free_[kind];
        if (!free.empty()) {
            void* const last = free.back();
            free.pop();
            return last;
        }
        piece& rest = rest_[kind];
        if (rest.begin == rest.end && !refill(rest, bytes_of(kind))) return nullptr;
        std::byte* const made = rest.begin;
        rest.begin += bytes_of(kind);
        return made;
    }
    /// Requires: nobody reads it any more. A block of several chunks is not used again.
    void give_back(void* block) {
        const std::uint64_t bytes = region_.block_bytes_at(block);
        const unsigned kind = kind_of(bytes);
        if (bytes != 0 && kind < kinds) free_[kind].push(block);
    }

private:
    /// Sizes: 16, 32, 48, 64, and from there on two for each power of two, up to three quarters of a chunk.
    static constexpr unsigned kinds = 23;
    static constexpr std::size_t bytes_of(unsigned kind) noexcept {
        if (kind < 4) return 16 * (kind + std::size_t{1});
        const std::size_t power = std::size_t{64} << (kind - 3) / 2;
        return (kind - 3) % 2 == 0 ? power : power + power / 2;
    }
    static constexpr unsigned kind_of(std::size_t bytes) noexcept {
        if (bytes <= 64) return bytes == 0 ? 0 : static_cast<unsigned>((bytes - 1) / 16);
        const auto log = static_cast<unsigned>(std::bit_width(bytes - 1)) - 1;
        const std::size_t power = std::size_t{1} << log;
        return 3 + 2 * (log - 6) + (bytes <= power + power / 2 ? 1 : 2);
    }

    struct piece {
        std::byte* begin = nullptr;
        std::byte* end = nullptr;
    };
    bool refill(piece& rest, std::size_t bytes) {
        rest.begin = rest.end = region_.take_chunks(1, bytes);
        if (rest.begin == nullptr) return false;
        rest.end += region::chunk_bytes / bytes * bytes;
        return true;
    }

    region& region_;
    std::array<stm::grown_array<void*>, kinds> free_;
    std::array<piece, kinds> rest_;
};

/// What the open transaction of a session allocated and freed, and what its earlier ones freed while others may still
/// read it. One thread.
class session_blocks {
public:
    explicit session_blocks(region& memory) noexcept : cache_(memory) {}
    ~session_blocks() {
        allocated_.release();
        freed_.release();
        waiting_.release();
    }
    session_blocks(const session_blocks&) = delete;
    session_blocks& operator=(const session_blocks&) = delete;

    void* allocate(std::size_t bytes) {
        void* const made = cache_.allocate(bytes);
        if (made != nullptr) allocated_.push(made);
        return made;
    }
    void free(void* block) { freed_.push(block); }

    /// `time`: transactions that begin at it or later cannot reach what was freed.
    void committed(std::uint64_t time) {
        allocated_.clear();
        for (void* each : freed_) waiting_.push({each, time});
        freed_.clear();
    }
    void rolled_back() {
        for (void* each : allocated_) cache_.give_back(each);
        allocated_.clear();
        freed_.clear();
    }
    /// Whether enough has come together to be worth a look at all sessions.
    bool is_due() const noexcept { return waiting_.size() >= due_; }
    void give_back_until(std::uint64_t oldest) {
        std::size_t given = 0;
        while (given < waiting_.size() && waiting_[given].time <= oldest) cache_.give_back(waiting_[given++].block);
        const std::size_t kept = waiting_.size() - given;
        for (std::size_t i = 0; i < kept; ++i) waiting_[i] = waiting_[given + i];
        waiting_.keep(kept);
        due_ = usual_due + 2 * kept;
    }

private:
    static constexpr std::size_t usual_due = 256;
    struct freed_block {
        void* block;
        std::uint64_t time;
    };

    block_cache cache_;
    stm::grown_array<void*> allocated_;
    stm::grown_array<void*> freed_;
    stm::grown_array<freed_block> waiting_;
    std::size_t due_ = usual_due;
};

}  // namespace holdfast::bench
