#include <sim/front/guest_test_support.hpp>

namespace holdfast::sim::test {
namespace {

/// Writes down custom operations, and what is stored directly behind a mark.
class listening_memory : public functional_memory {
public:
    using functional_memory::functional_memory;

    bool custom(hart&, custom_operation what, std::uint64_t first, std::uint64_t second) {
        heard.push_back({what, first, second});
        marked_ = what == custom_operation::non_temporal;
        return true;
    }
    template <unsigned Bytes>
    bool store(hart& at, std::uint64_t address, std::uint64_t value) {
        if (marked_) streamed.push_back({address, value});
        marked_ = false;
        return functional_memory::store<Bytes>(at, address, value);
    }

    struct operation_heard {
        custom_operation what;
        std::uint64_t first;
        std::uint64_t second;
    };
    std::vector<operation_heard> heard{};
    std::vector<std::pair<std::uint64_t, std::uint64_t>> streamed{};

private:
    bool marked_ = false;
};

TEST(CustomOperations, ReachTheMemoryWithTheirOperandsInTheOrderOfTheProgram) {
    using enum custom_operation;
    guest_run<> guest("custom_operations");
    listening_memory memory(guest.space);
    process running(guest.loaded(), guest.space, [&](int, std::string_view text) { guest.output += text; });
    ASSERT_TRUE(running.start({"custom_operations"}));
    ASSERT_TRUE(machine<listening_memory>(running, memory, guest.observer).run());

    const custom_operation expected[] = {transaction_begin, non_temporal, line_write_back, persist_fence,
                                         transaction_commit, log_create, log_truncate, log_grow,
                                         region_of_interest_begin, region_of_interest_end, spin_begin, spin_end,
                                         transaction_save, transaction_restore};
    ASSERT_EQ(memory.heard.size(), std::size(expected));
    for (std::size_t i = 0; i < std::size(expected); ++i) EXPECT_EQ(memory.heard[i].what, expected[i]) << i;
    EXPECT_EQ(memory.heard[0].first, 7u);
    const std::uint64_t words = memory.heard[2].first;
    EXPECT_EQ(memory.heard[5].first, words);
    EXPECT_EQ(memory.heard[5].second, 4096u);
    EXPECT_EQ(memory.heard[7].first, words + 32);
    EXPECT_EQ(memory.heard[7].second, 8192u);
    ASSERT_EQ(memory.streamed.size(), 1u);
    EXPECT_EQ(memory.streamed[0], (std::pair<std::uint64_t, std::uint64_t>{words + 8, 22}));
    EXPECT_EQ(guest.output, "stored 11 22 3\n");
}

TEST(CustomOperations, AreNothingToAMachineThatDoesNotHaveThem) {
    EXPECT_EQ(output_there("custom_operations", {}), "stored 11 22 3\n");
}

}  // namespace
}  // namespace holdfast::sim::test
