#include <holdfast/heap/heap.hpp>

#include <holdfast/heap/heap_state.hpp>
#include <holdfast/heap/zone.hpp>
#include <holdfast/persist/seam.hpp>

#include <utility>

namespace holdfast {

using namespace heap_format;

namespace {

struct usage_counter {
    heap_usage usage;

    void block(std::uint64_t, std::uint64_t bytes) noexcept {
        usage.allocated_bytes += bytes;
        ++usage.allocated_blocks;
    }
    void slab(std::uint64_t pages) noexcept { usage.slab_pages += pages; }
    void large(std::uint64_t pages) noexcept { usage.large_pages += pages; }
    void free(std::uint64_t pages) noexcept { usage.free_pages += pages; }
    void bad(std::uint64_t, const char*) noexcept {}
};

}  // namespace

std::uint64_t heap::smallest_zone_bytes() noexcept { return 3 * page_bytes; }

void heap::format_zone(std::byte* pool, heap_zone zone) {
    if (auto fits = detail::check_places({&zone, 1}); !fits) throw failure(fits.error());
    zone_header header = header_for(zone.offset, zone.bytes);
    header.checksum = checksum_of(header);
    persist::copy(pool + zone.offset, &header, sizeof header, persist::site::pool_format);
}

result<std::unique_ptr<heap>> heap::open(std::byte* pool, std::span<const heap_zone> zones) {
    if (auto fits = detail::check_places(zones); !fits) return fits.error();
    for (const heap_zone& each : zones)
        if (auto good = detail::check_header(pool, each); !good) return good.error();
    return std::unique_ptr<heap>(new heap(std::make_unique<detail::heap_state>(pool, zones)));
}

heap::heap(std::unique_ptr<detail::heap_state> state) noexcept : state_(std::move(state)) {}
heap::~heap() = default;

void heap::truncated_to(std::uint64_t sequence) noexcept {
    std::uint64_t before = state_->truncated_sequence.load(std::memory_order_relaxed);
    while (before < sequence && !state_->truncated_sequence.compare_exchange_weak(before, sequence)) {
    }
}

heap_usage heap::usage() const {
    usage_counter counter;
    for (const heap_zone& each : state_->zones()) {
        counter.usage.capacity_bytes += data_pages_in(each.bytes) * page_bytes;
        detail::zone_walk(state_->pool, each, counter).run();
    }
    return counter.usage;
}

}  // namespace holdfast
