// A list in a dnv pool, with static variables, as a program of DNV Memory has it. Its blocks are in dnv_list.cpp, which
// is compiled for them.
#pragma once

#include <cstddef>
#include <cstdint>

namespace holdfast::crash {

/// Words only, so that whoever looks at it may do so without a transaction.
struct dnv_node {
    static constexpr std::size_t payload_bytes = 24;
    std::uint64_t value;
    dnv_node* next;
    std::uint64_t bytes;  ///< that were asked for
    unsigned char payload[payload_bytes];
};

struct dnv_list {
    dnv_node* head;
    std::uint64_t count;
    std::uint64_t sum;  ///< of values
    unsigned char marks[8];
};

/// A block of 64 bytes; one of 16 KiB, of which a chunk has two.
inline constexpr std::size_t small_node_bytes = sizeof(dnv_node);
inline constexpr std::size_t large_node_bytes = 12'000;
/// What the counter of operations begins with.
inline constexpr std::uint64_t operations_at_first = 7;

/// Addresses in the window.
const dnv_list* address_of_dnv_list() noexcept;
const std::uint64_t* address_of_dnv_operations() noexcept;

/// Each is one block, and all but the cancelled one are counted.
void dnv_push(std::uint64_t value, std::size_t bytes);
void dnv_pop();
/// Parts of words of the first node's payload, and of a static variable.
void dnv_replace(std::uint64_t value);
/// Frees the first node, allocates one of its size, and another one that it frees at once.
void dnv_rotate(std::uint64_t value);
/// Pushes, and takes it all back.
void dnv_push_and_cancel(std::uint64_t value);

}  // namespace holdfast::crash
