// What the interpreter asks of a memory. functional_memory is the simplest one; a model with store queues and caches
// that carry data is another. The interpreter is a template on it, so that nothing is called through a table.
#pragma once

#include <sim/front/custom_operation.hpp>
#include <sim/front/hart.hpp>

#include <concepts>
#include <cstddef>
#include <cstdint>
#include <span>

namespace holdfast::sim {

enum class atomic_update : std::uint8_t { swap, add, exclusive_or, bit_and, bit_or, minimum, maximum,
                                          unsigned_minimum, unsigned_maximum };

/// What an atomic update stores. Words of 32 bits come with their upper half of any content, and so does the result.
constexpr std::uint64_t updated(atomic_update how, std::uint64_t old, std::uint64_t operand, unsigned bytes) noexcept {
    // Moved to the top, words compare as double words do.
    const unsigned shift = 64 - 8 * bytes;
    const std::uint64_t a = old << shift;
    const std::uint64_t b = operand << shift;
    const bool less = static_cast<std::int64_t>(a) < static_cast<std::int64_t>(b);
    switch (how) {
    case atomic_update::swap: return operand;
    case atomic_update::add: return old + operand;
    case atomic_update::exclusive_or: return old ^ operand;
    case atomic_update::bit_and: return old & operand;
    case atomic_update::bit_or: return old | operand;
    case atomic_update::minimum: return less ? old : operand;
    case atomic_update::maximum: return less ? operand : old;
    case atomic_update::unsigned_minimum: return a < b ? old : operand;
    default: return a < b ? operand : old;
    }
}

/// What a fence instruction orders. A machine with total store order keeps all other orders anyway.
enum class fence_order : std::uint8_t {
    all,               ///< also loads behind it after stores before it
    all_but_load_after_store,
};

/// A memory has these members, each for an access of 1, 2, 4 or 8 bytes by one hart. Each returns whether the access
/// was done. If not, it has set hart::stop: to `fault`, with the reason (stop_with), or to `refused`, with
/// hart::local_time the time at which the hart shall try the same instruction again. An access that was not done has
/// changed nothing.
///
/// hart::retired, and without an observer hart::local_time, too, are up to date only where it says so: what refuses
/// needs an observer that keeps the time.
///
///   load<Bytes>(hart, address, value)                     value: the bytes, extended with zeros
///   store<Bytes>(hart, address, value)                    of value the low bytes
///   load_reserved<Bytes>(hart, address, value)            aligned, or a fault
///   store_conditional<Bytes>(hart, address, value, done)  done: whether it stored; ends the reservation
///   update<Bytes>(hart, address, how, operand, old)       atomically; aligned, or a fault
///   fence(hart, orders)                                   a fence instruction. Times are up to date
///   synchronize(hart)                                     before each system call: what the hart stored is what others
///                                                         load. Times are up to date
///   custom(hart, what, first, second)                     a custom operation with its operands. Times are up to date;
///                                                         may set hart::stop to `paused` and still return true
///   read(hart, address, bytes)                            for system calls: what a load would see, of any length
///
/// System calls load and store, too, directly after synchronize, and cannot be refused then.
///
/// Instructions are not fetched through it: the observer of retired instructions has their addresses.
template <class Memory>
concept memory_policy = requires(Memory& memory, hart& at, std::uint64_t& value, bool& done,
                                 std::span<std::byte> bytes) {
    { memory.template load<8>(at, value, value) } -> std::same_as<bool>;
    { memory.template store<8>(at, value, value) } -> std::same_as<bool>;
    { memory.template load_reserved<8>(at, value, value) } -> std::same_as<bool>;
    { memory.template store_conditional<8>(at, value, value, done) } -> std::same_as<bool>;
    { memory.template update<8>(at, value, atomic_update::add, value, value) } -> std::same_as<bool>;
    { memory.fence(at, fence_order::all) } -> std::same_as<bool>;
    { memory.synchronize(at) } -> std::same_as<bool>;
    { memory.custom(at, custom_operation::persist_fence, value, value) } -> std::same_as<bool>;
    { memory.read(at, value, bytes) } -> std::same_as<bool>;
};

}  // namespace holdfast::sim
