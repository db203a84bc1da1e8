// An array that grows.
#pragma once

#include <workload/access.hpp>
#include <workload/ds/places.hpp>

#include <type_traits>

namespace holdfast::workload {

/// The shared part. All zero is a valid empty one.
template <class T>
struct vector_root {
    T* places;
    std::uint64_t capacity;
    std::uint64_t count;
};

/// Elements that are copied as they are, by their number from 0.
///
/// All: inside a transaction, or while no other thread uses it. Thread safety: that of the transactions.
template <access Access, class T>
    requires std::is_trivially_copyable_v<T>
class vector {
public:
    vector(Access memory, vector_root<T>* root) noexcept : memory_(memory), root_(root) {}

    std::uint64_t count() const { return memory_.load(&root_->count); }
    bool empty() const { return count() == 0; }

    /// Requires: i < count(), as set does.
    T at(std::uint64_t i) const { return memory_.load(place(i)); }
    void set(std::uint64_t i, T value) const { memory_.store(place(i), value); }

    void push_back(T value) const {
        const std::uint64_t before = count();
        if (before == memory_.load(&root_->capacity)) grow(before);
        memory_.will_write(&root_->count);
        memory_.store(place(before), value);
        memory_.store(&root_->count, before + 1);
    }

    /// Takes the last element away. False if there is none.
    bool pop_back(T& value) const {
        const std::uint64_t before = count();
        if (before == 0) return false;
        value = at(before - 1);
        memory_.store(&root_->count, before - 1);
        return true;
    }

    /// Takes all elements away and keeps the room for them.
    void clear() const { memory_.store(&root_->count, 0); }

    /// Makes it all zero again.
    void dispose() const {
        replace_places<Access, vector_root<T>, T>(memory_, root_, nullptr, 0);
        memory_.store(&root_->count, 0);
    }

private:
    T* place(std::uint64_t i) const { return memory_.load(&root_->places) + i; }

    void grow(std::uint64_t full) const {
        const std::uint64_t capacity = next_capacity(full);
        T* const made = static_cast<T*>(memory_.allocate(capacity * sizeof(T)));
        for (std::uint64_t i = 0; i < full; ++i) memory_.store(made + i, at(i));
        replace_places(memory_, root_, made, capacity);
    }

    Access memory_;
    vector_root<T>* root_;
};

}  // namespace holdfast::workload
