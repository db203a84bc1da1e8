// Words that nothing corrects, for tests.
#pragma once

#include <holdfast/dnv/dnv_test_support.hpp>
#include <holdfast/ecc/repair.hpp>

namespace holdfast::dnv::test {

class DnvDamages : public Dnv {
protected:
    static constexpr std::size_t words = 100;

    ~DnvDamages() override { dnv_on_uncorrectable(nullptr); }

    static std::uint64_t* filled_block() {
        auto* const block = static_cast<std::uint64_t*>(dnv_malloc(words * sizeof(std::uint64_t)));
        fill_words(block, words, 5);
        return block;
    }
    static void break_word(const void* at) {
        place_of(at)->word ^= 0x0000'0F0F'0F0F'0000;
        ASSERT_FALSE(ecc::repair(*place_of(at)));
    }
};

}  // namespace holdfast::dnv::test
