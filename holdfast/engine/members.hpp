// The members of an aggregate, found by the compiler: as many as the names that a structured binding takes.
#pragma once

#include <cstddef>
#include <type_traits>
#include <utility>

namespace holdfast::detail {

template <class... Members>
struct member_list {
    static constexpr std::size_t count = sizeof...(Members);
};

/// Converts to the bases of T, and to nothing else.
template <class T>
struct any_base_of {
    template <class Base>
        requires(std::is_base_of_v<Base, T> && !std::is_same_v<Base, T>)
    operator Base() const;
};

/// Whether T is an aggregate with a base: a structured binding may not be able to name its members.
template <class T>
concept has_base = requires { T{any_base_of<T>{}}; };

/// Stands for the members of a T that nobody can look into: more than most_members, or one that `{}` does not make.
struct unseen_members {};

inline constexpr std::size_t most_members = 48;

template <class... Members>
constexpr member_list<Members...> list_of(const Members&...) {
    return {};
}

#define HOLDFAST_BRACES(number) {}
#define HOLDFAST_NAME(number) member_##number

// HOLDFAST_LIST_n(item) is item(1), ..., item(n).
#define HOLDFAST_LIST_1(item) item(1)
#define HOLDFAST_LIST_2(item) HOLDFAST_LIST_1(item), item(2)
#define HOLDFAST_LIST_3(item) HOLDFAST_LIST_2(item), item(3)
#define HOLDFAST_LIST_4(item) HOLDFAST_LIST_3(item), item(4)
#define HOLDFAST_LIST_5(item) HOLDFAST_LIST_4(item), item(5)
#define HOLDFAST_LIST_6(item) HOLDFAST_LIST_5(item), item(6)
#define HOLDFAST_LIST_7(item) HOLDFAST_LIST_6(item), item(7)
#define HOLDFAST_LIST_8(item) HOLDFAST_LIST_7(item), item(8)
#define HOLDFAST_LIST_9(item) HOLDFAST_LIST_8(item), item(9)
#define HOLDFAST_LIST_10(item) HOLDFAST_LIST_9(item), item(10)
#define HOLDFAST_LIST_11(item) HOLDFAST_LIST_10(item), item(11)
#define HOLDFAST_LIST_12(item) HOLDFAST_LIST_11(item), item(12)
#define HOLDFAST_LIST_13(item) HOLDFAST_LIST_12(item), item(13)
#define HOLDFAST_LIST_14(item) HOLDFAST_LIST_13(item), item(14)
#define HOLDFAST_LIST_15(item) HOLDFAST_LIST_14(item), item(15)
#define HOLDFAST_LIST_16(item) HOLDFAST_LIST_15(item), item(16)
#define HOLDFAST_LIST_17(item) HOLDFAST_LIST_16(item), item(17)
#define HOLDFAST_LIST_18(item) HOLDFAST_LIST_17(item), item(18)
#define HOLDFAST_LIST_19(item) HOLDFAST_LIST_18(item), item(19)
#define HOLDFAST_LIST_20(item) HOLDFAST_LIST_19(item), item(20)
#define HOLDFAST_LIST_21(item) HOLDFAST_LIST_20(item), item(21)
#define HOLDFAST_LIST_22(item) HOLDFAST_LIST_21(item), item(22)
#define HOLDFAST_LIST_23(item) HOLDFAST_LIST_22(item), item(23)
#define HOLDFAST_LIST_24(item) HOLDFAST_LIST_23(item), item(24)
#define HOLDFAST_LIST_25(item) HOLDFAST_LIST_24(item), item(25)
#define HOLDFAST_LIST_26(item) HOLDFAST_LIST_25(item), item(26)
#define HOLDFAST_LIST_27(item) HOLDFAST_LIST_26(item), item(27)
#define HOLDFAST_LIST_28(item) HOLDFAST_LIST_27(item), item(28)
#define HOLDFAST_LIST_29(item) HOLDFAST_LIST_28(item), item(29)
#define HOLDFAST_LIST_30(item) HOLDFAST_LIST_29(item), item(30)
#define HOLDFAST_LIST_31(item) HOLDFAST_LIST_30(item), item(31)
#define HOLDFAST_LIST_32(item) HOLDFAST_LIST_31(item), item(32)
#define HOLDFAST_LIST_33(item) HOLDFAST_LIST_32(item), item(33)
#define HOLDFAST_LIST_34(item) HOLDFAST_LIST_33(item), item(34)
#define HOLDFAST_LIST_35(item) HOLDFAST_LIST_34(item), item(35)
#define HOLDFAST_LIST_36(item) HOLDFAST_LIST_35(item), item(36)
#define HOLDFAST_LIST_37(item) HOLDFAST_LIST_36(item), item(37)
#define HOLDFAST_LIST_38(item) HOLDFAST_LIST_37(item), item(38)
#define HOLDFAST_LIST_39(item) HOLDFAST_LIST_38(item), item(39)
#define HOLDFAST_LIST_40(item) HOLDFAST_LIST_39(item), item(40)
#define HOLDFAST_LIST_41(item) HOLDFAST_LIST_40(item), item(41)
#define HOLDFAST_LIST_42(item) HOLDFAST_LIST_41(item), item(42)
#define HOLDFAST_LIST_43(item) HOLDFAST_LIST_42(item), item(43)
#define HOLDFAST_LIST_44(item) HOLDFAST_LIST_43(item), item(44)
#define HOLDFAST_LIST_45(item) HOLDFAST_LIST_44(item), item(45)
#define HOLDFAST_LIST_46(item) HOLDFAST_LIST_45(item), item(46)
#define HOLDFAST_LIST_47(item) HOLDFAST_LIST_46(item), item(47)
#define HOLDFAST_LIST_48(item) HOLDFAST_LIST_47(item), item(48)
#define HOLDFAST_LIST_49(item) HOLDFAST_LIST_48(item), item(49)

#define HOLDFAST_IF_MEMBERS(number)                                           \
    if constexpr (requires { T{HOLDFAST_LIST_##number(HOLDFAST_BRACES)}; }) { \
        auto& [HOLDFAST_LIST_##number(HOLDFAST_NAME)] = object;               \
        return list_of(HOLDFAST_LIST_##number(HOLDFAST_NAME));                \
    } else

/// What members_of is made of; its body is only looked at for its type.
template <class T>
constexpr auto bind_members(T& object) {
    if constexpr (requires { T{HOLDFAST_LIST_49(HOLDFAST_BRACES)}; }) {
        return unseen_members{};
    } else
        HOLDFAST_IF_MEMBERS(48) HOLDFAST_IF_MEMBERS(47) HOLDFAST_IF_MEMBERS(46) HOLDFAST_IF_MEMBERS(45)
        HOLDFAST_IF_MEMBERS(44) HOLDFAST_IF_MEMBERS(43) HOLDFAST_IF_MEMBERS(42) HOLDFAST_IF_MEMBERS(41)
        HOLDFAST_IF_MEMBERS(40) HOLDFAST_IF_MEMBERS(39) HOLDFAST_IF_MEMBERS(38) HOLDFAST_IF_MEMBERS(37)
        HOLDFAST_IF_MEMBERS(36) HOLDFAST_IF_MEMBERS(35) HOLDFAST_IF_MEMBERS(34) HOLDFAST_IF_MEMBERS(33)
        HOLDFAST_IF_MEMBERS(32) HOLDFAST_IF_MEMBERS(31) HOLDFAST_IF_MEMBERS(30) HOLDFAST_IF_MEMBERS(29)
        HOLDFAST_IF_MEMBERS(28) HOLDFAST_IF_MEMBERS(27) HOLDFAST_IF_MEMBERS(26) HOLDFAST_IF_MEMBERS(25)
        HOLDFAST_IF_MEMBERS(24) HOLDFAST_IF_MEMBERS(23) HOLDFAST_IF_MEMBERS(22) HOLDFAST_IF_MEMBERS(21)
        HOLDFAST_IF_MEMBERS(20) HOLDFAST_IF_MEMBERS(19) HOLDFAST_IF_MEMBERS(18) HOLDFAST_IF_MEMBERS(17)
        HOLDFAST_IF_MEMBERS(16) HOLDFAST_IF_MEMBERS(15) HOLDFAST_IF_MEMBERS(14) HOLDFAST_IF_MEMBERS(13)
        HOLDFAST_IF_MEMBERS(12) HOLDFAST_IF_MEMBERS(11) HOLDFAST_IF_MEMBERS(10) HOLDFAST_IF_MEMBERS(9)
        HOLDFAST_IF_MEMBERS(8) HOLDFAST_IF_MEMBERS(7) HOLDFAST_IF_MEMBERS(6) HOLDFAST_IF_MEMBERS(5)
        HOLDFAST_IF_MEMBERS(4) HOLDFAST_IF_MEMBERS(3) HOLDFAST_IF_MEMBERS(2) HOLDFAST_IF_MEMBERS(1)
        return unseen_members{};
}

#undef HOLDFAST_IF_MEMBERS
#undef HOLDFAST_BRACES
#undef HOLDFAST_NAME

/// member_list<...> of an aggregate without bases, or unseen_members. An empty class has the empty list.
template <class T>
struct members {
    using type = decltype(bind_members(std::declval<T&>()));
};
template <class T>
    requires std::is_empty_v<T>
struct members<T> {
    using type = member_list<>;
};
template <class T>
using members_of = typename members<T>::type;

}  // namespace holdfast::detail
