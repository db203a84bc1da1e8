// What the command says of flipped bits in a pool of DNV Memory.
#include "command_test_support.hpp"

#include <holdfast/ecc/word_code.hpp>
#include <holdfast/handle/roots.hpp>
#include <holdfast/pool/open_pool.hpp>

#include <cstdlib>
#include <cstring>

namespace holdfast::tools::test {
namespace {

/// With the pool of a program whose first variable is 11.
class PoolDamages : public Command {
protected:
    void SetUp() override {
        Command::SetUp();
        ASSERT_NE(std::system((quoted(HOLDFAST_DNV_PROGRAM) + " " + quoted(pool()) + " >/dev/null").c_str()), -1);
        const std::string bytes = contents_of(pool());
        const ecc::coded_word first{11, ecc::encode(11)};
        // The last: the log, which is in front, may have the same.
        for (std::size_t at = 0; at + sizeof first <= bytes.size(); at += sizeof first)
            if (std::memcmp(bytes.data() + at, &first, sizeof first) == 0) place_ = at;
        ASSERT_NE(place_, 0u) << "the variable is not in the pool";
    }
    std::string pool() const { return in("pool"); }
    void store(std::uint64_t word) const {
        std::fstream file(pool(), std::ios::in | std::ios::out | std::ios::binary);
        file.seekp(static_cast<std::streamoff>(place_));
        file.write(reinterpret_cast<const char*>(&word), sizeof word);
    }

    std::uint64_t offset_of_root() const {
        std::uint64_t root = 0;
        const auto inspected = open_pool::inspect(pool()).value();
        for (const root_listing& each : list_roots(*inspected).value()) root = each.offset;
        EXPECT_NE(root, 0u);
        return root;
    }

    std::size_t place_ = 0;
};

TEST_F(PoolDamages, AreCorrectedCountedAndListed) {
    store(11 ^ 0x1000'0100);
    EXPECT_EQ(run({"pool", "check", pool()}).status, 0);
    const outcome corrected = run({"pool", "check", "--repair", pool()});
    EXPECT_EQ(corrected.status, 0);
    EXPECT_NE(corrected.out.find("1 words with flipped bits were corrected"), std::string::npos) << corrected.out;
    const json counted = run_json({"pool", "info", pool(), "--json"})["damages"];
    EXPECT_EQ(counted["mended_words"], 1);
    EXPECT_EQ(counted["mended_bits"], 2);

    store(11 ^ 0x0000'0F0F'0F0F'0000);
    const outcome left = run({"pool", "check", "--repair", pool()});
    EXPECT_EQ(left.status, 1);
    EXPECT_NE(left.out.find("1 words cannot be corrected"), std::string::npos) << left.out;
    outcome said = run({"pool", "info", pool()});
    EXPECT_NE(said.out.find("at 0x20000000\n"), std::string::npos) << said.out;
    said = run({"pool", "check", pool()});
    EXPECT_NE(said.out.find("1 in the list of damaged words"), std::string::npos) << said.out;

    store(11);
    EXPECT_EQ(run({"pool", "check", "--repair", pool()}).status, 0);
    said = run({"pool", "info", pool()});
    EXPECT_NE(said.out.find("none known"), std::string::npos) << said.out;
    EXPECT_NE(said.out.find("2 in 1 words were corrected"), std::string::npos) << said.out;
}

TEST_F(PoolDamages, OfTheRootAreCorrectedWhereOneBitWasFlipped) {
    place_ = offset_of_root();
    store(1 ^ 0x10'0000);  // where it says that there are codes
    EXPECT_EQ(run({"pool", "check", pool()}).status, 1);
    const outcome corrected = run({"pool", "check", "--repair", pool()});
    EXPECT_EQ(corrected.status, 0) << corrected.out << corrected.err;
    EXPECT_NE(corrected.out.find("1 words with flipped bits were corrected"), std::string::npos) << corrected.out;
    EXPECT_EQ(run({"pool", "check", pool()}).status, 0);
    EXPECT_EQ(run_json({"pool", "info", pool(), "--json"})["damages"]["mended_words"], 1);
}

TEST_F(PoolDamages, OfTheRootAreToldWithWhatWasRepaired) {
    place_ = offset_of_root();
    store(77);
    // And something that is repaired.
    std::fstream(pool(), std::ios::in | std::ios::out | std::ios::binary).seekp(0).put('h');
    const outcome done = run({"pool", "check", "--repair", pool()});
    EXPECT_EQ(done.status, 1);
    EXPECT_NE(done.out.find("what was done"), std::string::npos) << done.out << done.err;
    EXPECT_NE(done.out.find("the original file: "), std::string::npos) << done.out << done.err;
    EXPECT_NE(done.out.find("no word was corrected"), std::string::npos) << done.out << done.err;
}

}  // namespace
}  // namespace holdfast::tools::test
