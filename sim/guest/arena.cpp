#include <sim/guest/arena.hpp>

#include <sim/base/address_map.hpp>
#include <workload/random.hpp>

namespace holdfast::guest {

arena& arena::create(std::size_t bytes_per_thread, std::uint32_t threads) noexcept {
    const auto round_up = [](std::size_t bytes) { return (bytes + slab_bytes - 1) & ~(slab_bytes - 1); };
    const std::size_t head = round_up(sizeof(arena));
    const std::size_t each = round_up(bytes_per_thread);
    void* const place = map_memory(sim::arena_begin.value, head + each * threads);
    auto& made = *static_cast<arena*>(place);
    made.threads_ = threads;
    for (std::uint32_t i = 0; i < threads; ++i) {
        part& mine = made.parts_[i];
        mine.begin = static_cast<char*>(place) + head + each * i;
        mine.next = mine.begin;
        mine.end = mine.begin + each;
    }
    return made;
}

char* arena::take(part& from, std::size_t bytes) noexcept {
    bytes = (bytes + slab_bytes - 1) & ~(slab_bytes - 1);
    if (bytes > static_cast<std::size_t>(from.end - from.next)) give_up("the arena is full");
    char* const taken = from.next;
    from.next += bytes;
    return taken;
}

void* arena::allocate(std::uint32_t thread, std::size_t bytes) noexcept {
    part& mine = parts_[thread];
    const std::size_t size = (bytes + step - 1) / step;
    if (size >= sizes) {
        char* const large = take(mine, slab_header_bytes + bytes);
        reinterpret_cast<slab_header*>(large)->size = 0;
        return large + slab_header_bytes;
    }
    supply& of_size = mine.supplies[size];
    if (free_block* const block = of_size.freed; block != nullptr) {
        of_size.freed = block->next;
        return block;
    }
    const std::size_t block_bytes = size * step;
    if (of_size.next == nullptr || block_bytes > static_cast<std::size_t>(of_size.end - of_size.next)) {
        char* const slab = take(mine, slab_bytes);
        reinterpret_cast<slab_header*>(slab)->size = size;
        of_size.next = slab + slab_header_bytes;
        of_size.end = slab + slab_bytes;
    }
    char* const block = of_size.next;
    of_size.next += block_bytes;
    return block;
}

void arena::free(std::uint32_t thread, void* address) noexcept {
    const auto slab = reinterpret_cast<std::uintptr_t>(address) & ~(slab_bytes - 1);
    const std::uint64_t size = reinterpret_cast<const slab_header*>(slab)->size;
    if (size == 0) return;
    auto* const block = static_cast<free_block*>(address);
    supply& of_size = parts_[thread].supplies[size];
    block->next = of_size.freed;
    of_size.freed = block;
}

std::uint64_t arena::image_checksum() const noexcept {
    std::uint64_t sum = 0;
    const auto add = [&](const void* begin, const void* end) {
        for (auto* word = static_cast<const std::uint64_t*>(begin); word != end; ++word) {
            std::uint64_t mixed = *word ^ reinterpret_cast<std::uintptr_t>(word);
            sum += workload::splitmix(mixed);
        }
    };
    add(this, this + 1);
    for (std::uint32_t i = 0; i < threads_; ++i) add(parts_[i].begin, parts_[i].next);
    return sum;
}

}  // namespace holdfast::guest
