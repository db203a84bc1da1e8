// The queue on one thread: what retires when, and how large a ring must be.
#include <holdfast/htm/blue_red_queue.hpp>

#include <gtest/gtest.h>

#include <vector>

namespace holdfast::htm {
namespace {

/// In how many of ten starts a writer found no room in a ring of `slots`, where two threads start nothing while five
/// transactions are not retired.
int turned_away(std::size_t slots) {
    using queue = blue_red_queue<int>;
    std::vector<queue::slot> ring(slots);
    queue tried({ring.data(), ring.size()});
    std::uint64_t stamp = 0;
    int payload = 0;
    int away = 0;
    const auto start = [&] {
        const std::optional<std::uint64_t> id = tried.notify_start();
        away += !id;
        return id;
    };
    const auto finish = [&](std::optional<std::uint64_t> id) {
        if (!id) return;
        tried.notify_end(*id, ++stamp);
        tried.commit(*id, &payload);
    };
    // One thread's transaction is long; of the other's four none may retire before it.
    const auto oldest = start();
    for (int i = 0; i < 4; ++i) finish(start());
    EXPECT_FALSE(tried.try_retire([](int*) {}));
    // It ends with the largest stamp. The others retire; before it does, there is room for four more of the backlog,
    // and at the last of them both threads look at once.
    finish(oldest);
    for (int i = 0; i < 4; ++i) EXPECT_TRUE(tried.try_retire([](int*) {}));
    for (int i = 0; i < 3; ++i) finish(start());
    start();
    start();
    return away;
}

TEST(BlueRedQueue, TurnsNobodyAwayInARingOfTwiceTheBacklogAndTheThreads) {
    using queue = blue_red_queue<int>;
    EXPECT_EQ(queue::ring_size(5, 2), 16u);
    EXPECT_EQ(queue::ring_size(128, 8), 512u);
    EXPECT_EQ(turned_away(queue::ring_size(5, 2)), 0);
    EXPECT_GT(turned_away(queue::ring_size(5, 2) / 2), 0);
}

TEST(BlueRedQueue, GivesPayloadsInTheOrderOfStamps) {
    using queue = blue_red_queue<const int>;
    std::vector<queue::slot> ring(8);
    queue tried({ring.data(), ring.size()});
    const int numbers[] = {0, 1, 2, 3, 4};
    std::uint64_t ids[5];
    for (std::uint64_t& each : ids) each = *tried.notify_start();
    std::vector<int> retired;
    const auto retire_all = [&] {
        while (tried.try_retire([&](const int* each) { retired.push_back(*each); })) continue;
    };
    for (const int each : {3, 0, 4, 2}) {
        tried.notify_end(ids[each], static_cast<std::uint64_t>(each));
        tried.commit(ids[each], &numbers[each]);
        retire_all();
        EXPECT_TRUE(retired.empty()) << "a stamp between may come";
    }
    EXPECT_EQ(tried.observed_min(), ids[0]);
    tried.notify_end(ids[1], 1);
    retire_all();
    EXPECT_EQ(retired, std::vector<int>{0}) << "the second is not committed";
    tried.commit(ids[1], &numbers[1]);
    retire_all();
    EXPECT_EQ(retired, (std::vector<int>{0, 1, 2, 3, 4}));
    EXPECT_EQ(tried.observed_min(), ids[4] + 1);
    EXPECT_EQ(tried.span(), 0u);
}

}  // namespace
}  // namespace holdfast::htm
