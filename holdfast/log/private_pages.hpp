// Which pages of a private mapping this process holds copies of, and how they are given back.
//
// On an ordinary file at `power` homes are private memory: a page that is stored to is copied, and the copy would stay
// until the pool is closed. Once a checkpoint has brought its bytes home the copy is what the file holds, and it is
// dropped: the next load maps the file's page again.
//
// Protocol
//   1. A commit says which pages it will store to, before it joins a group (`prepare`): the last step that can fail.
//   2. It stores its homes while it holds the gate, and notes the group that each page was stored for.
//   3. A checkpoint up to S is followed by giving back (`give_back`): with the gate closed, a page is dropped when the
//      newest group that it was stored for is at most S, and every byte of it is what the file holds.
//   4. What an open transaction stores without a log (a fresh block) it stores without the gate. Its pages are pinned
//      until the commit has written them to the file; those of a transaction that is rolled back are dropped.
//
// Why both conditions of 3. Bytes alone are not enough: two commits may change a word and change it back, and the
// checkpoint that brings the first home would show it to readers. The group alone is not enough: what a program stores
// past the library stays in the copy.
#pragma once

#include <holdfast/format/log_record.hpp>
#include <holdfast/format/superblock.hpp>
#include <holdfast/persist/file.hpp>

#include <atomic>
#include <cstddef>
#include <cstdint>
#include <memory>
#include <mutex>
#include <shared_mutex>
#include <vector>

namespace holdfast {

/// Pages of 4096 bytes, by their offset in the pool. Thread-safe, except that one thread at a time calls `give_back`.
class private_pages {
public:
    /// Whether memory is mapped in pages of that size here. Larger ones would be pinned by their neighbours.
    static bool can_be_kept() noexcept { return persist::memory_page_bytes() == page_bytes; }

    /// `homes` is the private mapping of `file`; both outlive this. At most `bytes_at_most` are held, except by
    /// transactions that need more for themselves.
    private_pages(persist::mapping& homes, persist::file& file, std::uint64_t bytes_at_most);

    /// What is held now, as far as the library stored to it.
    std::uint64_t bytes() const noexcept { return held_.load(std::memory_order_relaxed) * page_bytes; }
    std::uint64_t bytes_at_most() const noexcept { return bytes_at_most_; }
    bool is_half_used() const noexcept { return bytes() > bytes_at_most_ / 2; }
    bool has_room_for(std::uint64_t pages) const noexcept { return bytes() + pages * page_bytes <= bytes_at_most_; }

    /// How many pages of a record's entries are not held yet. Afterwards they can be noted.
    /// Throws std::bad_alloc; nothing changed then.
    std::uint64_t prepare(const std::uint64_t* payload, std::uint64_t payload_words);
    /// While it exists no page is given back. Keep it short: giving back waits for it.
    class storing {
    public:
        explicit storing(private_pages& pages) : pages_(pages), gate_(pages.gate_) {}
        /// Requires: prepared.
        void note(std::uint64_t offset, std::uint64_t bytes, std::uint64_t group) noexcept {
            pages_.note(offset, bytes, group);
        }
        /// The same of everything that a record's payload names.
        void note_all(const std::uint64_t* payload, std::uint64_t words, std::uint64_t group) noexcept;

    private:
        private_pages& pages_;
        std::shared_lock<std::shared_mutex> gate_;
    };

    /// A block of whole pages that an open transaction stores to without the gate. Throws std::bad_alloc.
    void pin(std::uint64_t offset, std::uint64_t bytes);
    /// Its bytes are in the file, to be durable with that group.
    void unpin(std::uint64_t offset, std::uint64_t bytes, std::uint64_t group) noexcept;
    /// Its transaction was rolled back: it holds what the file does again. Requires: nobody else uses it.
    void drop(std::uint64_t offset, std::uint64_t bytes) noexcept;

    /// A page (offset / 4096) that recovery stored to, for the groups up to that one. Throws std::bad_alloc.
    void found(std::uint64_t page, std::uint64_t group);

    /// Step 3. Every byte that a group up to `truncated` stored is home. Readers see the same bytes all the time.
    void give_back(std::uint64_t truncated) noexcept;

private:
    using newest_group = std::atomic<std::uint64_t>;
    static constexpr std::uint64_t page_bytes = format::page_bytes;
    static constexpr std::uint64_t not_held = 0;
    static constexpr std::uint64_t pinned = ~std::uint64_t{0};
    static constexpr std::uint64_t oldest_group = 1;  ///< every checkpoint is at or behind it
    static constexpr std::uint64_t chunk_pages = 1 << 16;
    static constexpr std::uint64_t pages_at_once = 16;
    struct chunk {
        std::atomic<std::uint64_t> held{0};
        std::unique_ptr<newest_group[]> newest = std::make_unique<newest_group[]>(chunk_pages);
    };

    template <class F>
    void for_each_page(std::uint64_t offset, std::uint64_t bytes, F&& f) {
        const std::uint64_t end = (offset + bytes + page_bytes - 1) / page_bytes;
        for (std::uint64_t page = offset / page_bytes; page < end; ++page) f(page);
    }
    chunk& make_chunk(std::uint64_t page);
    newest_group& newest_of(std::uint64_t page) noexcept {
        return chunks_[page / chunk_pages].load(std::memory_order_acquire)->newest[page % chunk_pages];
    }
    void note(std::uint64_t offset, std::uint64_t bytes, std::uint64_t group) noexcept;
    void put(std::uint64_t page, std::uint64_t group) noexcept;
    void forget(std::uint64_t page) noexcept;
    void give_back_some(std::uint64_t first, std::uint64_t end, std::uint64_t truncated) noexcept;
    void drop_those_like_the_file(std::uint64_t first, std::uint64_t pages, std::uint64_t truncated) noexcept;

    persist::mapping& homes_;
    persist::file& file_;
    std::uint64_t bytes_at_most_;
    std::atomic<std::uint64_t> held_{0};
    std::shared_mutex gate_;
    std::vector<std::atomic<chunk*>> chunks_;
    std::vector<std::unique_ptr<chunk>> owned_;
    std::mutex growing_;  ///< guards owned_
    std::unique_ptr<std::byte[]> of_file_;
};

}  // namespace holdfast
