// A queue: first in, first out, in a ring that grows.
#pragma once

#include <workload/access.hpp>
#include <workload/ds/places.hpp>

#include <type_traits>

namespace holdfast::workload {

/// The shared part. All zero is a valid empty one.
template <class T>
struct queue_root {
    T* places;
    std::uint64_t capacity;  ///< a power of two
    std::uint64_t pushed;    ///< since the queue began: the next element's place, modulo the capacity
    std::uint64_t popped;    ///< the first element's
};

/// Elements that are copied as they are. There is no count, which push and pop would both store to: while the queue is
/// neither full nor empty they store to different words.
///
/// All: inside a transaction, or while no other thread uses it. Thread safety: that of the transactions.
template <access Access, class T>
    requires std::is_trivially_copyable_v<T>
class queue {
public:
    queue(Access memory, queue_root<T>* root) noexcept : memory_(memory), root_(root) {}

    std::uint64_t count() const { return memory_.load(&root_->pushed) - memory_.load(&root_->popped); }
    bool empty() const { return count() == 0; }

    void push(T value) const {
        if (count() == memory_.load(&root_->capacity)) grow();
        const std::uint64_t number = memory_.load(&root_->pushed);
        memory_.will_write(&root_->pushed);
        memory_.store(place(number), value);
        memory_.store(&root_->pushed, number + 1);
    }

    /// Takes the oldest element away. False if there is none.
    bool pop(T& value) const {
        const std::uint64_t number = memory_.load(&root_->popped);
        if (number == memory_.load(&root_->pushed)) return false;
        value = memory_.load(place(number));
        memory_.store(&root_->popped, number + 1);
        return true;
    }

    /// Takes the oldest element away and returns it; `otherwise` if there is none.
    T pop_or(T otherwise) const {
        T value = otherwise;
        pop(value);
        return value;
    }

    /// Calls f(value) for each element, the oldest first.
    template <class F>
    void each(F&& f) const {
        const std::uint64_t last = memory_.load(&root_->pushed);
        for (std::uint64_t i = memory_.load(&root_->popped); i < last; ++i) f(memory_.load(place(i)));
    }

    /// Makes it all zero again.
    void dispose() const {
        replace_places<Access, queue_root<T>, T>(memory_, root_, nullptr, 0);
        memory_.store(&root_->pushed, 0);
        memory_.store(&root_->popped, 0);
    }

private:
    T* place(std::uint64_t number) const {
        return memory_.load(&root_->places) + (number & (memory_.load(&root_->capacity) - 1));
    }

    void grow() const {
        const std::uint64_t full = memory_.load(&root_->capacity);
        const std::uint64_t capacity = next_capacity(full);
        const std::uint64_t first = memory_.load(&root_->popped);
        T* const made = static_cast<T*>(memory_.allocate(capacity * sizeof(T)));
        for (std::uint64_t i = 0; i < full; ++i)
            memory_.store(made + ((first + i) & (capacity - 1)), memory_.load(place(first + i)));
        replace_places(memory_, root_, made, capacity);
    }

    Access memory_;
    queue_root<T>* root_;
};

}  // namespace holdfast::workload
