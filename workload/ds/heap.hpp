// A priority queue: a binary heap in an array that grows.
#pragma once

#include <workload/ds/vector.hpp>

namespace holdfast::workload {

/// The first element of all is one that no other is before. `Before` has bool operator()(T, T): whether the first of
/// the two comes out earlier; it may load through an Access what elements point to.
///
/// All: inside a transaction, or while no other thread uses it. Thread safety: that of the transactions.
///
/// What loads more than one element has a copy of the handle, which compiled blocks load without a barrier.
template <access Access, class T, class Before>
class heap {
public:
    heap(Access memory, vector_root<T>* root, Before before) noexcept : elements_(memory, root), before_(before) {}

    std::uint64_t count() const { return elements_.count(); }
    bool empty() const { return elements_.empty(); }

    void push(T value) const {
        const vector<Access, T> elements = elements_;
        std::uint64_t hole = elements.count();
        elements.push_back(value);
        while (hole != 0) {
            const std::uint64_t above = (hole - 1) / 2;
            const T there = elements.at(above);
            if (!before_(value, there)) break;
            elements.set(hole, there);
            hole = above;
        }
        elements.set(hole, value);
    }

    /// Takes the first element away. False if there is none.
    bool pop(T& value) const {
        const vector<Access, T> elements = elements_;
        T last{};
        if (!elements.pop_back(last)) return false;
        const std::uint64_t left = elements.count();
        value = left == 0 ? last : elements.at(0);
        if (left != 0) put_down(last, left);
        return true;
    }

    /// The first element, which stays. False if there is none.
    bool first(T& value) const {
        if (empty()) return false;
        value = elements_.at(0);
        return true;
    }

    /// Takes all elements away and keeps the room for them.
    void clear() const { elements_.clear(); }
    /// Makes it all zero again.
    void dispose() const { elements_.dispose(); }

    /// No element is before the one above it.
    check_report check() const {
        check_report report;
        for (; report.count < count(); ++report.count) {
            const std::uint64_t i = report.count;
            if (i != 0 && before_(elements_.at(i), elements_.at((i - 1) / 2)))
                return report.problem = "an element is before the one above it", report;
        }
        return report;
    }

private:
    /// Puts `value` where it belongs, from the top, which is free, down.
    void put_down(T value, std::uint64_t count) const {
        const vector<Access, T> elements = elements_;
        std::uint64_t hole = 0;
        for (std::uint64_t below = 1; below < count; below = 2 * hole + 1) {
            T there = elements.at(below);
            if (below + 1 < count) {
                const T other = elements.at(below + 1);
                if (before_(other, there)) {
                    there = other;
                    ++below;
                }
            }
            if (!before_(there, value)) break;
            elements.set(hole, there);
            hole = below;
        }
        elements.set(hole, value);
    }

    vector<Access, T> elements_;
    Before before_;
};

}  // namespace holdfast::workload
