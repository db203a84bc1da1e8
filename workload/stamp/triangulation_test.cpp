// The triangulation that yada begins with and refines, and the census that finds out whether one is right.
#include <workload/conflicting_access_test.hpp>
#include <workload/gen/planar_points.hpp>
#include <workload/plain_access_test.hpp>
#include <workload/stamp/mesh_census.hpp>
#include <workload/stamp/run_test.hpp>
#include <workload/stamp/yada.hpp>

#include <gtest/gtest.h>

#include <cmath>
#include <set>
#include <string>
#include <utility>

namespace holdfast::workload {
namespace {

/// A triangulation with the points that were added to it.
class tested_mesh {
public:
    tested_mesh() {
        mesh.create();
        near = mesh.entrance();
        for (const std::int64_t x : {std::int64_t{0}, plane_side})
            for (const std::int64_t y : {std::int64_t{0}, plane_side}) points.insert(pack({x, y}));
    }
    ~tested_mesh() {
        const auto all = census();
        for (std::uint64_t i = 0; i < all.count(); ++i) memory.free(all[i]);
        EXPECT_EQ(home.live_blocks, 0) << "blocks were lost";
    }
    tested_mesh(const tested_mesh&) = delete;
    tested_mesh& operator=(const tested_mesh&) = delete;

    mesh_census<test::plain_access> census() const { return {memory, mesh.entrance()}; }

    void add(const plane_point& p) {
        near = mesh.add(near, p, cavity[0]);
        points.insert(pack(p));
    }

    /// That there is each point, and none inside the circle of a triangle; and what a census checks.
    void expect_delaunay() const {
        const auto all = census();
        const check_report report = all.check(0);
        ASSERT_EQ(report.problem, nullptr) << report.count;
        ASSERT_EQ(all.corners(), points.size());
        std::set<packed_point> seen;
        for (std::uint64_t i = 0; i < all.count(); ++i)
            for (unsigned k = 0; k < 3; ++k) seen.insert(pack(all.corner(i, k)));
        ASSERT_EQ(seen, points);
        for (std::uint64_t i = 0; i < all.count(); ++i)
            for (const packed_point each : points)
                ASSERT_FALSE(is_in_circle(all.corner(i, 0), all.corner(i, 1), all.corner(i, 2), unpack(each)));
    }

