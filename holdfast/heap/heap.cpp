#include <holdfast/heap/heap.hpp>

#include <holdfast/heap/heap_state.hpp>
#include <holdfast/heap/zone.hpp>
#include <holdfast/persist/seam.hpp>
#include <holdfast/persist/sites.hpp>

#include <array>
#include <bit>
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
    const auto header = zone_header(zone).value();
    persist::copy(pool + zone.offset, header.data(), header.size(), persist::site::pool_format);
}

result<std::array<std::byte, 64>> heap::zone_header(heap_zone zone) {
    if (auto fits = detail::check_places({&zone, 1}); !fits) return fits.error();
    heap_format::zone_header header = header_for(zone.offset, zone.bytes);
    header.checksum = checksum_of(header);
    return std::bit_cast<std::array<std::byte, sizeof header>>(header);
}

result<std::unique_ptr<heap>> heap::open(std::byte* pool, std::span<const heap_zone> zones,
                                         std::uint64_t reserved_bytes) {
    if (auto fits = detail::check_places(zones); !fits) return fits.error();
    for (const heap_zone& each : zones)
        if (auto good = detail::check_header(pool, each); !good) return good.error();
    return std::unique_ptr<heap>(new heap(std::make_unique<detail::heap_state>(pool, zones, reserved_bytes)));
}

result<void> heap::add_zone(heap_zone zone) {
    if (auto checked = check_zone(zone); !checked) return checked;
    take_zone(zone);
    return {};
}

result<void> heap::check_zone(heap_zone zone) {
    const std::lock_guard lock(state_->mutex);
    auto all = state_->zones();
    all.push_back(zone);
    if (auto fits = detail::check_places(all); !fits) return fits;
    return detail::check_header(state_->pool, zone);
}

void heap::take_zone(heap_zone zone) noexcept {
    const std::lock_guard lock(state_->mutex);
    state_->add_zone(zone);
}

std::uint64_t heap::block_bytes(const std::byte* pool, std::span<const heap_zone> zones,
                                const void* address) noexcept {
    // Below the pool it wraps to a number past every zone.
    const std::uint64_t offset = reinterpret_cast<std::uintptr_t>(address) - reinterpret_cast<std::uintptr_t>(pool);
    for (const heap_zone& each : zones)
        if (offset >= each.offset && offset - each.offset < each.bytes)
            return detail::block_bytes_at(pool, each, offset);
    return 0;
}

heap::heap(std::unique_ptr<detail::heap_state> state) noexcept : state_(std::move(state)) {}
heap::~heap() = default;

void heap::begin(named_pages named) {
    const std::lock_guard lock(state_->mutex);
    state_->named_at_open = std::move(named);
}

void heap::truncated_to(std::uint64_t sequence) noexcept {
    std::uint64_t before = state_->truncated_sequence.load(std::memory_order_relaxed);
    while (before < sequence && !state_->truncated_sequence.compare_exchange_weak(before, sequence)) {
    }
}

void heap::names_from(std::uint64_t sequence) noexcept {
    state_->truncated_sequence.store(sequence, std::memory_order_relaxed);
}

heap_usage heap::usage() const {
    usage_counter counter;
    const std::lock_guard lock(state_->mutex);
    for (const heap_zone& each : state_->zones()) {
        counter.usage.capacity_bytes += data_pages_in(each.bytes) * page_bytes;
        detail::zone_walk(state_->pool, each, counter).run();
    }
    return counter.usage;
}

}  // namespace holdfast
