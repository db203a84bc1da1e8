// Each line of the guide's table of containers that work, against the same operations outside of blocks.
#include <holdfast/itm/std.hpp>
#include <holdfast/itm/with_barriers_test.hpp>

#include <gtest/gtest.h>

#include <cstdint>
#include <random>
#include <stdexcept>
#include <thread>

namespace holdfast::itm {
namespace {

TEST(StandardContainers, VectorGrowsShrinksInsertsAndErases) {
    std::vector<int> inside, outside;
    std::mt19937 random(1);
    for (int round = 0; round < 2000; ++round) {
        const int value = static_cast<int>(random() % 1000);
        const auto steps = [value](std::vector<int>& vector) {
            vector.push_back(value);
            if (value % 3 == 0) vector.insert(vector.begin() + static_cast<long>(vector.size() / 2), value + 1);
            if (value % 4 == 0) vector.erase(vector.begin());
            if (value % 50 == 0) vector.resize(vector.size() / 2);
            if (value == 7) vector.clear();
            vector.reserve(10);
            if (!vector.empty()) vector.back() += vector.front();
        };
        __transaction_atomic { steps(inside); }
        steps(outside);
    }
    EXPECT_EQ(inside, outside);
}

TEST(StandardContainers, VectorSaysThatItIsTooLong) {
    std::vector<long> vector;
    EXPECT_THROW(
        { __transaction_atomic { vector.reserve(vector.max_size() + 1); } }, std::length_error);
    EXPECT_EQ(std::uncaught_exceptions(), 0);
}

TEST(StandardContainers, MapIsTheSameTreeAfterEveryStep) {
    std::map<int, int> inside, outside;
    std::mt19937 random(2);
    for (int round = 0; round < 20000; ++round) {
        const int key = static_cast<int>(random() % 500);
        const bool insert = random() % 2 == 0;
        __transaction_atomic {
            if (insert) {
                inside[key] = round;
            } else {
                inside.erase(key);
            }
        }
        if (insert) {
            outside[key] = round;
        } else {
            outside.erase(key);
        }
        if (round % 64 == 0) {
            ASSERT_EQ(inside, outside) << "round " << round;
        }
    }
    long sum = 0, backwards = 0;
    __transaction_atomic {
        for (const auto& each : inside) sum += each.first;
        for (auto each = inside.end(); each != inside.begin();) backwards += (--each)->first;
    }
    EXPECT_EQ(sum, backwards);
    // The library's own functions find the tree in order: it goes on with it.
    for (int key = 0; key < 500; ++key) {
        inside.erase(key);
        outside.erase(key);
        ASSERT_EQ(inside, outside);
    }
}

/// Black nodes on each path under `node`, or -1 where the paths differ or red stands under red.
int black_height(const std::_Rb_tree_node_base* node) {
    if (node == nullptr) return 1;
    const bool red = node->_M_color == std::_S_red;
    for (const auto* child : {node->_M_left, node->_M_right})
        if (child != nullptr && (child->_M_parent != node || (red && child->_M_color == std::_S_red))) return -1;
    const int left = black_height(node->_M_left);
    return left < 0 || left != black_height(node->_M_right) ? -1 : left + (red ? 0 : 1);
}

TEST(StandardContainers, MapStaysARedBlackTree) {
    std::set<int> set;
    std::mt19937 random(3);
    for (int round = 0; round < 5000; ++round) {
        const int key = static_cast<int>(random() % 200);
        __transaction_atomic {
            if (!set.insert(key).second) set.erase(key);
        }
        const auto* const header = set.end()._M_node;
        const auto* const root = header->_M_parent;
        if (root == nullptr) continue;
        ASSERT_EQ(root->_M_parent, header);
        ASSERT_EQ(root->_M_color, std::_S_black);
        ASSERT_GT(black_height(root), 0) << "round " << round;
        ASSERT_EQ(header->_M_left, set.begin()._M_node);
        ASSERT_EQ(header->_M_right, (--set.end())._M_node);
    }
}

TEST(StandardContainers, SetFindsBounds) {
    std::set<long> set;
    long below = 0, count = 0;
    __transaction_atomic {
        for (long each = 0; each < 100; each += 10) set.insert(each);
        below = *set.lower_bound(55);
        count = static_cast<long>(set.count(30) + set.size());
        set.erase(set.begin(), set.find(50));
    }
    EXPECT_EQ(below, 60);
    EXPECT_EQ(count, 11);
    EXPECT_EQ(set, (std::set<long>{50, 60, 70, 80, 90}));
}

// As the guide has it: an iterator of a deque is an object with a copy constructor, which a block cannot be given.
[[gnu::transaction_safe, gnu::noinline]] void insert_seven(std::deque<int>& to) {
    to.insert(to.begin() + 3 * (to.size() > 3), 7);
}

TEST(StandardContainers, DequeGrowsAtBothEnds) {
    std::deque<int> deque;
    std::queue<int> queue;
    for (int each = 0; each < 1000; ++each) __transaction_atomic {
            deque.push_back(each);
            deque.push_front(-each);
            if (each % 3 == 0) deque.pop_front();
            if (each % 10 == 0) insert_seven(deque);
            queue.push(each);
            if (each % 2 == 0) queue.pop();
        }
    EXPECT_EQ(deque.size(), 2000u - 334 + 100);
    EXPECT_EQ(deque.back(), 999);
    EXPECT_EQ(queue.size(), 500u);
    EXPECT_EQ(queue.front(), 500);
}

TEST(StandardContainers, ForwardListInsertsAndErases) {
    std::forward_list<int> list;
    for (int each = 0; each < 100; ++each) __transaction_atomic {
            list.push_front(each);
            if (each % 4 == 0) list.insert_after(list.begin(), 1000 + each);
            if (each % 5 == 0) list.erase_after(list.before_begin());
        }
    EXPECT_EQ(std::distance(list.begin(), list.end()), 100 + 25 - 20);
}

TEST(StandardContainers, PriorityQueueGivesTheLargest) {
    std::priority_queue<int> queue;
    int largest = 0;
    __transaction_atomic {
        for (int each = 0; each < 50; ++each) queue.push(each * 37 % 50);
        largest = queue.top();
        queue.pop();
    }
    EXPECT_EQ(largest, 49);
    EXPECT_EQ(queue.top(), 48);
    EXPECT_EQ(queue.size(), 49u);
}

TEST(StandardContainers, UniquePtrOwns) {
    std::unique_ptr<int> one, other;
    __transaction_atomic {
        one = std::make_unique<int>(5);
        other = std::move(one);
        one.reset(new int(*other + 1));
    }
    EXPECT_EQ(*one + *other, 11);
}

TEST(StandardContainers, ACancelTakesAContainersChangesBack) {
    std::map<int, std::vector<int>> map;
    for (int each = 0; each < 100; ++each) map[each].push_back(each);
    const auto before = map;
    __transaction_atomic {
        for (int each = 50; each < 150; ++each) map[each].push_back(1);
        map.erase(3);
        if (map.size() == 149) __transaction_cancel;
    }
    EXPECT_EQ(map, before);
}

TEST(StandardContainers, ThreadsShareAMap) {
    static std::map<int, long> map;
    map.clear();
    std::vector<std::thread> threads;
    for (int thread = 0; thread < 2; ++thread)
        threads.emplace_back([thread] {
            std::mt19937 random(static_cast<unsigned>(thread));
            for (int round = 0; round < 5000; ++round) {
                const int key = static_cast<int>(random() % 64);
                __transaction_atomic {
                    const auto found = map.find(key);
                    if (found != map.end() && found->second % 3 == 2) {
                        map.erase(found);
                        map[-1] += 3;
                    } else {
                        map[key] += 1;
                    }
                }
            }
        });
    for (std::thread& each : threads) each.join();
    long sum = 0;
    for (const auto& each : map) sum += each.second;
    // Each erasure of 2, counted as 3, is one round as each addition of 1 is.
    EXPECT_EQ(sum, 10000);
}

}  // namespace
}  // namespace holdfast::itm
