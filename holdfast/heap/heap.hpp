// The persistent allocator: size classes in slabs, large blocks in page runs, inside transactions.
//
// Space it costs, beyond what was asked for:
//  * in a block: under 16 bytes up to 128; under 1/5 of the block up to 3584; under a page above;
//  * in a slab: blocks fill at least 15/16 of its pages;
//  * in a zone: a page, and 8 bytes per page;
//  * in arenas: per open transaction at most one partly filled slab of each size class; other transactions
//    get it back when pages run out and the arena is idle. A wholly free slab serves any other class or
//    large block when pages run out.
// Blocks never move, so free pages between live large blocks can be too short for a longer one.
#pragma once

#include <holdfast/base/result.hpp>

#include <array>
#include <cstddef>
#include <cstdint>
#include <memory>
#include <span>
#include <string>
#include <vector>

namespace holdfast {

namespace detail {
class heap_state;
struct session_state;
}  // namespace detail

/// How the heap changes its metadata inside a transaction: the engine logs the store.
class heap_writer {
public:
    /// Stores `size` bytes at `home` as part of the open transaction. No other open transaction stores to
    /// these bytes, though one may to others of the same word. May throw `failure`; the
    /// transaction can then only be rolled back.
    virtual void store(void* home, const void* bytes, std::size_t size) = 0;

protected:
    ~heap_writer() = default;
};

/// One allocated block.
struct heap_block {
    std::byte* address = nullptr;
    std::size_t bytes = 0;  ///< usable size, at least what was asked for
    /// True when no log record for any byte of the block can remain in any lane and no rollback needs
    /// what stands there, so that an engine may store to it without logging. False makes it log, redo or undo:
    /// the block may lie where a slab was that this transaction takes apart, whose state bytes a
    /// rollback brings back.
    bool clean = false;
};

/// A contiguous part of the pool that the heap manages. A pool starts with one; each growing adds one.
struct heap_zone {
    std::uint64_t offset = 0;  ///< from the start of the pool, page-aligned
    std::uint64_t bytes = 0;   ///< a whole number of pages
};

/// Which pages log records name when a heap is opened: a later checkpoint, or a later recovery, stores what they say.
struct named_pages {
    std::uint64_t up_to = 0;           ///< the highest sequence of such a record
    std::vector<std::uint32_t> pages;  ///< counted from the beginning of the pool, ascending
};

struct heap_usage {
    std::uint64_t capacity_bytes = 0;   ///< all pages of all zones, without zone metadata
    std::uint64_t allocated_bytes = 0;  ///< sum of usable sizes of allocated blocks
    std::uint64_t allocated_blocks = 0;
    std::uint64_t slab_pages = 0;
    std::uint64_t large_pages = 0;
    std::uint64_t free_pages = 0;
};

/// What an audit found. `problems` holds the first few as sentences with pool offsets.
struct heap_audit {
    heap_usage usage;
    std::uint64_t leaked_blocks = 0;    ///< allocated, and no owner named them
    std::uint64_t double_owners = 0;    ///< blocks named by more than one owner
    std::uint64_t dangling_owners = 0;  ///< named by an owner, and not an allocated block
    std::uint64_t bad_metadata = 0;     ///< headers, descriptors or block states that cannot be
    std::vector<std::string> problems;
    bool clean() const noexcept {
        return leaked_blocks == 0 && double_owners == 0 && dangling_owners == 0 && bad_metadata == 0;
    }
};

/// The steps of a repair of the heap's metadata, each as a sentence with pool offsets.
struct heap_repair {
    std::vector<std::string> restored;
    std::vector<std::string> freed;
    std::vector<std::string> lost;
};

/// The volatile side of the allocator over the persistent metadata in the pool's zones.
/// Thread safety: sessions of different threads may run concurrently; the rest as stated.
class heap {
public:
    class session;

    /// Smallest zone that can hold anything.
    static std::uint64_t smallest_zone_bytes() noexcept;
    /// Writes the zone's header over freshly allocated, all-zero bytes, through the seam's stores.
    /// The caller makes it durable. `pool` is the mapped first byte of the pool.
    /// Requires: offset and bytes page-aligned, bytes at least the smallest, the end below 16 TiB.
    static void format_zone(std::byte* pool, heap_zone zone);
    /// The same as bytes, for callers that write through a file: the beginning of a new zone; the rest of it is zero.
    /// Errors: invalid_argument (unaligned, too small, or too far out).
    static result<std::array<std::byte, 64>> zone_header(heap_zone zone);
    /// Opens the zones; cost grows with their number and not with their size (metadata is read
    /// when first needed). Requires: no log holds a record for the pool any more, and all bytes of the zones are
    /// mapped. `reserved_bytes`: up to where zones may be added later; 0: none will be. Errors: corrupt (a zone
    /// header; names offset, expected, found), invalid_argument (zones that overlap, are unaligned, too small or
    /// too far out; more than 32).
    static result<std::unique_ptr<heap>> open(std::byte* pool, std::span<const heap_zone> zones,
                                              std::uint64_t reserved_bytes = 0);
    /// Adds a zone, which serves allocations from now on. Sessions may run meanwhile. Requires: all its bytes are
    /// mapped, it is formatted and durable, and it lies behind all others, below `reserved_bytes`.
    /// Errors: as `open`. After an error everything is as before.
    result<void> add_zone(heap_zone zone);
    /// Its two halves: everything that may fail, and then the change of the heap. Requires of the second: the first
    /// succeeded, and no other zone was added in between. Thread-safe.
    result<void> check_zone(heap_zone zone);
    void take_zone(heap_zone zone) noexcept;

