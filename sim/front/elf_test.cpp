#include <sim/front/elf.hpp>

#include <gtest/gtest.h>

#include <cstring>

namespace holdfast::sim {
namespace {

/// A right file: a header, one program header, and two instructions at 0x10000 + 120.
std::vector<std::byte> right_file() {
    std::vector<std::byte> file(128);
    const auto put = [&](std::size_t at, std::uint64_t value, unsigned bytes) {
        std::memcpy(file.data() + at, &value, bytes);
    };
    put(0, 0x464c457f, 4);
    put(4, 2, 1);
    put(5, 1, 1);
    put(16, 2, 2);
    put(18, 243, 2);
    put(24, 0x10078, 8);
    put(32, 64, 8);
    put(54, 56, 2);
    put(56, 1, 2);
    put(64, 1, 4);
    put(68, 5, 4);
    put(80, 0x10000, 8);
    put(96, 128, 8);
    put(104, 128, 8);
    put(120, 0x0000'0013'0000'0013, 8);
    return file;
}

std::string problem_with(const std::vector<std::byte>& file) {
    auto memory = *address_space::create();
    const auto loaded = load_elf(file, "guest", memory);
    return loaded ? "none" : loaded.problem().text();
}

/// What is said when `bytes` bytes at `at` are `value`.
std::string problem_when(std::size_t at, std::uint64_t value, unsigned bytes) {
    std::vector<std::byte> file = right_file();
    std::memcpy(file.data() + at, &value, bytes);
    return problem_with(file);
}

TEST(Elf, AProgramIsPutWhereItsSegmentsSay) {
    auto memory = *address_space::create();
    const std::vector<std::byte> file = right_file();
    const auto loaded = load_elf(file, "guest", memory);
    ASSERT_TRUE(loaded) << loaded.problem().text();
    EXPECT_EQ(loaded->entry, 0x10078u);
    EXPECT_EQ(loaded->instructions.at(0x10078)->code, operation_code::addi);
    EXPECT_EQ(std::memcmp(memory.find_range(0x10000, 128, readable).data(), file.data(), 128), 0);
    EXPECT_TRUE(memory.find_range(0x10000, 128, writable).empty());
}

TEST(Elf, WhatIsWrongWithAFileIsSaidWithWhatWasExpected) {
    EXPECT_EQ(problem_with({}), "bad ELF: guest: expected a file that begins with an ELF header, found something else");
    EXPECT_EQ(problem_when(0, 0x20206123, 4),
              "bad ELF: guest: expected a file that begins with an ELF header, found something else");
    EXPECT_EQ(problem_when(4, 1, 1), "bad ELF: guest: expected 64 bits, little-endian, found another layout");
    EXPECT_EQ(problem_when(18, 62, 2), "bad ELF: guest: expected machine 243, RISC-V, found machine 62");
    EXPECT_EQ(problem_when(16, 3, 2), "bad ELF: guest: expected a program at fixed addresses, found type 3");
    EXPECT_EQ(problem_when(24, 0x20000, 8), "bad ELF: guest: expected an entry in the code, found 0x20000");
    EXPECT_EQ(problem_when(32, 100, 8),
              "bad ELF: guest: expected a program header, found the end of the file at 0x64");
    EXPECT_EQ(problem_when(54, 32, 2), "bad ELF: guest: expected program headers of 56 bytes, found 32");
    EXPECT_EQ(problem_when(64, 3, 4), "bad ELF: guest: expected a static program, found one that asks for libraries");
    EXPECT_EQ(problem_when(68, 7, 4),
              "bad ELF: guest: expected code that does not change, found a segment writable and executable");
    EXPECT_EQ(problem_when(68, 4, 4), "bad ELF: guest: expected a segment of code, found none");
    EXPECT_EQ(problem_when(96, 129, 8), "bad ELF: guest: expected a segment within the file, found 0x81 bytes at 0x0");
    EXPECT_EQ(problem_when(72, ~std::uint64_t{0}, 8),
              "bad ELF: guest: expected a segment within the file, found 0x80 bytes at 0xffffffffffffffff");
    EXPECT_EQ(problem_when(80, address_space::limit, 8),
              "bad ELF: guest: expected segments on free pages of 65536 bytes, found one at 0x2000000000");
}

TEST(Elf, NoByteOfAProgramMakesTheLoaderFall) {
    const std::vector<std::byte> right = right_file();
    for (std::size_t at = 0; at < right.size(); ++at) {
        for (const unsigned value : {0x00u, 0x01u, 0x7fu, 0x80u, 0xffu}) {
            std::vector<std::byte> damaged = right;
            damaged[at] = static_cast<std::byte>(value);
            problem_with(damaged);
        }
        problem_with({right.begin(), right.begin() + static_cast<std::ptrdiff_t>(at)});
    }
}

}  // namespace
}  // namespace holdfast::sim
