#include <sim/front/functional_memory.hpp>

#include <sim/front/refuse_transaction.hpp>

#include <algorithm>

namespace holdfast::sim {

static_assert(memory_policy<functional_memory>);

bool functional_memory::read(hart& at, std::uint64_t address, std::span<std::byte> bytes) {
    const std::span<std::byte> found = space_->find_range(address, bytes.size(), readable);
    if (found.size() != bytes.size()) return refuse(at, "read by a system call", address);
    std::copy(found.begin(), found.end(), bytes.begin());
    return true;
}

bool functional_memory::is_aligned(hart& at, std::uint64_t address, unsigned bytes) {
    if (address % bytes == 0) return true;
    stop_with(at, {"atomic operation", hexadecimal(address),
                   "a multiple of " + std::to_string(bytes), {}});
    return false;
}

void functional_memory::reserve(hart& at, std::uint64_t address) {
    if (at.reserved_line == hart::no_reservation) reservations_.push_back(&at);
    at.reserved_line = sim::address{address}.line().value;
}

void functional_memory::give_up_reservation(hart& at) {
    at.reserved_line = hart::no_reservation;
    std::erase(reservations_, &at);
}

void functional_memory::end_reservations(const hart& storing, std::uint64_t address, unsigned bytes) {
    const std::uint64_t first = sim::address{address}.line().value;
    const std::uint64_t last = sim::address{address + bytes - 1}.line().value;
    std::erase_if(reservations_, [&](hart* other) {
        if (other == &storing || (other->reserved_line != first && other->reserved_line != last)) return false;
        other->reserved_line = hart::no_reservation;
        return true;
    });
}

bool functional_memory::change_transaction(hart& at, custom_operation what, std::uint64_t first) {
    switch (what) {
    case custom_operation::transaction_begin:
        if (!transactions_.may_begin(at.id)) return refuse_begin(at);
        transactions_.begin(at.id, {static_cast<std::uint16_t>(first)});
        return true;
    case custom_operation::transaction_commit: transactions_.commit(at.id); return true;
    case custom_operation::transaction_save:
        if (!store<8>(at, first, transactions_.of(at.id).word())) return false;
        transactions_.save(at.id);
        return true;
    case custom_operation::transaction_restore:
        return transactions_.restore(at.id, first) || refuse_restore(at, first);
    default: return true;
    }
}

bool functional_memory::refuse(hart& at, const char* what, std::uint64_t address) {
    stop_with(at, {what, hexadecimal(address), {}, space_->describe(address)});
    return false;
}

}  // namespace holdfast::sim
