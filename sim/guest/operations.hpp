// The simulated machine's custom operations, as functions. On another machine they do nothing: custom_operation.hpp
// says why.
#pragma once

#include <sim/front/custom_operation.hpp>

#include <cstddef>
#include <cstdint>

namespace holdfast::guest {

using sim::custom_operation;

/// "memory": the compiler moves no access across.
template <custom_operation What>
inline void operate(std::uint64_t first = 0) noexcept {
    asm volatile("slti x0, %0, %1" : : "r"(first), "i"(static_cast<int>(What)) : "memory");
}
template <custom_operation What>
inline void operate(std::uint64_t first, std::uint64_t second) noexcept {
    register std::uint64_t in_a1 asm("a1") = second;
    asm volatile("slti x0, %0, %1" : : "r"(first), "i"(static_cast<int>(What)), "r"(in_a1) : "memory");
}

inline void begin_transaction(std::uint16_t id) noexcept { operate<custom_operation::transaction_begin>(id); }
inline void commit_transaction() noexcept { operate<custom_operation::transaction_commit>(); }
/// Of a thread that the hart leaves, and of one that it goes on with. 0 is one without an open transaction.
inline void save_transaction(std::uint64_t* to) noexcept {
    operate<custom_operation::transaction_save>(reinterpret_cast<std::uintptr_t>(to));
}
inline void restore_transaction(std::uint64_t saved) noexcept {
    operate<custom_operation::transaction_restore>(saved);
}
inline void write_back_line(const void* in_line) noexcept {
    operate<custom_operation::line_write_back>(reinterpret_cast<std::uintptr_t>(in_line));
}
inline void fence_persists() noexcept { operate<custom_operation::persist_fence>(); }
/// A store past the caches; in one statement, so that nothing comes between the mark and the store.
inline void store_non_temporal(std::uint64_t* to, std::uint64_t value) noexcept {
    asm volatile("slti x0, x0, %2\n\tsd %1, %0"
                 : "=m"(*to)
                 : "r"(value), "i"(static_cast<int>(custom_operation::non_temporal))
                 : "memory");
}
inline void create_log(void* begin, std::size_t bytes) noexcept {
    operate<custom_operation::log_create>(reinterpret_cast<std::uintptr_t>(begin), bytes);
}
inline void truncate_log() noexcept { operate<custom_operation::log_truncate>(); }
inline void grow_log(void* begin, std::size_t bytes) noexcept {
    operate<custom_operation::log_grow>(reinterpret_cast<std::uintptr_t>(begin), bytes);
}
inline void begin_region_of_interest() noexcept { operate<custom_operation::region_of_interest_begin>(); }
inline void end_region_of_interest() noexcept { operate<custom_operation::region_of_interest_end>(); }
inline void begin_spinning() noexcept { operate<custom_operation::spin_begin>(); }
inline void end_spinning() noexcept { operate<custom_operation::spin_end>(); }

}  // namespace holdfast::guest
