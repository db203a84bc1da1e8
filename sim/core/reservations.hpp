// Load-reserved and store-conditional, and what all memories of harts refuse: shared by the memories that go through
// the caches.
#pragma once

#include <sim/cache/hierarchy.hpp>
#include <sim/front/address_space.hpp>
#include <sim/front/hart.hpp>

#include <algorithm>
#include <vector>

namespace holdfast::sim {

/// Which harts have reserved a line. A store ends the others' reservations when it takes effect.
class reservations {
public:
    void reserve(hart& by, std::uint64_t where) {
        if (by.reserved_line == hart::no_reservation) held_.push_back(&by);
        by.reserved_line = address{where}.line().value;
    }
    bool has(const hart& by, std::uint64_t where) const noexcept {
        return by.reserved_line == address{where}.line().value;
    }
    void give_up(hart& by) {
        by.reserved_line = hart::no_reservation;
        std::erase(held_, &by);
    }
    void stored(hart_id by, address where, std::uint64_t bytes) {
        if (held_.empty()) [[likely]] return;
        const std::uint64_t first = where.line().value;
        const std::uint64_t last = (where + (bytes - 1)).line().value;
        std::erase_if(held_, [&](hart* other) {
            if (other->id == by || (other->reserved_line != first && other->reserved_line != last)) return false;
            other->reserved_line = hart::no_reservation;
            return true;
        });
    }

private:
    std::vector<hart*> held_{};
};

/// Stops the hart; for an access to a page that does not allow it.
[[gnu::cold, gnu::noinline]] inline bool refuse_access(hart& at, const address_space& space, const char* what,
                                                       std::uint64_t where) {
    stop_with(at, {what, hexadecimal(where), {}, space.describe(where)});
    return false;
}

inline bool is_aligned(hart& at, std::uint64_t where, unsigned bytes) {
    if (where % bytes == 0) [[likely]] return true;
    stop_with(at, {"atomic operation", hexadecimal(where), "a multiple of " + std::to_string(bytes), {}});
    return false;
}

/// A load-reserved through `memory`, which is a memory policy.
template <unsigned Bytes, class Memory>
bool load_and_reserve(Memory& memory, reservations& held, hart& at, std::uint64_t where, std::uint64_t& value) {
    if (!is_aligned(at, where, Bytes) || !memory.template load<Bytes>(at, where, value)) return false;
    held.reserve(at, where);
    return true;
}

/// The rest of a store-conditional whose address is good: store() does it and may be refused.
template <class Store>
bool store_if_reserved(reservations& held, hart& at, std::uint64_t where, bool& done, Store&& store) {
    done = held.has(at, where);
    if (done && !store()) return false;
    held.give_up(at);
    return true;
}

/// What a system call reads of a process: the newest bytes, wherever they are, without time.
inline bool read_newest(const hierarchy& caches, hart& at, const address_space& space, std::uint64_t where,
                        std::span<std::byte> bytes) {
    if (bytes.empty()) return true;
    if (space.find_range(where, bytes.size(), readable).size() != bytes.size()) {
        return refuse_access(at, space, "read by a system call", where);
    }
    caches.peek({where}, bytes);
    return true;
}

}  // namespace holdfast::sim
