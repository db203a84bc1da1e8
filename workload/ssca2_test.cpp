#include <workload/places_test.hpp>
#include <workload/ssca2_kernels.hpp>

#include <holdfast/engine/redo.hpp>
#include <holdfast/engine/volatile_only.hpp>

#include <gtest/gtest.h>

#include <algorithm>
#include <map>
#include <mutex>
#include <set>
#include <vector>

namespace holdfast::workload {
namespace {

constexpr std::uint64_t scale = 7, vertices = 1 << scale;

struct one_lock {
    std::mutex& of_vertex(std::uint64_t) { return all; }
    std::mutex& of_large() { return all; }
    std::mutex all;
};

template <class Place>
class Ssca2 : public ::testing::Test {
protected:
    using access_type = typename Place::access_type;

    void SetUp() override { ASSERT_TRUE(graph.create(scale)); }

    void add(const weighted_edge& edge, std::uint64_t value) {
        ASSERT_TRUE(memory.atomically([&] { graph.add_edge(edge, value); }));
        model.push_back(edge);
    }
    void build(std::uint64_t seed, std::uint64_t edges) {
        const rmat_generator generator(seed, scale);
        for (std::uint64_t i = 0; i < edges; ++i) add(generator.edge(i), i);
    }
    std::set<std::uint64_t> within(std::uint64_t source, int edges) const {
        std::set<std::uint64_t> reached{source};
        for (; edges > 0; --edges) {
            const std::set<std::uint64_t> before = reached;
            for (const weighted_edge& each : model) {
                if (before.contains(each.from)) reached.insert(each.to);
            }
        }
        return reached;
    }

