// Owns: the write set, and the blocks that need none.
//
// Fresh blocks: a large block whose bytes no log record can name (heap_block::clean) is stored to directly; it is
// unreachable until the commit that allocates it. Replay cannot overwrite it, since no record names it, and a block
// that is freed becomes clean again only by truncation.
#include <holdfast/engine/write_aside.hpp>

#include <holdfast/base/assertion.hpp>
#include <holdfast/engine/group_commit.hpp>
#include <holdfast/engine/sites.hpp>
#include <holdfast/log/groups.hpp>
#include <holdfast/log/private_pages.hpp>

#include <cstring>
#include <new>
#include <utility>

namespace holdfast {
namespace {

/// Below this, logging a block costs less than the write-back of its lines.
constexpr std::size_t smallest_fresh_bytes = 16 << 10;

}  // namespace

/// What is rare is another function, and nothing follows its call: so this one saves no registers.
std::uint64_t write_aside_transaction::load_beside_stores(const pool_word* home) noexcept {
    if (writes_.has_spans()) [[unlikely]]
        return load_merged(home);
    const write_set::found_word found = writes_.find(offset_of(home));
    if (found.is_masked) [[unlikely]]
        return load_merged(home);
    return found.word == nullptr ? __atomic_load_n(home, __ATOMIC_RELAXED) : *found.word;
}

[[gnu::noinline]] std::uint64_t write_aside_transaction::load_merged(const pool_word* home) noexcept {
    return writes_.load(offset_of(home), [home] { return __atomic_load_n(home, __ATOMIC_RELAXED); });
}

void write_aside_transaction::store(void* home, const void* bytes, std::size_t size) {
    store_bytes(*this, home, bytes, size);
}

void write_aside_transaction::load_into(const void* home, void* bytes, std::size_t size) {
    load_bytes(*this, home, bytes, size);
}

void write_aside_transaction::store_outside(pool_word* home, std::uint64_t value, std::uint8_t mask) {
    if (pool_->contains(home)) {
        // The pool has grown since the transaction began.
        size_ = pool_->size();
        return store(home, value, mask);
    }
    check_in_no_other_pool(home);
    persist::store_word(home, value, mask, persist::site::redo_home);
}

void write_aside_transaction::store_run(pool_word* home, const void* bytes, std::size_t words) {
    const std::uint64_t offset = offset_of(home);
    const bool is_inside = offset < size_ && words * sizeof *home <= size_ - offset;
    if (is_inside && fresh_.empty()) {
        persist::prefetch_range_for_store(home, words * sizeof *home);
        return writes_.store_run(offset, bytes, words);
    }
    for (std::size_t i = 0; i < words; ++i) {
        std::uint64_t value;
        std::memcpy(&value, static_cast<const std::byte*>(bytes) + i * sizeof value, sizeof value);
        store(home + i, value, 0xFF);
    }
}

void write_aside_transaction::store_beside_fresh(pool_word* home, std::uint64_t value, std::uint8_t mask) {
    if (fresh_.note_store(home)) return persist::store_word(home, value, mask, persist::site::redo_fresh);
    writes_.store(offset_of(home), value, mask);
}

heap_block write_aside_transaction::allocate(std::size_t bytes, std::size_t alignment) {
    // Room first: a block that nobody is told of must not be allocated.
    fresh_.make_room();
    const heap_block block = transaction_base::allocate(bytes, alignment);
    if (!block.clean || block.bytes < smallest_fresh_bytes) return block;
    if (private_pages* const pages = pool_->pages_of_homes()) pages->pin(offset_of(block.address), block.bytes);
    fresh_.add(block.address, block.bytes);
    return block;
}

void write_aside_transaction::deallocate(void* address) {
    transaction_base::deallocate(address);
    const std::size_t bytes = fresh_.remove(address);
    private_pages* const pages = pool_->pages_of_homes();
    if (bytes != 0 && pages != nullptr) pages->drop(offset_of(static_cast<std::byte*>(address)), bytes);
}

void write_aside_transaction::write_fresh_blocks_back() {
    fresh_.for_each_stored([&](const std::byte* at, std::size_t bytes) {
        persist::write_back(pool_->lines(), at, bytes, persist::site::redo_fresh);
    });
    persist::fence(pool_->lines(), persist::site::redo_fresh_fence);
}

result<void> write_aside_transaction::commit_in_group() {
    auto joined = join_group(*pool_, writes_, fresh_);
    if (!joined) return std::move(joined).give_error();
    sequence_ = *joined;
    clear();
    return {};
}

result<void> write_aside_transaction::settle_in_group() {
    auto durable = wait_for_group(*pool_, sequence_);
    // Not before the wait.
    HOLDFAST_ASSERT(!durable || pool_->groups()->groups() >= sequence_,
                    "a freed block is reused only after its free is durable");
    settle_heap(sequence_);
    return durable;
}

void write_aside_transaction::roll_back() noexcept(persist::noexcept_seam) {
    // Before others may get the blocks.
    if (private_pages* const pages = fresh_.empty() ? nullptr : pool_->pages_of_homes())
        fresh_.for_each([&](const std::byte* at, std::size_t bytes) { pages->drop(offset_of(at), bytes); });
    roll_heap_back();
    clear();
}

}  // namespace holdfast
