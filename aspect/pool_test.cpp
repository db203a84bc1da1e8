// Woven objects in pools: what one program wrote with the weaver another reads without it, and the other way round.
#include "pooled/pooled.hpp"

#include <holdfast/handle/line_pool.hpp>
#include <holdfast/persist/test_scratch.hpp>

#include <gtest/gtest.h>

namespace holdfast {
namespace {

/// The plain class of the same members.
struct plain_record {
    std::uint64_t number = 0;
    std::uint32_t count = 0;
    char letter = 0;
};

TEST(WovenPool, IsReadAsLinesAndWritesWhatLinesRead) {
    persist::test::scratch_directory directory("/dev/shm");
    const std::string path = directory.file("pool");
    create_options options;
    options.durability = level::process;
    options.bytes = 1 << 20;
    woven::write(path, options, 7);
    {
        auto pool = line_pool::open(path, options).value();
        auto found = pool.root<line_array<plain_record, 4>>("records");
        ASSERT_TRUE(found) << found.error().text();
        line<plain_record>& third = (**found)[2];
        EXPECT_EQ(third->number, 7u);
        EXPECT_EQ(third->count, 1u);
        EXPECT_EQ(third->letter, 'w');
        third.transact([](plain_record& active) {
            active.number = 8;
            active.letter = 'l';
        });
        pool.abandon();
    }
    EXPECT_EQ(woven::read(path, options), (woven::contents{8, 1, 'l'}));
}

}  // namespace
}  // namespace holdfast
