// What holds of every STAMP program.
#include <workload/plain_access_test.hpp>
#include <workload/stamp/forgetful_access_test.hpp>
#include <workload/stamp/programs.hpp>
#include <workload/stamp/run_test.hpp>

#include <holdfast/stm/atomically.hpp>
#include <holdfast/stm/value.hpp>
#include <holdfast/stm/versioned.hpp>

#include <gtest/gtest.h>

#include <set>
#include <string>
#include <type_traits>

namespace holdfast::workload {
namespace {

/// f(name, parameters) for the small set of each program.
template <class F>
void each_small_set(F&& f) {
    each_stamp_set([&](const auto& set) {
        if (set.size != std::string_view("small")) return;
        const ::testing::ScopedTrace trace(__FILE__, __LINE__, set.name);
        f(set.parameters);
    });
}

TEST(StampPrograms, OneThreadHasTheSameResultInEveryForm) {
    each_small_set([](const auto& given) {
        test::plain_memory memory;
        const auto expected = test::run_stamp(test::plain_access(memory), given, 1);
        EXPECT_EQ(memory.live_blocks, 0) << "blocks were lost";
        EXPECT_EQ(test::run_stamp(stm::stm_access<stm::value>(), given, 1), expected);
        EXPECT_EQ(test::run_stamp(stm::stm_access<stm::versioned>(), given, 1), expected);
    });
}

TEST(StampPrograms, AnotherSeedHasAnotherResult) {
    each_small_set([](auto given) {
        test::plain_memory memory;
        const auto first = test::run_stamp(test::plain_access(memory), given, 1);
        given.seed += 1000;
        EXPECT_NE(test::run_stamp(test::plain_access(memory), given, 1).hash, first.hash);
    });
}

TEST(StampPrograms, ProgramsCanRunAgain) {
    each_small_set([]<class Parameters>(const Parameters& given) {
        using program_type = typename Parameters::template program<plain_access>;
        typename program_type::root_type root{};
        program_type program(plain_access(), &root, given);
        std::set<std::uint64_t> hashes;
        for (int i = 0; i < 2; ++i) {
            EXPECT_TRUE(program.begin(1));
            test::work_on_threads(program, 1);
            EXPECT_TRUE(program.check().ok());
            hashes.insert(program.hash());
            EXPECT_TRUE(program.end());
        }
        EXPECT_EQ(hashes.size(), 1u);
    });
}

/// Whether the check of a run without its transaction number `lost`, of those of the work, finds something.
template <class Parameters>
bool finds_lost(const Parameters& given, std::uint64_t lost) {
    using program_type = typename Parameters::template program<test::forgetful_access>;
    typename program_type::root_type root{};
    test::forgetting how;
    program_type program(test::forgetful_access(how), &root, given);
    EXPECT_TRUE(program.begin(1));
    how.lost = how.begun + lost;
    test::work_on_threads(program, 1);
    how.lost = 0;
    const bool found = !program.check().ok();
    EXPECT_TRUE(program.end());
    return found;
}

/// Not every loss is one: a later transaction may do the same, and some only prepare what follows.
TEST(StampPrograms, ACheckFindsALostTransaction) {
    each_small_set([](auto given) {
        // Most segments come many times, and losing one of them is no loss.
        if constexpr (std::is_same_v<decltype(given), genome_parameters>) given.segments = given.gene_length / 2;
        const std::uint64_t transactions = test::run_stamp(plain_access(), given, 1).transactions;
        std::uint64_t found = 0;
        constexpr std::uint64_t tries = 10;
        for (std::uint64_t i = 0; i < tries; ++i) found += finds_lost(given, 1 + i * transactions / tries) ? 1u : 0u;
        EXPECT_GT(found, 0u);
    });
}

/// Without it the iterations end, and all that was done until then is right.
TEST(StampPrograms, ACheckFindsThatKmeansLostItsCountOfChanges) {
    const kmeans_parameters given;
    EXPECT_TRUE(finds_lost(given, given.points + 1));
    EXPECT_FALSE(finds_lost(given, 0));
}

/// In it labyrinth's copies of the grid are full of somebody else's paths: a copy is what loads many cells.
class walled_access : public plain_access {
public:
    template <class T>
    T load(const T* home) const {
        const T found = plain_access::load(home);
        if constexpr (std::is_same_v<T, std::uint64_t>) {
            if (is_walled && is_inside_ && ++loads_ > 16) return 1;
        }
        return found;
    }
    template <class F>
    bool atomically(F&& f) const {
        is_inside_ = true;
        loads_ = 0;
        f();
        is_inside_ = false;
        return true;
    }

    static inline bool is_walled = false;

private:
    static inline bool is_inside_ = false;
    static inline int loads_ = 0;
};

TEST(StampPrograms, ACheckFindsThatLabyrinthLaidNoPath) {
    const labyrinth_parameters given;
    labyrinth_root root{};
    labyrinth_program<walled_access> program(walled_access(), &root, given);
    EXPECT_TRUE(program.begin(1));
    walled_access::is_walled = true;
    test::work_on_threads(program, 1);
    walled_access::is_walled = false;
    EXPECT_FALSE(program.check().ok());
    EXPECT_TRUE(program.end());
}

TEST(StampPrograms, ASetIsFoundByItsUsualName) {
    const auto found = [](const std::string& name) {
        std::string text;
        with_stamp_set(name, [&](const auto& set) { text += std::string(set.name) + " " + set.size; });
        return text;
    };
    EXPECT_EQ(found("kmeans-low"), "kmeans-low small");
    EXPECT_EQ(found("kmeans-low+"), "kmeans-low +");
    EXPECT_EQ(found("vacation-high++"), "vacation-high ++");
    EXPECT_EQ(found("kmeans"), "");
    EXPECT_EQ(found("kmeans-low+++"), "");
}

}  // namespace
}  // namespace holdfast::workload