    ~heap();
    heap(const heap&) = delete;
    heap& operator=(const heap&) = delete;

    /// Supplies the pages that the log of earlier lives names: free pages among these are clean only from
    /// `truncated_to` on. Until this call every page counts as named forever. Requires: no session yet.
    void begin(named_pages named);
    /// Tells the heap that no record or alias with a sequence <= `sequence` names a byte any more. Thread-safe.
    void truncated_to(std::uint64_t sequence) noexcept;
    /// The log names what commits above `sequence` store until it says otherwise, though it did not before. Requires:
    /// no commit is in flight.
    void names_from(std::uint64_t sequence) noexcept;
    /// Counts everything; reads all metadata. Requires: no session is open.
    heap_usage usage() const;

    /// Checks all metadata of a pool that is not in use, and its blocks against `owned`: the address of every block
    /// that a live structure owns, once per owner, in any order. With `check_owners` false only the metadata is
    /// checked. Trusts no byte of the zones.
    static heap_audit audit(const std::byte* pool, std::span<const heap_zone> zones,
                            std::span<const void* const> owned, bool check_owners);

    /// Repairs descriptors with one damaged byte and invalid block states; a block whose state is lost counts as
    /// allocated unless its owners are known. With `owned`, every block of the pool that has an owner, also: what has
    /// an owner is allocated, what has none is freed, and a slab's lost descriptor is derived. For a pool that is not
    /// in use and has valid zone headers. The caller makes it durable.
    static heap_repair repair(std::byte* pool, std::span<const heap_zone> zones,
                              const std::vector<const void*>* owned);
    /// The usable size of the allocated block that begins at `address`, 0 where none does. Of a pool that no
    /// transaction is changing; trusts no byte of the zones.
    static std::uint64_t block_bytes(const std::byte* pool, std::span<const heap_zone> zones,
                                     const void* address) noexcept;

private:
    explicit heap(std::unique_ptr<detail::heap_state> state) noexcept;
    std::unique_ptr<detail::heap_state> state_;
};

/// The allocations and frees of one open transaction. One per thread and pool, reused; it belongs to
/// the heap of its first call until `committed` or `rolled_back`.
/// Thread safety: none; one thread at a time.
/// What holds if the process dies inside: nothing of an uncommitted session; all of a committed one.
class heap::session {
public:
    session();
    /// Rolls back what is still open; the heap must then still live.
    ~session();
    session(const session&) = delete;
    session& operator=(const session&) = delete;

    /// Allocates at least `bytes` (> 0), aligned to `alignment` (a power of two, at most 64; every block is
    /// aligned to 16, blocks of more than 3584 bytes to a page). The contents are whatever was there.
    /// Throws failure: out_of_space, corrupt (a damaged descriptor lies before the only room left),
    /// invalid_argument, misuse (another heap's session) - nothing changed; aborted after the
    /// writer failed; and what `writer` throws.
    heap_block allocate(heap& from, std::size_t bytes, std::size_t alignment, heap_writer& writer);
    /// Frees a block; it is reused only after `committed`.
    /// Throws failure: misuse when `address` is not an allocated block of this heap or was already
    /// freed, corrupt (its metadata is damaged) - nothing changed; aborted after the writer failed;
    /// and what `writer` throws.
    void release(heap& from, void* address, heap_writer& writer);

    /// Whether anything was allocated or released since the last commit or rollback.
    bool used() const noexcept;
    /// Whether the writer failed since then: the transaction can only be rolled back.
    bool writer_failed() const noexcept;
    /// The transaction is durable (or at its level's promise) as `sequence`.
    /// Requires: home locations hold everything that the writer was given, so that a reuse of a freed
    /// block stores later. Others that saw those stores may commit, and say so, before.
    void committed(std::uint64_t sequence) noexcept;
    /// The transaction was rolled back. Requires: homes hold what they held before it.
    void rolled_back() noexcept;
    /// Drops everything without touching the heap, which no longer exists.
    void forget() noexcept;

    /// A moment of the session, for `roll_back_to`.
    std::size_t mark() const noexcept;
    /// Whether nothing but small blocks was allocated and freed since that mark, from slabs that were there. What else
    /// a session does depends on what it did before, and is taken back only with it.
    bool did_little_since(std::size_t mark) const noexcept;
    /// The transaction took back what it did since that mark, and goes on. Requires: did_little_since(0) then.
    void roll_back_to(std::size_t mark) noexcept;

private:
    std::unique_ptr<detail::session_state> state_;
};

}  // namespace holdfast
