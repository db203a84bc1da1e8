// Chunks: runs of pages of the pool's heap, which hold blocks of one size.
//
//   1. A transaction of the pool takes the run and enters it in the directory. If the process dies now, the chunk is
//      nobody's: the next opening gives it back, since the Chunk Table does not name it.
//   2. A staged transaction that takes its first block enters it in the Chunk Table (heap_run.hpp).
#include <holdfast/dnv/space.hpp>

#include <holdfast/base/assertion.hpp>
#include <holdfast/dnv/attempt.hpp>
#include <holdfast/dnv/planted.hpp>

#include <algorithm>
#include <cstring>
#include <new>
#include <utility>

namespace holdfast::dnv {

space the_space;
constinit thread_local attempt attempt_of_this_thread;

bool space::are_zeros(const stm::word* first, std::size_t words) noexcept {
    constexpr std::size_t at_once = 64;
    static constexpr ecc::coded_word zeros[at_once];
    const std::size_t word_bytes = sizeof *first * the_placement.expansion;
    for (std::size_t done = 0; done < words; done += at_once)
        if (std::memcmp(place_of(first + done), zeros, std::min(at_once, words - done) * word_bytes) != 0) return false;
    return true;
}

unsigned space::next_slot_in_use(unsigned from) const noexcept {
    constexpr unsigned at_once = 64;
    static constexpr std::byte zeros[at_once * sizeof(directory_entry)]{};
    const auto says_nothing = [&](unsigned slot, unsigned count) {
        return are_zeros(&staged->chunks[slot], count) &&
               std::memcmp(static_cast<const void*>(&directory[slot]), zeros, count * sizeof *directory) == 0;
    };
    while (from < most_chunks) {
        const unsigned count = says_nothing(from, 1) ? std::min<unsigned>(at_once, most_chunks - from) : 0;
        if (count == 0) return from;
        from += says_nothing(from, count) ? count : 1;
    }
    return most_chunks;
}

result<void> chunk_map::reserve(std::uintptr_t window_begin, std::uintptr_t window_bytes) {
    auto made = persist::address_range::zeros(window_bytes / window_page * sizeof(std::uint32_t));
    if (!made) return std::move(made).give_error();
    memory_ = std::move(*made);
    slots_ = reinterpret_cast<std::uint32_t*>(memory_.data());
    begin_ = window_begin;
    bytes_ = window_bytes;
    for (entry& each : chunks_) each.word.store(0, std::memory_order_relaxed);
    return {};
}

void chunk_map::release() noexcept {
    slots_ = nullptr;
    bytes_ = 0;
    memory_ = {};
}

void chunk_map::add(unsigned slot, const chunk& each, std::uint64_t bytes) noexcept {
    entry& added = chunks_[slot];
    added.bytes = bytes;
    // Kept: a division each time would be felt in dnv_free.
    added.first_block = each.first_block(bytes);
    added.blocks = each.count_of_blocks(bytes);
    added.word.store(each.word(), std::memory_order_release);
    const std::size_t first = (each.begin - begin_) / window_page;
    for (std::size_t page = 0; page < bytes / window_page; ++page)
        std::atomic_ref(slots_[first + page]).store(slot + 1, std::memory_order_release);
}

std::optional<chunk_map::found> chunk_map::find(const void* at) const noexcept {
    const std::uintptr_t offset = reinterpret_cast<std::uintptr_t>(at) - begin_;
    if (offset >= bytes_) return std::nullopt;
    const std::uint32_t slot = std::atomic_ref(slots_[offset / window_page]).load(std::memory_order_acquire);
    if (slot == 0) return std::nullopt;
    return at_slot(slot - 1);
}

std::optional<chunk_map::found> chunk_map::at_slot(unsigned slot) const noexcept {
    const entry& there = chunks_[slot];
    const std::uint64_t word = there.word.load(std::memory_order_acquire);
    if (word == 0) return std::nullopt;
    return found{slot, chunk::of(word), there.bytes, there.first_block, there.blocks};
}

namespace {

/// Of the pool.
constexpr std::size_t least_run_bytes = 64 << 10;

std::size_t smallest_chunk_bytes(unsigned of_class) noexcept {
    // The link of one block takes a page.
    const std::size_t for_links = is_unprotected(of_class) ? window_page : 0;
    return std::max(block_bytes(of_class) + for_links, least_run_bytes / the_placement.expansion);
}

/// Bytes of the window that a new chunk should have: few chunks for a large pool, many for a small one.
std::size_t wanted_chunk_bytes(unsigned of_class, std::uint64_t pool_bytes) noexcept {
    const std::size_t share = std::bit_ceil(static_cast<std::size_t>(pool_bytes / 2048));
    return std::max(smallest_chunk_bytes(of_class), share / the_placement.expansion);
}

std::byte* allocate_run(std::size_t bytes) {
    std::byte* const made = engine::allocate(bytes * the_placement.expansion, 64);
    HOLDFAST_ASSERT_ALWAYS(reinterpret_cast<std::uintptr_t>(made) % (window_page * coded_expansion) == 0,
                           "what is as large as a chunk is a run of whole pages");
    return made;
}

std::uintptr_t enter_run(unsigned slot, unsigned of_class, std::size_t bytes, const std::byte* made) {
    const std::uintptr_t half = is_unprotected(of_class) ? the_placement.uncoded_offset() : 0;
    const chunk each{reinterpret_cast<std::uintptr_t>(window_of(made)) + half, of_class};
    the_space.directory[slot].set(each.word(), bytes);
    return each.begin;
}

/// The fault: where the run will be is known by a transaction that is rolled back.
result<void> enter_too_early(unsigned slot, unsigned of_class, std::size_t bytes) {
    std::byte* made = nullptr;
    auto tried = the_space.handle->atomically([&]() -> result<void> {
        made = allocate_run(bytes);
        return error{.code = errc::aborted};
    });
    if (tried.error().code != errc::aborted) return tried;
    return the_space.handle->atomically([&] { enter_run(slot, of_class, bytes, made); });
}

/// Errors: out_of_space and those of a commit.
result<std::uintptr_t> take_run(unsigned slot, unsigned of_class, std::size_t bytes) {
    if (is_planted(planted::entry_before_chunk))
        if (auto entered = enter_too_early(slot, of_class, bytes); !entered) return std::move(entered).give_error();
    return the_space.handle->atomically([&] { return enter_run(slot, of_class, bytes, allocate_run(bytes)); });
}

/// If there is none yet. Errors: out_of_space and those of a commit.
result<void> make_unprotected_header() {
    if (the_space.has_bins_of(classes)) return {};
    root& in_pool = *the_space.in_pool;
    const auto sum = [&] { in_pool.checksum = in_pool.checksum_of_words(); };
    const bool too_late = is_planted(planted::unprotected_header_summed_late);
    auto made = the_space.handle->atomically([&] {
        in_pool.unprotected = make_zeros(sizeof(unprotected_header) * coded_expansion);
        if (!too_late) sum();
    });
    if (made && too_late) made = the_space.handle->atomically(sum);
    if (made) the_space.attach_unprotected_header();
    return made;
}

}  // namespace

std::uint64_t make_zeros(std::size_t bytes) {
    std::byte* const made = engine::allocate(bytes, 64);
    engine::fill_zero(made, bytes);
    return static_cast<std::uint64_t>(made - the_space.pool->base());
}

void space::attach_unprotected_header() noexcept {
    const std::uint64_t offset = in_pool->unprotected.get();
    staged_unprotected.store(
        offset != 0 ? reinterpret_cast<unprotected_header*>(window_of(pool->base() + offset)) : nullptr,
        std::memory_order_release);
}

unsigned space::acquire_chunk(unsigned of_class) noexcept {
    const std::lock_guard guard(mutex);
    try {
        if (is_unprotected(of_class) && !make_unprotected_header()) return most_chunks;
        if (!idle[of_class].empty()) {
            const unsigned slot = idle[of_class].back();
            idle[of_class].pop_back();
            return slot;
        }
        const auto free = std::find(slot_is_used.begin(), slot_is_used.end(), false);
        if (free == slot_is_used.end()) return most_chunks;
        const auto slot = static_cast<unsigned>(free - slot_is_used.begin());
        for (std::size_t bytes = wanted_chunk_bytes(of_class, pool->size());; bytes /= 2) {
            if (auto begin = take_run(slot, of_class, bytes)) {
                *free = true;
                chunks.add(slot, {*begin, of_class}, bytes);
                return slot;
            }
            if (bytes / 2 < smallest_chunk_bytes(of_class)) return most_chunks;
        }
    } catch (const std::bad_alloc&) {
        return most_chunks;
    }
}

void space::give_chunk_back(unsigned of_class, unsigned slot) noexcept {
    const std::lock_guard guard(mutex);
    try {
        idle[of_class].push_back(slot);
    } catch (const std::bad_alloc&) {
        // Then it waits for the next opening.
    }
}

}  // namespace holdfast::dnv
