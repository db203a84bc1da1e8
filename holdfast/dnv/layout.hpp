// What is in a dnv pool: one root, a header of staged words, a directory of chunks.
#pragma once

#include <holdfast/dnv/engine.hpp>
#include <holdfast/ecc/word_code.hpp>
#include <holdfast/stm/algorithm.hpp>

#include <bit>
#include <cstddef>
#include <cstdint>

namespace holdfast::dnv {

/// Sizes of blocks, in the window: multiples of the smallest up to four of them, then four sizes in each doubling.
inline constexpr std::size_t smallest_block = 16;
inline constexpr unsigned steps = 4;
inline constexpr unsigned classes = 112;
/// Behind them those of blocks without codes, in the same order.
inline constexpr unsigned all_classes = 2 * classes;
/// The first is for all threads that have none of their own.
inline constexpr unsigned heaps = 16;
inline constexpr std::size_t most_chunks = 4096;
/// A chunk is whole pages of the pool.
inline constexpr std::size_t window_page = 2048;

constexpr bool is_unprotected(unsigned of_class) noexcept { return of_class >= classes; }
constexpr std::size_t block_bytes(unsigned of_class) noexcept {
    if (is_unprotected(of_class)) of_class -= classes;
    if (of_class < steps) return smallest_block * (of_class + 1);
    const unsigned doubling = of_class / steps;
    return (smallest_block * (of_class % steps + steps + 1)) << (doubling - 1);
}
/// The smallest class that has room. `classes` or more: none has.
constexpr unsigned class_for(std::size_t bytes) noexcept {
    constexpr std::size_t largest_step = smallest_block * steps;
    if (bytes <= largest_step) return bytes == 0 ? 0 : static_cast<unsigned>((bytes - 1) / smallest_block);
    const auto doubling = static_cast<unsigned>(std::bit_width(bytes - 1) - std::bit_width(largest_step - 1));
    const auto step = static_cast<unsigned>((bytes - 1) / (smallest_block << (doubling - 1)) - steps);
    return doubling * steps + step;
}
/// Whether each size has its class, and a byte more the next one.
constexpr bool classes_fit() noexcept {
    for (unsigned each = 0; each < classes; ++each)
        if (class_for(block_bytes(each)) != each || class_for(block_bytes(each) + 1) != each + 1 ||
            block_bytes(classes + each) != block_bytes(each))
            return false;
    return block_bytes(0) == smallest_block && block_bytes(steps) == 80 && block_bytes(2 * steps - 1) == 128;
}
static_assert(classes_fit());

/// Where the linker puts static variables (holdfast_dnv.ld): their window.
inline constexpr std::uintptr_t statics_address = 0x2000'0000;

/// Blocks of one size of one heap. Staged.
struct bin {
    stm::word free;        ///< the first free block, which has the address of the next in its first word; 0: none
    stm::word unused;      ///< behind the last block that was ever taken from the newest chunk
    stm::word unused_end;  ///< of that chunk
};

/// The same for blocks without codes; their own metadata have codes. Made for the first of them, and staged.
struct unprotected_header {
    bin bins[heaps][classes];
    stm::word parked[classes];
};

/// Staged, so all of it is transactional, and coded where the pool is.
struct header {
    bin bins[heaps][classes];
    /// The Chunk Table: address of a chunk | class of its blocks; 0: none.
    stm::word chunks[most_chunks];
    /// For each class a list on its way from one heap to another; 0: none.
    stm::word parked[classes];
};

/// A chunk in a word of the table. One of blocks without codes begins with a word for each, which has a code: the link
/// of the free list. Its blocks are behind, and known by addresses of the window's second half.
struct chunk {
    std::uintptr_t begin = 0;  ///< in the window; in its second half if it is unprotected
    unsigned of_class = 0;

    static constexpr std::uint64_t class_bits = window_page - 1;
    static chunk of(std::uint64_t word) noexcept {
        return {word & ~class_bits, static_cast<unsigned>(word & class_bits)};
    }
    std::uint64_t word() const noexcept { return begin | of_class; }

    /// Of a chunk that has `bytes` in the window.
    std::uint64_t count_of_blocks(std::uint64_t bytes) const noexcept;
    std::uint64_t bytes_of_links(std::uint64_t bytes) const noexcept;
    std::uintptr_t first_block(std::uint64_t bytes) const noexcept { return begin + bytes_of_links(bytes); }
};

/// What the pool knows of flipped bits over its life (damage_list.hpp). Not staged, and coded in any pool.
struct damages {
    /// Which word is what.
    struct kept {
        static constexpr unsigned mended_words = 0;
        static constexpr unsigned mended_bits = 1;
        static constexpr unsigned further = 2;      ///< damaged words that found no entry
        static constexpr unsigned first_entry = 3;  ///< addresses of damaged words; 0: none
        static constexpr unsigned count = first_entry + 64;
    };
    struct coded_field {
        engine::field<std::uint64_t> word;
        engine::field<std::uint64_t> code;

        ecc::coded_word get() const { return {word.get(), code.get()}; }
        /// Requires: a transaction of the pool is open.
        void set(std::uint64_t value) {
            word = value;
            code = ecc::encode(value);
        }
    };
    coded_field words[kept::count];
};

/// The root "dnv". Not staged.
struct root {
    static constexpr const char* name = "dnv";
    static constexpr const char* version = "3";

    engine::field<std::uint64_t> is_coded;
    engine::field<std::uint64_t> header;         ///< its offset in the pool
    engine::field<std::uint64_t> unprotected;    ///< offset of the unprotected header; 0: there is none yet
    engine::field<std::uint64_t> directory;      ///< offset of most_chunks words: each chunk, and its bytes
    engine::field<std::uint64_t> statics;        ///< offset of the static variables; 0: there were none yet
    engine::field<std::uint64_t> statics_bytes;  ///< of the window; 0: none is in there yet
    engine::field<std::uint64_t> statics_room;   ///< bytes of the window that the region has room for
    engine::field<std::uint64_t> names;          ///< offset of what statics.cpp says of them
    engine::field<std::uint64_t> names_bytes;
    engine::field<std::uint64_t> names_room;
    engine::field<std::uint64_t> names_checksum;
    engine::field<std::uint64_t> checksum;  ///< of the words before it
    damages life;

    /// Of the words before it, as they lie in the pool.
    static std::uint64_t checksum_of(const std::uint64_t* words) noexcept;
    std::uint64_t checksum_of_words() const;
};

/// A chunk that the pool's heap has given out. It is the staged heap's when the Chunk Table names it, too.
struct directory_entry {
    engine::field<std::uint64_t> word;   ///< as in the table; 0: none
    engine::field<std::uint64_t> bytes;  ///< of the window
    engine::field<std::uint64_t> checksum;

    static std::uint64_t checksum_of(const std::uint64_t* words) noexcept;
    std::uint64_t checksum_of_words() const;
    /// Requires: a transaction of the pool is open.
    void set(std::uint64_t new_word, std::uint64_t new_bytes) {
        word = new_word;
        bytes = new_bytes;
        checksum = checksum_of_words();
    }
};

}  // namespace holdfast::dnv