    Place place;
    access_type memory = place.access();
    ssca2_root* root = place.template make_root<ssca2_root>();
    ssca2_graph<access_type> graph{memory, root};
    one_lock locks;
    ssca2_kernels<access_type, one_lock> kernels{memory, root, locks};
    std::vector<std::uint64_t> words = std::vector<std::uint64_t>(ssca2_scratch::words_per_vertex * vertices);
    ssca2_scratch scratch{words.data(), vertices};
    std::vector<weighted_edge> model;
};

using ssca2_places = ::testing::Types<plain_place, pool_place<volatile_only>, pool_place<redo>>;
TYPED_TEST_SUITE(Ssca2, ssca2_places);

TYPED_TEST(Ssca2, Kernel1HoldsTheEdgesThatAModelHolds) {
    const std::int64_t blocks = this->place.live_blocks();
    const rmat_generator generator(5, scale);
    std::multimap<std::uint64_t, std::uint64_t> expected;  // what edges keep, by the edge as one number
    const auto as_number = [](const weighted_edge& at) { return (at.from * vertices + at.to) * 256 + at.weight; };
    random numbers(1);
    for (std::uint64_t i = 0; i < 4000; ++i) {
        const bool grows = i < 2000;
        const std::uint64_t index = numbers.below(3000);
        const weighted_edge edge = generator.edge(index);
        const auto found = expected.find(as_number(edge));
        if (grows || numbers.below(4) == 0) {
            this->add(edge, index);
            expected.emplace(as_number(edge), index);
        } else {
            std::uint64_t value = 0;
            bool removed = false;
            ASSERT_TRUE(this->memory.atomically([&] { removed = this->graph.remove_edge(edge, value); }));
            ASSERT_EQ(removed, found != expected.end());
            if (!removed) continue;
            EXPECT_EQ(value, found->second) << "the oldest";
            expected.erase(found);
        }
        if (i % 64 != 0) continue;
        const check_report report = this->graph.check();
        ASSERT_TRUE(report.ok()) << report.problem;
        ASSERT_EQ(report.count, expected.size());
    }
    std::multimap<std::uint64_t, std::uint64_t> held;
    for (std::uint64_t from = 0; from < vertices; ++from) {
        this->graph.each_edge(from, [&](std::uint64_t to, std::uint64_t weight, std::uint64_t value) {
            held.emplace(as_number({from, to, weight}), value);
        });
    }
    EXPECT_EQ(held, expected) << "equal edges oldest first";
    EXPECT_EQ(this->place.live_blocks() - blocks, static_cast<std::int64_t>(expected.size()));
}

TYPED_TEST(Ssca2, Kernel2KeepsExactlyTheEdgesOfTheLargestWeight) {
    this->build(3, 1000);
    const std::uint64_t largest =
        std::max(this->kernels.largest_weight(0, 50), this->kernels.largest_weight(50, vertices));
    ASSERT_TRUE(this->kernels.classify(0, 50, largest));
    ASSERT_TRUE(this->kernels.classify(50, vertices, largest));
    std::multiset<std::pair<std::uint64_t, std::uint64_t>> expected, found;
    for (const weighted_edge& each : this->model) {
        EXPECT_LE(each.weight, largest);
        if (each.weight == largest) expected.emplace(each.from, each.to);
    }
    for (auto* at = this->kernels.large(); at != nullptr; at = this->kernels.next(at)) found.emplace(at->from, at->to);
    EXPECT_GT(expected.size(), 1u);
    EXPECT_EQ(found, expected);
}

TYPED_TEST(Ssca2, Kernel3MarksWhatThreeEdgesReach) {
    this->build(3, 300);
    const std::int64_t blocks = this->place.live_blocks();
    const std::uint64_t largest = this->kernels.largest_weight(0, vertices);
    ASSERT_TRUE(this->kernels.classify(0, vertices, largest));
    for (auto* at = this->kernels.large(); at != nullptr; at = this->kernels.next(at)) {
        ASSERT_TRUE(this->kernels.extract(at, this->scratch));
        std::set<std::uint64_t> expected = this->within(at->to, 2);
        expected.insert(at->from);
        for (std::uint64_t vertex = 0; vertex < vertices; ++vertex) {
            const bool marked = (this->kernels.subgraphs_of(vertex) >> at->number & 1) != 0;
            ASSERT_EQ(marked, expected.contains(vertex)) << vertex;
        }
        EXPECT_LT(expected.size(), vertices) << "else nothing is shown";
    }
    ASSERT_TRUE(this->kernels.clear());
    EXPECT_EQ(this->place.live_blocks(), blocks);
    for (std::uint64_t vertex = 0; vertex < vertices; ++vertex) ASSERT_EQ(this->kernels.subgraphs_of(vertex), 0u);
}

/// Counts shortest paths by their definition: those from s to t through v are those to v times those from v.
std::vector<double> betweenness_by_definition(const std::vector<weighted_edge>& edges) {
    constexpr std::uint64_t far = 1000;
    std::vector<std::vector<std::uint64_t>> distance(vertices, std::vector<std::uint64_t>(vertices, far));
    std::vector<std::vector<double>> paths(vertices, std::vector<double>(vertices, 0));
    for (std::uint64_t source = 0; source < vertices; ++source) {
        distance[source][source] = 0;
        paths[source][source] = 1;
        for (std::uint64_t away = 0; away < vertices; ++away) {
            for (const weighted_edge& each : edges) {
                if (each.weight % 8 == 0 || distance[source][each.from] != away) continue;
                if (distance[source][each.to] == far) distance[source][each.to] = away + 1;
                if (distance[source][each.to] == away + 1) paths[source][each.to] += paths[source][each.from];
            }
        }
    }
    std::vector<double> found(vertices, 0);
    for (std::uint64_t v = 0; v < vertices; ++v) {
        for (std::uint64_t s = 0; s < vertices; ++s) {
            for (std::uint64_t t = 0; t < vertices; ++t) {
                if (s == v || t == v || s == t || distance[s][t] == far) continue;
                if (distance[s][v] + distance[v][t] != distance[s][t]) continue;
                found[v] += paths[s][v] * paths[v][t] / paths[s][t];
            }
        }
    }
    return found;
}

TYPED_TEST(Ssca2, Kernel4ComputesBetweennessCentralityFromAllSources) {
    this->build(9, 700);
    for (std::uint64_t source = 0; source < vertices; ++source) {
        ASSERT_TRUE(this->kernels.add_scores(source, this->scratch));
    }
    const std::vector<double> expected = betweenness_by_definition(this->model);
    EXPECT_GT(*std::max_element(expected.begin(), expected.end()), 100);
    for (std::uint64_t vertex = 0; vertex < vertices; ++vertex) {
        const double score = static_cast<double>(this->kernels.score_of(vertex)) / ssca2_score_unit;
        ASSERT_NEAR(score, expected[vertex], 0.05) << vertex << ": rounding only";
    }
}

TEST(Rmat, GivesAFewVerticesManyEdges) {
    const rmat_generator generator(1, 10);
    std::vector<std::uint64_t> degree(1 << 10);
    for (std::uint64_t i = 0; i < 8 << 10; ++i) {
        const weighted_edge edge = generator.edge(i);
        ASSERT_LT(edge.to, 1u << 10);
        ASSERT_TRUE(edge.weight >= 1 && edge.weight <= 1u << 10);
        ++degree.at(edge.from);
    }
    std::sort(degree.rbegin(), degree.rend());
    EXPECT_GT(degree[0], 8 * 10u) << "uniform edges would give 8 each";
    // A vertex is chosen with 0.65^zeros · 0.35^ones: the top one gets 0.65^10 = 1.3 % of all.
    EXPECT_NEAR(static_cast<double>(degree[0]), 8192 * 0.0135, 50);
    EXPECT_EQ(degree.back(), 0u);
}

TEST(Rmat, PermutesAllVerticesAndDependsOnItsSeedOnly) {
    std::set<std::uint64_t> seen;
    const rmat_generator generator(2, 6);
    for (std::uint64_t i = 0; i < 100'000; ++i) seen.insert(generator.edge(i).to);
    EXPECT_EQ(seen.size(), 64u);
    EXPECT_EQ(generator.edge(7).weight, rmat_generator(2, 6).edge(7).weight);
    EXPECT_NE(generator.edge(7).weight, rmat_generator(3, 6).edge(7).weight);
}

}  // namespace
}  // namespace holdfast::workload