    test::plain_memory home;
    test::plain_access memory{home};
    triangulation_root root{};
    triangulation<test::plain_access> mesh{memory, &root};
    private_array<mesh_cavity<>> cavity{1};
    mesh_triangle* near = nullptr;
    std::set<packed_point> points;
};

/// A coordinate: one of `steps` + 1, which are as far apart as can be.
std::int64_t draw(random& numbers, std::uint64_t steps) {
    return static_cast<std::int64_t>(numbers.below(steps + 1) * static_cast<std::uint64_t>(plane_side) / steps);
}

TEST(Triangulation, NoPointIsInsideTheCircleOfATriangle) {
    for (std::uint64_t seed = 1; seed <= 5; ++seed) {
        tested_mesh tested;
        random numbers(seed);
        for (int i = 0; i < 100; ++i) tested.add({draw(numbers, 1u << 30), draw(numbers, 1u << 30)});
        const ::testing::ScopedTrace trace(__FILE__, __LINE__, std::to_string(seed));
        tested.expect_delaunay();
    }
}

TEST(Triangulation, PointsMayLieOnLinesAndCirclesAndOnTheBorder) {
    for (std::uint64_t seed = 1; seed <= 5; ++seed) {
        tested_mesh tested;
        random numbers(seed);
        for (int i = 0; i < 200; ++i) tested.add({draw(numbers, 9), draw(numbers, 9)});
        EXPECT_GT(tested.points.size(), 80u);
        const ::testing::ScopedTrace trace(__FILE__, __LINE__, std::to_string(seed));
        tested.expect_delaunay();
    }
}

TEST(Triangulation, APointIsAddedOnce) {
    tested_mesh tested;
    tested.add({100, 200});
    const std::uint64_t before = tested.census().count();
    tested.add({100, 200});
    tested.add({0, plane_side});
    EXPECT_EQ(tested.census().count(), before);
    tested.expect_delaunay();
}

TEST(Triangulation, AWayOutOfTheSquareEndsAtASideInBetween) {
    tested_mesh tested;
    random numbers(1);
    for (int i = 0; i < 50; ++i) tested.add({draw(numbers, 100), draw(numbers, 100)});
    constexpr plane_point outside[]{{7, -1}, {far_away, plane_side / 2}, {-far_away, 5}, {9, plane_side + 1}};
    for (const plane_point& p : outside) {
        mesh_triangle* at = tested.mesh.entrance();
        unsigned side = 0;
        ASSERT_FALSE(tested.mesh.walk(at, side, p));
        EXPECT_EQ(at->beside[side], nullptr);
        const plane_point from = tested.mesh.corner(at, side_after(side));
        EXPECT_TRUE(is_right_of(p, from, tested.mesh.corner(at, side_before(side))));
    }
}

/// The center of a circle with a corner more than a cavity has room for.
TEST(Triangulation, ACavityThatIsTooLargeIsRefused) {
    tested_mesh tested;
    constexpr std::int64_t middle = plane_side / 2;
    constexpr int corners = mesh_cavity<>::triangles_max + 3;
    for (int i = 0; i < corners; ++i) {
        const double angle = 6.2831853 * i / corners;
        tested.add({middle + std::lround(std::cos(angle) * 4e8), middle + std::lround(std::sin(angle) * 4e8)});
    }
    mesh_triangle* at = tested.near;
    unsigned side = 0;
    ASSERT_TRUE(tested.mesh.walk(at, side, {middle, middle}));
    EXPECT_FALSE(tested.mesh.dig(at, pack({middle, middle}), tested.cavity[0]));
    tested.expect_delaunay();
}

TEST(PlanarPoints, AreAllOverTheSquareAndAboutAsManyAsAskedFor) {
    for (const std::uint64_t wanted : {1u, 633u, 10'000u}) {
        std::uint64_t count = 0, parts[4]{};
        planar_points(1, wanted).each([&](const plane_point& p) {
            ++count;
            ASSERT_TRUE(p.x > 0 && p.y > 0 && p.x < plane_side && p.y < plane_side);
            ASSERT_EQ((p.x | p.y) % planar_points::spacing, 0);
            ++parts[(p.x > plane_side / 2 ? 1u : 0u) + (p.y > plane_side / 2 ? 2u : 0u)];
        });
        EXPECT_NEAR(static_cast<double>(count), static_cast<double>(wanted), 0.1 * static_cast<double>(wanted));
        if (wanted == 1) continue;
        for (const std::uint64_t part : parts) EXPECT_GT(5 * part, count);
    }
}

TEST(PlanarPoints, AnotherSeedHasOtherPoints) {
    std::set<packed_point> points;
    for (const std::uint64_t seed : {1u, 2u})
        planar_points(seed, 100).each([&](const plane_point& p) { points.insert(pack(p)); });
    EXPECT_GT(points.size(), 150u);
}

TEST(MeshCensus, FindsWhatIsWrong) {
    tested_mesh tested;
    planar_points(1, 50).each([&](const plane_point& p) { tested.add(p); });
    const auto problem = [&](double squared_sine = 0) {
        const char* const found = tested.census().check(squared_sine).problem;
        return std::string(found == nullptr ? "" : found);
    };
    EXPECT_EQ(problem(), "");
    EXPECT_EQ(problem(0.5), "an angle is too small");
    mesh_triangle* const any = tested.mesh.entrance();
    const mesh_triangle before = *any;
    std::swap(any->corners[0], any->corners[1]);
    EXPECT_EQ(problem(), "a triangle turns the wrong way");
    *any = before;
    std::swap(any->beside[0], any->beside[1]);
    EXPECT_EQ(problem(), "two triangles do not share a side");
    *any = before;
    const plane_point corner = tested.mesh.corner(any, 0);
    any->corners[0] = pack({corner.x + 1, corner.y + 1});
    EXPECT_EQ(problem(), "two triangles do not share a side");
    *any = before;
    EXPECT_EQ(problem(), "");
}

/// Runs yada over ordinary memory, whose check must find nothing, and calls f(the mesh).
template <class F>
void refined(const yada_parameters& given, F&& f) {
    test::plain_memory home;
    const test::plain_access memory(home);
    yada_root root{};
    yada_program<test::plain_access> program(memory, &root, given);
    ASSERT_TRUE(program.begin(1));
    test::work_on_threads(program, 1);
    ASSERT_EQ(program.check().problem, nullptr);
    EXPECT_GT(program.units(), 0u);
    f(mesh_census<test::plain_access>(memory, root.mesh.entrance));
    EXPECT_TRUE(program.end());
    EXPECT_EQ(home.live_blocks, 0) << "blocks were lost";
}

/// The least angle at which Ruppert's proof holds, and inputs of all sizes.
TEST(Yada, AnglesAreKeptAndTheMeshIsDelaunayForManySeeds) {
    for (std::uint64_t seed = 1; seed <= 20; ++seed)
        refined({.angle_degrees = 20.7, .points = 10 * seed, .seed = seed}, [&](const auto& all) {
            for (std::uint64_t i = 0; i < all.count(); ++i)
                for (const mesh_triangle* const other : all[i]->beside)
                    for (unsigned k = 0; k < 3 && other != nullptr; ++k)
                        ASSERT_FALSE(is_in_circle(all.corner(i, 0), all.corner(i, 1), all.corner(i, 2),
                                                  unpack(other->corners[k])))
                            << seed;
        });
}

TEST(Yada, NoCornerIsTooNearToTheBorder) {
    refined({.points = 200}, [](const auto& all) {
        std::set<packed_point> corners;
        for (std::uint64_t i = 0; i < all.count(); ++i)
            for (unsigned k = 0; k < 3; ++k) corners.insert(pack(all.corner(i, k)));
        std::uint64_t sides = 0;
        for (std::uint64_t i = 0; i < all.count(); ++i)
            for (unsigned k = 0; k < 3; ++k) {
                if (all[i]->beside[k] != nullptr) continue;
                ++sides;
                for (const packed_point each : corners)
                    ASSERT_FALSE(is_in_diametral_circle(all.corner(i, side_after(k)), all.corner(i, side_before(k)),
                                                        unpack(each)));
            }
        EXPECT_GT(sides, 20u);
    });
}

/// One thread of a run that may fail.
struct no_barrier {
    void arrive_and_wait() const {}
};

TEST(Yada, ARunThatFailedIsTakenAwayWhole) {
    for (std::uint64_t failing = 1; failing < 300; failing += 7) {
        test::plain_memory home;
        test::conflicts how;
        yada_root root{};
        yada_program<test::conflicting_access> program(test::conflicting_access(home, how), &root, {.points = 100});
        ASSERT_TRUE(program.begin(1));
        how.fails = how.begun + failing;
        no_barrier alone;
        stamp_thread<no_barrier> me(0, 1, alone);
        program.work(me);
        ASSERT_TRUE(me.failed());
        EXPECT_TRUE(program.end());
        EXPECT_EQ(home.live_blocks, 0) << "blocks were lost, transaction " << failing << " failed";
        test::expect_untouched(&root, sizeof(root));
    }
}

TEST(Yada, ABeginningThatFailedLeavesNothing) {
    std::uint64_t failing = 0;
    for (bool begun = false; !begun; ++failing) {
        test::plain_memory home;
        test::conflicts how;
        yada_root root{};
        yada_program<test::conflicting_access> program(test::conflicting_access(home, how), &root, {.points = 100});
        how.fails = failing + 1;
        begun = program.begin(1);
        how.fails = 0;
        EXPECT_TRUE(!begun || program.end());
        EXPECT_EQ(home.live_blocks, 0) << "blocks were lost, transaction " << failing << " failed";
        test::expect_untouched(&root, sizeof(root));
    }
    EXPECT_GT(failing, 9u);
}

/// So that rounding of their coordinates does not matter.
TEST(Yada, CornersAreAThousandUnitsApart) {
    refined({.points = 5000}, [](const auto& all) {
        for (std::uint64_t i = 0; i < all.count(); ++i)
            for (unsigned k = 0; k < 3; ++k)
                ASSERT_GT(squared_length(all.corner(i, k), all.corner(i, side_after(k))), 1'000'000);
    });
}

}  // namespace
}  // namespace holdfast::workload
