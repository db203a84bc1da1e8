// The word code's loops, over a step that gives a word's checksum. Instantiated once with tables and once, in a file
// compiled for it, with the processor's instruction.
#pragma once

#include <holdfast/ecc/word_code.hpp>

namespace holdfast::ecc::detail {

template <class Checksum>
void run_encode(const std::uint64_t* words, coded_word* coded, std::size_t count) noexcept {
    for (std::size_t i = 0; i < count; ++i) {
        const std::uint64_t word = words[i];
        coded[i] = {word, code_from(word, Checksum::checksum(word))};
    }
}

template <class Checksum>
std::size_t run_first_invalid(const coded_word* coded, std::size_t count) noexcept {
    // Several words share a branch: invalid ones are so rare that looking again for which it was costs nothing.
    constexpr std::size_t together = 4;
    std::size_t i = 0;
    for (; i + together <= count; i += together) {
        std::uint64_t difference = 0;
        for (std::size_t j = i; j < i + together; ++j)
            difference |= coded[j].code ^ code_from(coded[j].word, Checksum::checksum(coded[j].word));
        if (difference != 0) break;
    }
    for (; i < count; ++i)
        if (coded[i].code != code_from(coded[i].word, Checksum::checksum(coded[i].word))) return i;
    return count;
}

}  // namespace holdfast::ecc::detail
