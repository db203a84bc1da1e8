#include <holdfast/dnv/layout.hpp>

#include <holdfast/base/checksum.hpp>

#include <iterator>

namespace holdfast::dnv {

std::uint64_t root::checksum_of_words() const {
    const std::uint64_t words[] = {is_coded.get(),      header.get(),       directory.get(), statics.get(),
                                   statics_bytes.get(), statics_room.get(), names.get(),     names_bytes.get(),
                                   names_room.get(),    names_checksum.get()};
    return interleaved_crc32c(words, std::size(words), 0);
}

/// Of zeros it is zero: such is an entry that was never used.
std::uint64_t directory_entry::checksum_of_words() const {
    const std::uint64_t words[] = {word.get(), bytes.get()};
    if (words[0] == 0 && words[1] == 0) return 0;
    return std::uint64_t{1} << 32 | interleaved_crc32c(words, std::size(words), 0);
}

}  // namespace holdfast::dnv
