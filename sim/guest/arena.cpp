#include <sim/guest/arena.hpp>

#include <sim/base/address_map.hpp>
#include <workload/random.hpp>

namespace holdfast::guest {

arena& arena::create(std::size_t bytes_per_thread, std::uint32_t threads) noexcept {
    const std::size_t head = in_slabs(sizeof(arena));
    const std::size_t each = in_slabs(bytes_per_thread);
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
