#include <crash/record/second_mapping.hpp>

#include <gtest/gtest.h>

#include <sys/mman.h>
#include <unistd.h>

namespace holdfast::crash {
namespace {

constexpr std::size_t page = 4096;

class SecondMapping : public ::testing::Test {
protected:
    SecondMapping() : file_(::memfd_create("mapped", 0)) {
        EXPECT_EQ(::ftruncate(file_, 8 * page), 0);
        first_ = map(nullptr, 4, MAP_SHARED, 0);
    }
    ~SecondMapping() override {
        ::munmap(first_, 4 * page);
        ::close(file_);
    }
    std::byte* map(std::byte* at, std::size_t pages, int flags, std::size_t from_page) const {
        return static_cast<std::byte*>(::mmap(at, pages * page, PROT_READ | PROT_WRITE, flags, file_,
                                              static_cast<off_t>(from_page * page)));
    }
    std::span<std::byte> range() const { return {first_, 4 * page}; }

    int file_;
    std::byte* first_;
};

TEST_F(SecondMapping, OfSharedMemoryIsTheSameMemory) {
    second_mapping second(range());
    ASSERT_TRUE(second.exists());
    ASSERT_EQ(::mprotect(first_, 4 * page, PROT_READ), 0);
    for (std::size_t offset = 5; offset < 4 * page; offset += page) {
        *second.counterpart(first_ + offset) = std::byte{7};
        EXPECT_EQ(first_[offset], std::byte{7});
    }
}

TEST_F(SecondMapping, IsThereHoweverTheKernelHasDividedTheFirst) {
    ASSERT_EQ(::mprotect(first_ + page, page, PROT_READ), 0);
    second_mapping second(range());
    ASSERT_TRUE(second.exists());
    *second.counterpart(first_ + 3 * page) = std::byte{7};
    EXPECT_EQ(first_[3 * page], std::byte{7});
}

TEST_F(SecondMapping, IsNotThereWhereAPartIsPrivateOrOfAnotherPlaceOrNone) {
    map(first_ + page, 1, MAP_PRIVATE | MAP_FIXED, 1);
    EXPECT_FALSE(second_mapping(range()).exists()) << "private";
    map(first_ + page, 1, MAP_SHARED | MAP_FIXED, 2);
    EXPECT_FALSE(second_mapping(range()).exists()) << "another page of the file";
    map(first_ + page, 1, MAP_SHARED | MAP_FIXED, 1);
    EXPECT_TRUE(second_mapping(range()).exists());
    ::munmap(first_ + 3 * page, page);
    EXPECT_FALSE(second_mapping(range()).exists()) << "the last page is not mapped";
}

TEST_F(SecondMapping, OfPrivateMemoryIsNotThere) {
    auto* memory = static_cast<std::byte*>(
        ::mmap(nullptr, page, PROT_READ | PROT_WRITE, MAP_PRIVATE | MAP_ANONYMOUS, -1, 0));
    EXPECT_FALSE(second_mapping({memory, page}).exists());
    ::munmap(memory, page);
}

}  // namespace
}  // namespace holdfast::crash
