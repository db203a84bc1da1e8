// What the compiler accepts; container/refused_types.cc has what it refuses.
#include <holdfast/engine/lives_in_pool.hpp>
#include <holdfast/engine/redo.hpp>

#include <gtest/gtest.h>

#include <array>
#include <bitset>
#include <chrono>
#include <complex>
#include <cstdint>
#include <optional>
#include <tuple>
#include <utility>
#include <variant>

namespace holdfast {
namespace {

using detail::can_live;
using detail::held_as;
template <class T>
using field = redo::field<T>;

struct incomplete;
enum class kind : std::uint8_t { first };
struct empty {};

struct value {
    int number;
    unsigned three_bits : 3, five_bits : 5;
    char name[256];
    value* next;
    incomplete* other;
    kind of;
    std::chrono::seconds time;
    std::array<int, 4> four;
    std::optional<int> perhaps;
    std::bitset<70> bits;
    std::complex<double> complex;
    std::variant<int, kind> either;
    std::pair<int, long> unusual[2];
};
class with_private_members {
public:
    explicit with_private_members(int number) : number_(number) {}
    int get() const { return number_; }

private:
    int number_;
};
struct large {
    std::array<long, 1000> numbers;
    long matrix[20][20];
};
struct holds_private {
    with_private_members one{1};
    int two = 2;
};

TEST(LivesInPool, AValueMayBeWhateverMeansTheSameToTheNextProcess) {
    static_assert(std::is_same_v<detail::members_of<large>, detail::member_list<std::array<long, 1000>, long[20][20]>>);
    static_assert(can_live<int, held_as::value> && can_live<bool, held_as::value> && can_live<kind, held_as::value>);
    static_assert(can_live<incomplete*, held_as::value> && can_live<const void*, held_as::value>);
    static_assert(can_live<int value::*, held_as::value>, "the place of a member is a number");
    static_assert(can_live<large, held_as::value> && can_live<holds_private, held_as::value>);
    static_assert(can_live<with_private_members, held_as::value> && can_live<empty, held_as::value>);
    static_assert(can_live<std::tuple<int, kind>, held_as::value>);
    static_assert(can_live<outside_pointer<const char>, held_as::value>);
    SUCCEED();
}

struct node {
    field<node*> next;
    field<long> values[4];
    empty tag;
    padding<40> apart;
};
struct tree {
    node first;
    std::array<node, 2> more;
    std::pair<field<int>, node> both;
    std::tuple<field<int>, node, empty> three;
    const field<int> kept;
};
struct derived : node {
    field<int> last;
};
class with_constructor {
public:
    explicit with_constructor(int number) { number_ = number; }

private:
    field<int> number_;
};
struct reserved {
    unsigned char plain[8];
    field<int> number;
};
}  // namespace

template <>
inline constexpr bool lives_in_pool<reserved> = true;

namespace {

struct holds_reserved {
    field<int> number;
    reserved rest[3];
};

TEST(LivesInPool, AnObjectIsMadeOfFieldsAndOfWhatIsMadeOfThem) {
    static_assert(can_live<field<int>, held_as::object> && can_live<node, held_as::object>);
    static_assert(can_live<tree, held_as::object> && can_live<derived, held_as::object>);
    static_assert(can_live<with_constructor, held_as::object> && can_live<empty, held_as::object>);
    static_assert(can_live<reserved, held_as::object> && can_live<holds_reserved, held_as::object>);
    SUCCEED();
}

}  // namespace
}  // namespace holdfast
