// The memory of a rival: what it takes for NVRAM, divided into a header, a log for each session, and chunks for blocks.
//
//   header   the epoch; how many chunks are taken; the root of what the workload keeps; of each chunk the bytes of its
//            blocks
//   logs     one for each session, whose protocol decides what is in it. Records verify under the epoch alone: one
//            store of the next epoch, of eight bytes, takes them all away at once
//   chunks   64 KiB each, of blocks of one size. A chunk is taken durably before any transaction stores to it. Which of
//            its blocks are free is in no log and in no list on the medium: a crash leaks them. A program's heap could
//            not do that, so that these rivals are a little faster than they could be.
#pragma once

#include <holdfast/persist/line_path.hpp>

#include <cstddef>
#include <cstdint>
#include <mutex>
#include <span>

namespace holdfast::bench {

/// Sessions that one region can have.
inline constexpr unsigned most_sessions = 16;

/// Where a region is and how it is divided.
struct region_parts {
    std::byte* begin;  ///< page-aligned; all zero where there was no region yet
    std::uint64_t bytes;
    persist::line_path path{};
    unsigned sessions = 1;             ///< at most most_sessions
    std::uint64_t log_bytes = 1 << 20;  ///< of each session; whole lines
};

/// Thread safety: take_chunks from any thread, the rest as it says. The memory is the caller's and outlives it.
class region {
public:
    static constexpr std::size_t chunk_bytes = 64 << 10;
    static constexpr std::size_t root_bytes = 1024;

    /// Takes the memory as it is: fresh, or as an earlier region of the same parts left it.
    /// Requires: room for header, logs and one chunk.
    explicit region(const region_parts& parts);

    const persist::line_path& path() const noexcept { return parts_.path; }
    unsigned sessions() const noexcept { return parts_.sessions; }
    std::byte* begin() const noexcept { return parts_.begin; }
    std::uint64_t bytes() const noexcept { return parts_.bytes; }
    std::span<std::byte> log_of(unsigned session) const noexcept;
    bool holds(const void* address) const noexcept;

    /// The beginning of the workload's data: all zero at first.
    template <class T>
    T* root() const noexcept {
        static_assert(sizeof(T) <= root_bytes && alignof(T) <= 64);
        return reinterpret_cast<T*>(root_begin());
    }

    /// Only records of this epoch verify.
    std::uint64_t epoch() const noexcept;
    /// Ensures: durable when it returns. If the power is cut inside: the epoch is the old one or the new one.
    /// One thread at a time.
    void begin_epoch(std::uint64_t next);

    /// Whether commits are made durable. Off while a workload is filled. Not while transactions run.
    bool is_durable() const noexcept { return durable_; }
    void set_durable(bool durable) noexcept { durable_ = durable; }

    /// Takes chunks that follow each other for blocks of `block_bytes`. nullptr: there is no room.
    std::byte* take_chunks(std::uint64_t count, std::uint64_t block_bytes);
    /// Bytes of the block at this address; 0 where that is not known.
    std::uint64_t block_bytes_at(const void* block) const noexcept;

private:
    struct header;

    header& head() const noexcept { return *reinterpret_cast<header*>(parts_.begin); }
    std::byte* root_begin() const noexcept;
    std::uint64_t chunk_of(const void* block) const noexcept {
        return static_cast<std::uint64_t>(static_cast<const std::byte*>(block) - chunks_) / chunk_bytes;
    }

    region_parts parts_;
    std::uint64_t* block_bytes_of_chunk_;
    std::byte* logs_;
    std::byte* chunks_;
    std::uint64_t chunk_count_;
    bool durable_ = true;
    std::mutex taking_;
};

}  // namespace holdfast::bench
