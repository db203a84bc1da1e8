// Lists in a dnv pool, with static variables, as a program of DNV Memory has them. The blocks that change them are in
// dnv_list.cpp, which is compiled for them, once for each algorithm.
#pragma once

#include <holdfast/dnv/dnv.hpp>

#include <cstddef>
#include <cstdint>
#include <span>
#include <string_view>

namespace holdfast::crash {

/// Words only, so that whoever looks at it may do so without a transaction.
struct dnv_node {
    static constexpr std::size_t payload_bytes = 24;
    std::uint64_t value;
    dnv_node* next;
    std::uint64_t bytes;  ///< that were asked for
    unsigned char payload[payload_bytes];
};

/// Of one thread, and alone in its line, so that transactions of others meet it only where they are to.
struct alignas(64) dnv_list {
    dnv_node* head;
    std::uint64_t count;
    std::uint64_t sum;  ///< of values
    unsigned char marks[8];
    std::uint64_t operations;
    std::uint64_t shares;  ///< of the total of all lists
};

inline constexpr unsigned dnv_lists = 3;
/// A block of 64 bytes; one of 16 KiB, of which a chunk has two.
inline constexpr std::size_t small_node_bytes = sizeof(dnv_node);
inline constexpr std::size_t large_node_bytes = 12'000;
/// What the counter of operations begins with.
inline constexpr std::uint64_t operations_at_first = 7;
inline constexpr unsigned nodes_of_several = 4;

/// Addresses in the window.
const dnv_list* address_of_dnv_list(unsigned number) noexcept;
const std::uint64_t* address_of_dnv_total() noexcept;

/// Under one algorithm. Each is one block on a list, and all but the cancelled one are counted. False: there was no
/// room, and the block was cancelled.
struct dnv_operations {
    const char* algorithm;
    bool (*push)(unsigned list, std::uint64_t value, std::size_t bytes);
    /// A node whose words have no codes.
    bool (*push_bare)(unsigned list, std::uint64_t value, std::size_t bytes);
    bool (*pop)(unsigned list);
    /// Parts of words of the first node's payload, and of a static variable.
    bool (*replace)(unsigned list, std::uint64_t value);
    /// The same. False: a word was damaged, and a handler chose to leave it.
    bool (*try_to_replace)(unsigned list, std::uint64_t value);
    /// Frees the first node, allocates one of its size, and another one that it frees at once.
    bool (*rotate)(unsigned list, std::uint64_t value);
    /// Pushes, and takes it all back.
    void (*push_and_cancel)(unsigned list, std::uint64_t value);
    /// Small nodes, of this value and those above.
    bool (*push_several)(unsigned list, std::uint64_t value);
    bool (*pop_all)(unsigned list);
    /// Adds one to what all lists share, and to the list's part of it.
    bool (*share)(unsigned list);
};
std::span<const dnv_operations* const> all_dnv_operations() noexcept;

/// In the middle of a block: other threads may go on.
HOLDFAST_DNV_PURE void pause_in_block() noexcept;
/// They do, if they can.
HOLDFAST_DNV_PURE void hand_on_in_block() noexcept;

}  // namespace holdfast::crash
