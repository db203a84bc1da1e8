// The array behind a queue or a vector: its root has `places` and `capacity`.
#pragma once

#include <workload/access.hpp>

namespace holdfast::workload {

/// A power of two.
constexpr std::uint64_t next_capacity(std::uint64_t full) { return full == 0 ? 8 : 2 * full; }

/// Puts another array, or none, where the root's is, and frees that.
template <access Access, class Root, class T>
void replace_places(Access memory, Root* root, T* made, std::uint64_t capacity) {
    T* const before = memory.load(&root->places);
    memory.will_write(root);
    memory.store(&root->places, made);
    memory.store(&root->capacity, capacity);
    if (before != nullptr) memory.free(before);
}

}  // namespace holdfast::workload
