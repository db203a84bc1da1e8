// Copies of whole files, and files put in the place of others.
#include <holdfast/persist/copy_file.hpp>
#include <holdfast/persist/test_scratch.hpp>

#include <gtest/gtest.h>

namespace holdfast::persist {
namespace {

using test::scratch_directory;

std::string text_in(const std::string& path) {
    std::ifstream file(path, std::ios::binary);
    return {std::istreambuf_iterator<char>(file), {}};
}

TEST(CopyFile, ACopyHoldsTheSameBytesAndIsAFileOfItsOwn) {
    for (const char* parent : {"/dev/shm", "."}) {
        const scratch_directory scratch(parent);
        const std::string from = scratch.file("from"), to = scratch.file("to");
        std::string bytes(3 << 20, 'a');
        bytes[bytes.size() - 1] = 'z';
        test::write_text(from, bytes);
        {
            auto file = file::open(from, file::access::read_only);
            ASSERT_TRUE(file);
            const auto copied = copy_to(*file, to);
            ASSERT_TRUE(copied) << copied.error().text();
            EXPECT_EQ(copy_to(*file, to).error().code, errc::already_exists);
        }
        test::write_text(from, "other");
        EXPECT_EQ(text_in(to), bytes);
    }
}

TEST(CopyFile, RenamingTakesThePlaceOfWhatWasThere) {
    const scratch_directory scratch;
    const std::string from = scratch.file("from"), to = scratch.file("to");
    test::write_text(from, "new");
    test::write_text(to, "old");
    ASSERT_TRUE(rename_over(from, to));
    EXPECT_EQ(text_in(to), "new");
    EXPECT_FALSE(std::filesystem::exists(from));
    EXPECT_EQ(rename_over(from, to).error().code, errc::not_found);
    EXPECT_EQ(text_in(to), "new");
}

}  // namespace
}  // namespace holdfast::persist
