// Corrections on an ordinary file at `power`, where homes are private memory: they reach the file.
#include <holdfast/dnv/dnv_test_support.hpp>
#include <holdfast/ecc/repair.hpp>

namespace holdfast::dnv::test {
namespace {

constexpr std::size_t words = 100;

class DnvCorrections : public Dnv {
protected:
    DnvCorrections() { use_way(2); }
    ~DnvCorrections() override { dnv_on_uncorrectable(nullptr); }
    static std::uint64_t* filled_block() {
        auto* const block = static_cast<std::uint64_t*>(dnv_malloc(words * sizeof(std::uint64_t)));
        fill_words(block, words, 5);
        return block;
    }
};

/// What a pool's file has of a word.
class word_in_file {
public:
    word_in_file(const std::string& path, std::uint64_t offset)
        : file_(persist::file::open(path, persist::file::access::read_write).value()), offset_(offset) {}
    ecc::coded_word get() {
        ecc::coded_word found;
        file_.read_at(offset_, &found, sizeof found).value();
        return found;
    }
    void flip(std::uint64_t bits) {
        const std::uint64_t flipped = get().word ^ bits;
        file_.write_at(offset_, &flipped, sizeof flipped, persist::site::measure).value();
    }

private:
    persist::file file_;
    std::uint64_t offset_;
};

TEST_F(DnvCorrections, ReachTheFileAndAreCountedOnce) {
    open();
    ASSERT_TRUE(the_space.pool->homes_are_private());
    std::uint64_t* const block = filled_block();
    const std::uint64_t offset = the_space.offset_of(block + 9);
    const std::function<void()> corrections[] = {
        [&] { EXPECT_EQ(sum_of_words(block, words), 5 * words); },
        [&] { EXPECT_EQ(audit_open_pool(true).flipped_words, 1u); },
        [&] {
            ASSERT_TRUE(dnv_scrub_start({.bytes_per_second = std::uint64_t{1} << 40}));
            while (dnv_state().scrub_rounds == 0) ::usleep(1000);
        },
    };
    // More lives than a code corrects bits.
    for (unsigned life = 0; life < 9; ++life) {
        ASSERT_TRUE(dnv_close());
        word_in_file(path(), offset).flip(std::uint64_t{1} << (20 + life));
        open();
        corrections[life % std::size(corrections)]();
        EXPECT_EQ(dnv_state().mended_bits, 1u);
        EXPECT_EQ(dnv_state().mended_bits_of_life, life + 1);
        EXPECT_EQ(dnv_state().damaged_words, 0u);
        ASSERT_TRUE(dnv_close());
        EXPECT_EQ(word_in_file(path(), offset).get(), (ecc::coded_word{5, ecc::encode(5)})) << life;
        open();
    }
}

TEST_F(DnvCorrections, OfBlocksAreBroughtToTheFileByAScrubber) {
    open();
    std::uint64_t* const block = filled_block();
    const std::uint64_t offset = the_space.offset_of(block + 9);
    ASSERT_TRUE(dnv_close());
    word_in_file(path(), offset).flip(1);
    in_killed_child([&] {
        if (sum_of_words(block, words) != 5 * words) ::_exit(4);
        if (!dnv_scrub_start({.bytes_per_second = std::uint64_t{1} << 40})) ::_exit(5);
        while (dnv_state().scrub_rounds == 0) ::usleep(1000);
    });
    open();
    EXPECT_TRUE(ecc::is_valid(*place_of(block + 9))) << "nobody has corrected it in this life";
}

TEST_F(DnvCorrections, AreWrittenWithoutReadingWhatNothingCorrects) {
    open();
    dnv_on_uncorrectable([](const damage&) {
        ADD_FAILURE() << "nobody needs the word";
        return verdict::end();
    });
    std::uint64_t* const block = filled_block();
    place_of(block + 3)->word ^= 1;
    EXPECT_EQ(sum_of_words(block, words), 5 * words);
    place_of(block + 3)->word ^= 0x0000'0F0F'0F0F'0000;
    EXPECT_EQ(audit_open_pool(true).damaged.size(), 1u);
    EXPECT_FALSE(ecc::is_valid(*place_of(block + 3)));
}

}  // namespace
}  // namespace holdfast::dnv::test
