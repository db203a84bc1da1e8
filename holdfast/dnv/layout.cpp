#include <holdfast/dnv/layout.hpp>

#include <holdfast/base/checksum.hpp>

#include <cstddef>

namespace holdfast::dnv {

std::uint64_t root::checksum_of(const std::uint64_t* words) noexcept {
    return interleaved_crc32c(words, offsetof(root, checksum) / sizeof *words, 0);
}

std::uint64_t root::checksum_of_words() const {
    const std::uint64_t words[] = {is_coded.get(),     header.get(),        unprotected.get(),  directory.get(),
                                   statics.get(),      statics_bytes.get(), statics_room.get(), names.get(),
                                   names_bytes.get(),  names_room.get(),    names_checksum.get()};
    static_assert(sizeof words == offsetof(root, checksum));
    return checksum_of(words);
}

namespace {

/// Blocks begin with a line.
constexpr std::uint64_t room_for_links(std::uint64_t blocks) noexcept {
    constexpr std::uint64_t line = 64;
    return (blocks * sizeof(stm::word) + line - 1) / line * line;
}

}  // namespace

std::uint64_t chunk::count_of_blocks(std::uint64_t bytes) const noexcept {
    const std::uint64_t of_block = block_bytes(of_class);
    if (!is_unprotected(of_class)) return bytes / of_block;
    std::uint64_t blocks = bytes / (of_block + sizeof(stm::word));
    while (room_for_links(blocks) + blocks * of_block > bytes) --blocks;
    return blocks;
}

std::uint64_t chunk::bytes_of_links(std::uint64_t bytes) const noexcept {
    return is_unprotected(of_class) ? room_for_links(count_of_blocks(bytes)) : 0;
}

/// Of zeros it is zero: such is an entry that was never used.
std::uint64_t directory_entry::checksum_of(const std::uint64_t* words) noexcept {
    if (words[0] == 0 && words[1] == 0) return 0;
    return std::uint64_t{1} << 32 | interleaved_crc32c(words, 2, 0);
}

std::uint64_t directory_entry::checksum_of_words() const {
    const std::uint64_t words[] = {word.get(), bytes.get()};
    static_assert(sizeof words == offsetof(directory_entry, checksum));
    return checksum_of(words);
}

}  // namespace holdfast::dnv
