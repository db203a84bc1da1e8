// A list that is wrong is not measured.
#include <bench/contest/list_runs.hpp>

#include <gtest/gtest.h>

#include <algorithm>
#include <list>
#include <vector>

namespace holdfast::bench {
namespace {

enum class fault { none, loses, reorders, forgets_a_write, spoils_a_payload, cuts_a_link };

class faulty_list {
public:
    explicit faulty_list(std::size_t words, fault has = fault::none) : words_(words), has_(has) {}

    void push_back(const std::uint64_t* payload) {
        ++pushed_;
        if (has_ == fault::loses && pushed_ == 7) return;
        all_.emplace_back(payload, payload + words_);
        if (has_ == fault::spoils_a_payload && pushed_ == 7) ++all_.back().back();
        if (has_ == fault::reorders && pushed_ == 7) std::swap(all_.front(), all_.back());
    }
    std::uint64_t pop_front() {
        const std::uint64_t word = all_.front().front();
        all_.pop_front();
        return word;
    }
    std::uint64_t read() const {
        std::uint64_t sum = 0;
        for (const auto& each : all_) sum += each.front();
        return sum;
    }
    void write() {
        for (auto& each : all_) ++each.front();
        if (has_ == fault::forgets_a_write) --all_.back().front();
    }
    const std::uint64_t* make(const std::uint64_t* payload) const { return payload; }
    void append(const std::uint64_t* payload) { push_back(payload); }

    list_report look(const std::uint64_t* payload) const {
        list_report found{all_.size(), read(), has_ != fault::cuts_a_link, true};
        for (const auto& each : all_)
            found.payloads_agree &= std::equal(each.begin() + 1, each.end(), payload + 1);
        return found;
    }

private:
    std::size_t words_;
    fault has_;
    unsigned pushed_ = 0;
    std::list<std::vector<std::uint64_t>> all_;
};

void run_all(fault has) {
    list_runs runs(faulty_list(4, has), {20, 32});
    runs.fill();
    for (const char* name : {"push_back", "write", "read", "pop_front", "push_back"}) runs.run(name, 150);
}

TEST(ListRuns, ARightListKeepsItsSizeAndIsTimedAndCounted) {
    run_all(fault::none);
    list_runs runs(faulty_list(4), {20, 32});
    runs.fill();
    const batch pushed = runs.run("push_back", 150);
    EXPECT_EQ(pushed.transactions, 150u);
    EXPECT_GT(pushed.ns, 0);
    ASSERT_TRUE(pushed.spent.has_value());
    EXPECT_EQ(pushed.spent->medium, persist::counters());
    EXPECT_TRUE(pushed.seen.empty());
    const batch read = runs.run("read", 3);
    ASSERT_EQ(read.seen.size(), 1u);
    EXPECT_EQ(read.seen[0].metric, "ns_per_element");
    EXPECT_DOUBLE_EQ(read.seen[0].value * 60, read.ns);
}

TEST(ListRunsDeathTest, EachFaultEndsTheProgram) {
    // What child_failed says goes to standard output.
    for (const fault each : {fault::loses, fault::reorders, fault::forgets_a_write, fault::spoils_a_payload,
                             fault::cuts_a_link})
        EXPECT_EXIT(run_all(each), testing::ExitedWithCode(1), "") << static_cast<int>(each);
}

}  // namespace
}  // namespace holdfast::bench
