#include <holdfast/base/words.hpp>

#include <gtest/gtest.h>

#include <algorithm>
#include <array>

namespace holdfast {
namespace {

/// Words that a test reads and writes as an engine's transaction would.
struct plain_words {
    static std::uint64_t load(const pool_word* from) { return *from; }
    static void store(pool_word* to, std::uint64_t value, std::uint8_t mask) { *to = merged(*to, value, mask); }
};

constexpr std::array<unsigned char, 24> counted() {
    std::array<unsigned char, 24> all{};
    for (std::size_t i = 0; i < all.size(); ++i) all[i] = static_cast<unsigned char>(i + 1);
    return all;
}

TEST(Words, APieceHasItsBytesLowestAndNoOthers) {
    constexpr auto bytes = counted();
    std::uint64_t expected = 0;
    for (std::size_t count = 1; count <= 8; ++count) {
        expected |= std::uint64_t{bytes[count - 1]} << (8 * (count - 1));
        EXPECT_EQ(detail::load_piece(bytes.data(), count), expected) << count;
    }
}

TEST(Words, BytesAreStoredAndLoadedAtEveryPlaceAndSizeAndThoseAroundThemStay) {
    constexpr auto bytes = counted();
    plain_words transaction;
    for (std::size_t place = 0; place < 16; ++place) {
        for (std::size_t size = 0; size <= 24; ++size) {
            alignas(8) std::array<unsigned char, 48> home;
            home.fill(0xEE);
            store_bytes(transaction, home.data() + place, bytes.data(), size);
            for (std::size_t i = 0; i < home.size(); ++i) {
                const bool is_stored = i >= place && i < place + size;
                ASSERT_EQ(home[i], is_stored ? bytes[i - place] : 0xEE) << place << " " << size << " " << i;
            }
            std::array<unsigned char, 24> back{};
            load_bytes(transaction, home.data() + place, back.data(), size);
            ASSERT_TRUE(std::equal(back.begin(), back.begin() + static_cast<std::ptrdiff_t>(size), bytes.begin()));
        }
    }
}

template <class T>
void expect_values_of(T value) {
    plain_words transaction;
    for (std::size_t place = 0; place < 8; place += alignof(T)) {
        alignas(8) std::array<unsigned char, 24> home;
        home.fill(0x5A);
        store_value(transaction, home.data() + place, value);
        EXPECT_EQ(load_value<T>(transaction, home.data() + place), value);
        for (std::size_t i = 0; i < home.size(); ++i) {
            const bool is_neighbour = i < place || i >= place + sizeof(T);
            ASSERT_TRUE(!is_neighbour || home[i] == 0x5A) << sizeof(T) << " " << place << " " << i;
        }
    }
}

TEST(Words, AValueOfEachSizeKeepsItsNeighbours) {
    expect_values_of<char>('h');
    expect_values_of<bool>(true);
    expect_values_of<std::int16_t>(-3);
    expect_values_of<float>(1.5f);
    expect_values_of<std::uint64_t>(0x0123456789ABCDEF);
    expect_values_of<std::array<char, 3>>({'a', 'b', 'c'});
    expect_values_of<std::array<std::uint32_t, 3>>({1, 2, 3});
}

}  // namespace
}  // namespace holdfast
