// What a workload may do to memory. Workloads use nothing else: no standard containers, no
// exceptions, no operating system, so that benchmarks, crash explorer and simulator compile one source.
#pragma once

#include <cstddef>
#include <cstdint>

namespace holdfast::workload {

/// An Access is a cheap copyable handle with these members; holdfast::pool_access<Engine> is one.
///
///   T    load(const T* home)             what the open transaction sees; outside one, what is there
///   void store(T* home, T value)         inside a transaction only
///   void will_write(T* object)           a hint that the object is about to be stored to
///   void* allocate(bytes)                inside a transaction; aligned to 16, contents arbitrary; it
///                                        does not return when there is no room (the transaction ends)
///   void free(void* address)             inside a transaction
///   bool atomically(f)                   runs f as one transaction; true when it committed
///   bool atomically(lock, f)             the same under a lock
template <class Access>
concept access = requires(const Access& memory, std::uint64_t* word, void* block) {
    { memory.load(word) };
    memory.store(word, std::uint64_t{});
    memory.will_write(word);
    { memory.allocate(std::size_t{}) };
    memory.free(block);
    { memory.atomically([] {}) };
};

/// What a structure's check found.
struct check_report {
    const char* problem = nullptr;  ///< the first broken invariant, or nullptr
    std::uint64_t count = 0;        ///< elements found until then
    bool ok() const noexcept { return problem == nullptr; }
};

}  // namespace holdfast::workload
