// Two values in one block, for containers whose elements are single words.
#pragma once

#include <workload/access.hpp>

namespace holdfast::workload {

template <class First, class Second>
struct pair {
    First first;
    Second second;
};

/// A block with these values, which memory.free gives back. Inside a transaction.
template <access Access, class First, class Second>
pair<First, Second>* make_pair(const Access& memory, First first, Second second) {
    auto* const made = static_cast<pair<First, Second>*>(memory.allocate(sizeof(pair<First, Second>)));
    memory.will_write(made);
    memory.store(&made->first, first);
    memory.store(&made->second, second);
    return made;
}

/// The values of a block.
template <access Access, class First, class Second>
pair<First, Second> load_pair(const Access& memory, const pair<First, Second>* from) {
    return {memory.load(&from->first), memory.load(&from->second)};
}

}  // namespace holdfast::workload
