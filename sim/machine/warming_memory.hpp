// The memory that warms the caches: every access goes through them, at once and without time. A hart pauses when the
// caches are warm.
#pragma once

#include <sim/cache/hierarchy.hpp>
#include <sim/core/core_memory.hpp>
#include <sim/core/reservations.hpp>
#include <sim/front/memory_policy.hpp>

namespace holdfast::sim {

/// When to stop: every set of L2 full, and as many lines written back from it, or cleaned in it, as it has; or twice as
/// many, since a program may never use some sets. What fits into L2 never gets there, and is warm after a number of
/// transactions.
struct warmth {
    std::uint64_t transactions_most = ~std::uint64_t{0};
};

/// Requires: the caches and the memory behind them have been set to be instant.
class warming_memory {
public:
    warming_memory(const hart_placement& placement, const address_space& space, hierarchy& below,
                   port::control_registers& registers, const port::ports& attached, warmth enough)
        : placement_(placement), space_(space), below_(below), registers_(registers), attached_(attached),
          enough_(enough) {}

    template <unsigned Bytes>
    bool load(hart& at, std::uint64_t where, std::uint64_t& value) {
        if (space_.find<Bytes>(where, readable) == nullptr) [[unlikely]] {
            return refuse_access(at, space_, "load", where);
        }
        value = below_.load(core_of(at), {where}, Bytes, time{}).value;
        return true;
    }
    template <unsigned Bytes>
    bool store(hart& at, std::uint64_t where, std::uint64_t value) {
        if (space_.find<Bytes>(where, writable) == nullptr) [[unlikely]] {
            return refuse_access(at, space_, "store", where);
        }
        reservations_.stored(at.id, {where}, Bytes);
        const auto bytes = std::as_bytes(std::span(&value, 1)).first(Bytes);
        const bool in_line = address{where}.offset_in_line() + Bytes <= line_bytes;
        if (at.streams_next && in_line) {
            below_.stream(source_of(at), {where}, bytes, time{});
        } else {
            below_.store(source_of(at), {where}, bytes, time{});
        }
        at.streams_next = false;
        return true;
    }
    template <unsigned Bytes>
    bool load_reserved(hart& at, std::uint64_t where, std::uint64_t& value) {
        return load_and_reserve<Bytes>(*this, reservations_, at, where, value);
    }
    template <unsigned Bytes>
    bool store_conditional(hart& at, std::uint64_t where, std::uint64_t value, bool& done) {
        if (!is_aligned(at, where, Bytes)) return false;
        return store_if_reserved(reservations_, at, where, done, [&] { return store<Bytes>(at, where, value); });
    }
    template <unsigned Bytes>
    bool update(hart& at, std::uint64_t where, atomic_update how, std::uint64_t operand, std::uint64_t& old) {
        if (!is_aligned(at, where, Bytes)) return false;
        if (space_.find<Bytes>(where, writable) == nullptr) return refuse_access(at, space_, "atomic operation", where);
        return load<Bytes>(at, where, old) && store<Bytes>(at, where, updated(how, old, operand, Bytes));
    }
    bool fence(hart&, fence_order) noexcept { return true; }
    bool synchronize(hart&) noexcept { return true; }
    bool custom(hart& at, custom_operation what, std::uint64_t first, std::uint64_t second);
    bool read(hart& at, std::uint64_t where, std::span<std::byte> bytes) {
        return read_newest(below_, at, space_, where, bytes);
    }

    bool is_warm() const noexcept { return warm_; }
    std::uint64_t transactions() const noexcept { return transactions_; }

private:
    std::uint32_t core_of(const hart& at) const noexcept { return placement_.core_of(at.id.value); }
    store_source source_of(const hart& at) const noexcept {
        return {core_of(at), at.id, registers_.transaction(at.id), registers_.in_transaction(at.id)};
    }
    bool has_warmed() const noexcept;

    hart_placement placement_;
    const address_space& space_;
    hierarchy& below_;
    port::control_registers& registers_;
    const port::ports& attached_;
    warmth enough_;
    reservations reservations_{};
    std::uint64_t transactions_ = 0;
    bool warm_ = false;
};

}  // namespace holdfast::sim
