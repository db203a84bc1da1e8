#include <bench/tl2/region.hpp>

#include <holdfast/base/assertion.hpp>
#include <holdfast/persist/seam.hpp>
#include <holdfast/persist/sites.hpp>

namespace holdfast::bench {
namespace {

namespace site = persist::site;

constexpr std::uint64_t page_bytes = 4096;

std::uint64_t whole_pages(std::uint64_t bytes) { return (bytes + page_bytes - 1) / page_bytes * page_bytes; }

}  // namespace

struct region::header {
    std::uint64_t epoch;
    std::uint64_t chunks_taken;
    std::uint64_t unused[6];  ///< to the end of the line
};

region::region(const region_parts& parts) : parts_(parts) {
    HOLDFAST_ASSERT_ALWAYS(parts.sessions <= most_sessions && parts.log_bytes % persist::line_bytes == 0,
                           "a log of whole lines for each of a few sessions");
    block_bytes_of_chunk_ = reinterpret_cast<std::uint64_t*>(parts.begin + page_bytes);
    const std::uint64_t header_bytes = page_bytes + whole_pages(parts.bytes / chunk_bytes * sizeof(std::uint64_t));
    logs_ = parts.begin + header_bytes;
    const std::uint64_t before_chunks = header_bytes + whole_pages(parts.sessions * parts.log_bytes);
    HOLDFAST_ASSERT_ALWAYS(before_chunks + chunk_bytes <= parts.bytes, "a region has room for one chunk");
    chunks_ = parts.begin + before_chunks;
    chunk_count_ = (parts.bytes - before_chunks) / chunk_bytes;
}

std::byte* region::root_begin() const noexcept { return parts_.begin + sizeof(header); }

std::span<std::byte> region::log_of(unsigned session) const noexcept {
    return {logs_ + session * parts_.log_bytes, parts_.log_bytes};
}

bool region::holds(const void* address) const noexcept {
    const auto at = reinterpret_cast<std::uintptr_t>(address);
    return at - reinterpret_cast<std::uintptr_t>(parts_.begin) < parts_.bytes;
}

std::uint64_t region::epoch() const noexcept { return head().epoch; }

void region::begin_epoch(std::uint64_t next) {
    persist::store_word(&head().epoch, next, 0xFF, site::measure);
    persist::write_back(path(), &head().epoch, sizeof next, site::measure);
    persist::fence(path(), site::measure);
}

std::byte* region::take_chunks(std::uint64_t count, std::uint64_t block_bytes) {
    const std::lock_guard guard(taking_);
    const std::uint64_t first = head().chunks_taken;
    if (count > chunk_count_ - first) return nullptr;
    persist::store_word(&block_bytes_of_chunk_[first], block_bytes, 0xFF, site::measure);
    persist::store_word(&head().chunks_taken, first + count, 0xFF, site::measure);
    if (durable_) {
        // In any order: a chunk whose blocks have no size yet gets none back.
        persist::write_back(path(), &block_bytes_of_chunk_[first], sizeof block_bytes, site::measure);
        persist::write_back(path(), &head().chunks_taken, sizeof first, site::measure);
        persist::fence(path(), site::measure);
    }
    return chunks_ + first * chunk_bytes;
}

std::uint64_t region::block_bytes_at(const void* block) const noexcept {
    return block_bytes_of_chunk_[chunk_of(block)];
}

}  // namespace holdfast::bench
