// Predicates against the same determinants, taken term by term of coordinates as they are.
#include <workload/plane.hpp>
#include <workload/random.hpp>

#include <gtest/gtest.h>

#include <algorithm>
#include <array>
#include <cmath>
#include <utility>

namespace holdfast::workload {
namespace {

/// The sum over all permutations. A term of the largest is below 2^120, and there are 24 of them.
template <std::size_t N>
wide_integer determinant(const std::array<std::array<wide_integer, N>, N>& rows) {
    std::array<std::size_t, N> order{};
    for (std::size_t i = 0; i < N; ++i) order[i] = i;
    wide_integer sum = 0;
    do {
        wide_integer term = 1;
        for (std::size_t i = 0; i < N; ++i) {
            term *= rows[i][order[i]];
            for (std::size_t k = 0; k < i; ++k) term = order[k] > order[i] ? -term : term;
        }
        sum += term;
    } while (std::next_permutation(order.begin(), order.end()));
    return sum;
}

wide_integer slow_area(const plane_point& a, const plane_point& b, const plane_point& c) {
    return determinant<3>({{{a.x, a.y, 1}, {b.x, b.y, 1}, {c.x, c.y, 1}}});
}
std::array<wide_integer, 4> lifted(const plane_point& a) { return {a.x, a.y, a.x * a.x + a.y * a.y, 1}; }
bool slow_is_in_circle(const plane_point& a, const plane_point& b, const plane_point& c, const plane_point& p) {
    return determinant<4>({{lifted(a), lifted(b), lifted(c), lifted(p)}}) > 0;
}

/// Of four points all over the square, some at its ends, or near to each other, so that many lie on a line or a circle.
class drawn_points {
public:
    explicit drawn_points(std::uint64_t seed) : numbers_(seed) {}

    std::array<plane_point, 4> next() {
        const std::uint64_t kind = numbers_.below(3);
        std::array<plane_point, 4> drawn{};
        for (plane_point& each : drawn) each = {coordinate(kind), coordinate(kind)};
        if (slow_area(drawn[0], drawn[1], drawn[2]) < 0) std::swap(drawn[1], drawn[2]);
        return drawn;
    }

private:
    std::int64_t coordinate(std::uint64_t kind) {
        const auto all = static_cast<std::uint64_t>(plane_side);
        if (kind == 0) return static_cast<std::int64_t>(numbers_.below(all + 1));
        if (kind == 1) return plane_side - static_cast<std::int64_t>(numbers_.below(6));
        return static_cast<std::int64_t>(numbers_.below(2) * (all - 1) + numbers_.below(2));
    }

    random numbers_;
};

TEST(Plane, AreasAreExact) {
    drawn_points points(1);
    for (int i = 0; i < 20'000; ++i) {
        const auto [a, b, c, p] = points.next();
        ASSERT_TRUE(doubled_area(a, b, c) == slow_area(a, b, c)) << i;
        ASSERT_TRUE(doubled_area(b, a, p) == slow_area(b, a, p)) << i;
        ASSERT_EQ(is_right_of(p, a, b), slow_area(a, b, p) < 0) << i;
    }
}

TEST(Plane, CirclesAreExact) {
    drawn_points points(2);
    int inside = 0, on = 0;
    for (int i = 0; i < 20'000; ++i) {
        const auto [a, b, c, p] = points.next();
        ASSERT_EQ(is_in_circle(a, b, c, p), slow_is_in_circle(a, b, c, p)) << i;
        inside += is_in_circle(a, b, c, p) ? 1 : 0;
        on += slow_area(a, b, c) > 0 && !slow_is_in_circle(a, b, c, p) && !slow_is_in_circle(a, c, b, p) ? 1 : 0;
    }
    EXPECT_GT(inside, 1000);
    EXPECT_GT(on, 1000);
}

TEST(Plane, APointSeesTheDiameterOfACircleThatItIsInUnderAnObtuseAngle) {
    const plane_point a{10, 10}, b{20, 10};
    EXPECT_TRUE(is_in_diametral_circle(a, b, {15, 14}));
    EXPECT_FALSE(is_in_diametral_circle(a, b, {15, 15}));
    EXPECT_FALSE(is_in_diametral_circle(a, b, {12, 14}));
    EXPECT_FALSE(is_in_diametral_circle(a, b, a));
}

TEST(Plane, ACentersDistancesFromAllCornersAreEqualButForRounding) {
    drawn_points points(3);
    int looked_at = 0;
    for (int i = 0; i < 20'000; ++i) {
        const auto [a, b, c, p] = points.next();
        if (slow_area(a, b, c) == 0) continue;
        const plane_point center = circle_center(a, b, c);
        const auto distance = [&](const plane_point& from) {
            return std::hypot(static_cast<long double>(from.x - center.x), static_cast<long double>(from.y - center.y));
        };
        // What is as far away as this is moved.
        if (distance(a) > 0x1p59L) continue;
        const long double rounding = 3 + distance(a) * 0x1p-60L;
        ASSERT_LE(std::fabs(distance(a) - distance(b)), rounding) << i;
        ASSERT_LE(std::fabs(distance(a) - distance(c)), rounding) << i;
        ++looked_at;
    }
    EXPECT_GT(looked_at, 10'000);
}

/// Of the flattest triangle there is, which has its obtuse angle in the middle.
TEST(Plane, ACenterThatIsTooFarAwayIsMovedInItsDirection) {
    constexpr std::int64_t end = plane_side;
    ASSERT_EQ(doubled_area({0, 0}, {end, 2}, {end / 2, 1}), 1);
    const plane_point center = circle_center({0, 0}, {end, 2}, {end / 2, 1});
    EXPECT_GE(center.y, -far_away);
    EXPECT_LT(center.y, -far_away / 4);
    // It is at a right angle to the longest side, but for the distance from the side's middle to the first corner.
    const wide_integer along = static_cast<wide_integer>(center.x) * end + center.y * 2;
    EXPECT_TRUE(along < std::int64_t{1} << 34 && along > -(std::int64_t{1} << 34));
}

TEST(Plane, TheSmallestSineIsThatOfTheSmallestAngle) {
    drawn_points points(4);
    for (int i = 0; i < 20'000; ++i) {
        const auto [a, b, c, p] = points.next();
        if (slow_area(a, b, c) == 0) continue;
        const auto angle = [](const plane_point& at, const plane_point& from, const plane_point& to) {
            return std::fabs(std::remainder(std::atan2(static_cast<long double>(to.y - at.y), to.x - at.x) -
                                                std::atan2(static_cast<long double>(from.y - at.y), from.x - at.x),
                                            2 * std::acos(-1.0L)));
        };
        const long double smallest = std::sin(std::min({angle(a, b, c), angle(b, c, a), angle(c, a, b)}));
        const double found = squared_smallest_sine(a, b, c);
        ASSERT_LE(std::fabs(std::sqrt(static_cast<long double>(found)) - smallest), 1e-15L) << i;
    }
}

TEST(Plane, AMiddleOfASideOfTheSquareIsOnIt) {
    EXPECT_EQ(middle_of({plane_side, 1}, {plane_side, 4}), (plane_point{plane_side, 2}));
    EXPECT_EQ(middle_of({7, 0}, {0, 0}), (plane_point{3, 0}));
}

TEST(Plane, APointIsTheSameOnceUnpacked) {
    for (const plane_point& each : {plane_point{0, plane_side}, plane_point{plane_side, 0}, plane_point{1, 2}})
        EXPECT_EQ(unpack(pack(each)), each);
}

}  // namespace
}  // namespace holdfast::workload
