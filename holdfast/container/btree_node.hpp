// The nodes of btree_map. A node's slots are not sorted; one word says their order, so that an
// insertion stores one slot and one word instead of moving half of the node.
// Measured under redo with keys in no order: 151 bytes of log an insertion and 89 a removal; with sorted
// slots 310 and 269.
// Source of the permutation word: Y. Mao, E. Kohler, R. Morris, Cache Craftiness for Fast Multicore
// Key-Value Storage (Masstree), EuroSys 2012, section 4.6.2.
#pragma once

#include <holdfast/container/key.hpp>

#include <cstdint>

namespace holdfast::detail {

/// The order of up to 15 slots in one word: the number in use in the lowest 4 bits, then for each position its slot;
/// the unused slots follow the used ones.
class slot_order {
public:
    static constexpr unsigned slots = 15;

    explicit constexpr slot_order(std::uint64_t word) noexcept : word_(word) {}
    /// The first `count` slots in use, in order.
    static constexpr slot_order first(unsigned count) noexcept { return slot_order(0xEDCBA98765432100u | count); }

    constexpr std::uint64_t word() const noexcept { return word_; }
    constexpr unsigned count() const noexcept { return static_cast<unsigned>(word_ & 15); }
    constexpr unsigned slot(unsigned position) const noexcept {
        return static_cast<unsigned>((word_ >> (4 * position + 4)) & 15);
    }
    /// Puts an unused slot at `position` and returns it. Requires: count() < slots.
    constexpr unsigned insert(unsigned position) noexcept {
        const unsigned taken = slot(count());
        const std::uint64_t moved = between(position, count()) << 4;
        word_ = (word_ & ~between(position, count() + 1)) | moved | place(taken, position);
        ++word_;
        return taken;
    }
    /// Takes the slot at `position` out of use and returns it.
    constexpr unsigned erase(unsigned position) noexcept {
        const unsigned gone = slot(position);
        const std::uint64_t moved = between(position + 1, count()) >> 4;
        word_ = (word_ & ~between(position, count())) | moved | place(gone, count() - 1);
        --word_;
        return gone;
    }
    /// Takes all from `position` on out of use.
    constexpr void cut(unsigned position) noexcept { word_ = (word_ & ~std::uint64_t{15}) | position; }

    /// Whether every slot is in exactly one position.
    constexpr bool valid() const noexcept {
        unsigned seen = 0;
        for (unsigned i = 0; i < slots; ++i) seen |= 1u << slot(i);
        return seen == (1u << slots) - 1;
    }

private:
    static constexpr std::uint64_t below(unsigned position) noexcept {
        return position >= slots ? ~std::uint64_t{0} : (std::uint64_t{1} << (4 * position + 4)) - 1;
    }
    /// The bits of positions [first, last).
    constexpr std::uint64_t between(unsigned first, unsigned last) const noexcept {
        return word_ & below(last) & ~below(first);
    }
    static constexpr std::uint64_t place(unsigned slot, unsigned position) noexcept {
        return std::uint64_t{slot} << (4 * position + 4);
    }

    std::uint64_t word_;
};
static_assert(slot_order::first(15).valid() && slot_order::first(3).slot(14) == 14);

/// Entries in order, and the neighbours.
template <class Key, class T, class Engine>
struct btree_leaf {
    using entry = map_entry<Key, T, Engine>;

    slot_order order() const { return slot_order(order_word.get()); }
    entry& at(unsigned position) { return entries[order().slot(position)]; }
    const entry& at(unsigned position) const { return entries[order().slot(position)]; }

    basic_field<Engine, std::uint64_t> order_word;
    basic_field<Engine, btree_leaf*> previous;
    basic_field<Engine, btree_leaf*> next;
    entry entries[slot_order::slots];
};

/// n separators and n + 1 children: keys of child i are below separator i, those of child i + 1 not.
template <class Key, class Engine>
struct btree_inner {
    struct branch {
        held_element<Key, Engine> key;
        basic_field<Engine, void*> child;  ///< the child behind the key
    };

    slot_order order() const { return slot_order(order_word.get()); }
    branch& at(unsigned position) { return branches[order().slot(position)]; }
    const branch& at(unsigned position) const { return branches[order().slot(position)]; }
    void* child(unsigned position) const {
        return position == 0 ? first_child.get() : at(position - 1).child.get();
    }
    void set_child(unsigned position, void* to) {
        if (position == 0) {
            first_child = to;
        } else {
            at(position - 1).child = to;
        }
    }

    basic_field<Engine, std::uint64_t> order_word;
    basic_field<Engine, void*> first_child;
    branch branches[slot_order::slots];
};

}  // namespace holdfast::detail
