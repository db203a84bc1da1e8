// The list of suite dnv-list by native pointers: the same source with blocks and without.
#pragma once

#include <bench/contest/list_runs.hpp>

#include <cstddef>
#include <cstdint>
#include <cstring>

namespace holdfast::bench {

/// A payload of words lies behind it; behind the list's own, where the circle begins and ends, there is none.
struct list_node {
    list_node* next;
    list_node* previous;
};

inline std::uint64_t* payload_of(list_node* node) { return reinterpret_cast<std::uint64_t*>(node + 1); }

inline void link_at_the_end(list_node* ends, list_node* made) {
    list_node* const last = ends->previous;
    made->next = ends;
    made->previous = last;
    last->next = made;
    ends->previous = made;
}

inline list_node* unlink_first(list_node* ends) {
    list_node* const first = ends->next;
    list_node* const second = first->next;
    ends->next = second;
    second->previous = ends;
    return first;
}

/// A list of list_runs. `Memory` has allocate, free, and atomically(f). Locals instead of members in what runs
/// atomically: the compiler instruments what it reaches by `this`.
template <class Memory>
class linked_list {
public:
    /// `ends` is the pool's, or the program's; all zeros, or a list already.
    linked_list(list_node* ends, std::size_t bytes) : ends_(ends), bytes_(bytes) {
        Memory::atomically([&] {
            if (ends->next == nullptr) ends->next = ends->previous = ends;
        });
    }

    void push_back(const std::uint64_t* payload) {
        list_node* const ends = ends_;
        const std::size_t bytes = bytes_;
        bool good = false;
        Memory::atomically([&] {
            auto* const made = static_cast<list_node*>(Memory::allocate(sizeof(list_node) + bytes));
            good = made != nullptr;
            if (!good) return;
            link_at_the_end(ends, made);
            std::memcpy(payload_of(made), payload, bytes);
        });
        if (!good) child_failed("the pool is full");
    }

    std::uint64_t pop_front() {
        list_node* const ends = ends_;
        std::uint64_t word = 0;
        Memory::atomically([&] {
            list_node* const first = unlink_first(ends);
            word = *payload_of(first);
            Memory::free(first);
        });
        return word;
    }

    std::uint64_t read() {
        list_node* const ends = ends_;
        std::uint64_t sum = 0;
        Memory::atomically([&] {
            std::uint64_t all = 0;
            for (list_node* at = ends->next; at != ends; at = at->next) all += *payload_of(at);
            sum = all;
        });
        return sum;
    }

    void write() {
        list_node* const ends = ends_;
        Memory::atomically([&] {
            for (list_node* at = ends->next; at != ends; at = at->next) ++*payload_of(at);
        });
    }

    std::uint64_t stored_bytes() const
        requires requires { Memory::stored_bytes(); }
    {
        return Memory::stored_bytes();
    }

    list_node* make(const std::uint64_t* payload) {
        const std::size_t bytes = bytes_;
        list_node* node = nullptr;
        Memory::atomically([&] {
            auto* const made = static_cast<list_node*>(Memory::allocate(sizeof(list_node) + bytes));
            node = made;
            if (made != nullptr) std::memcpy(payload_of(made), payload, bytes);
        });
        if (node == nullptr) child_failed("the pool is full");
        return node;
    }
    void append(list_node* node) {
        list_node* const ends = ends_;
        Memory::atomically([&] { link_at_the_end(ends, node); });
    }

    list_report look(const std::uint64_t* payload) {
        list_node* const ends = ends_;
        const std::size_t words = bytes_ / sizeof(std::uint64_t);
        list_report report;
        Memory::atomically([&] {
            list_report found{0, 0, ends->next->previous == ends, true};
            for (list_node* at = ends->next; at != ends; at = at->next) {
                ++found.elements;
                found.sum += *payload_of(at);
                if (at->next->previous != at) found.links_agree = false;
                for (std::size_t i = 1; i < words; ++i)
                    if (payload_of(at)[i] != payload[i]) found.payloads_agree = false;
            }
            report = found;
        });
        return report;
    }

private:
    list_node* ends_;
    std::size_t bytes_;
};

}  // namespace holdfast::bench
