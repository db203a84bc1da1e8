// What woven code calls: the mechanism with a medium whose functions are in the library, and what the aspect puts into
// a woven class. C++17 without intrinsics, since the weaver parses it.
//
// The aspect does not redirect single accesses. It runs the body of a member function on the half that is meant, by
// giving it that half's address as `this`: members, elements, references, bit-fields, nested objects and what standard
// algorithms do with them are then as in any class. What a line is, its address says, since lines are aligned to their
// size: a function that is called on a half finds its line again.
#pragma once

#include <holdfast/line/mechanism.hpp>

#include <stddef.h>
#include <stdint.h>
#include <type_traits>

namespace holdfast {

/// line_medium, out of line.
struct woven_medium {
    // The same address whenever a thread asks: one call does for all of a transaction's.
    __attribute__((const)) static cache_line::open_object*& innermost() noexcept;
    static void order();
    static void make_durable(void* line);
};

namespace woven {

/// Called by probing functions of the object `line`: by a transaction that is about to commit and finds that the half
/// to which recovery would return was written, bypassing the transaction by a cast or a kept pointer; and by a const
/// function that returns and finds that the half that it read is no longer the valid one, because it ran a transaction
/// on the same object. The default writes a message and aborts. Set it while no woven function runs.
using probe_handler = void (*)(const void* line);
extern probe_handler on_wrong_half;

/// The line that contains `address`. Compilers assume that an object of the class is aligned like a line, which a half
/// is not: they must not see the origin of the address.
inline void* line_of(const volatile void* address) noexcept {
    uintptr_t number = reinterpret_cast<uintptr_t>(address);
    __asm__("" : "+r"(number));
    return reinterpret_cast<void*>(number & ~static_cast<uintptr_t>(format::cache_line_bytes - 1));
}

/// The half that a const function reads: inside a transaction of this thread on the object, the half that is being
/// changed.
inline const void* readable_half(const void* line) noexcept {
    const size_t valid = cache_line::valid_offset(line);
    const size_t chosen = cache_line::is_open<woven_medium>(line) ? valid ^ format::half_line_bytes : valid;
    return static_cast<const unsigned char*>(line) + chosen;
}

/// Follows the members of a woven class and marks their end. A copy of the object is its readable half, whichever half
/// of the source that is. Assignment would overwrite a valid half: an assignable class declares its own operator=,
/// which is then a transaction.
struct end_of_members {
    end_of_members() noexcept { clear(); }
    end_of_members(const end_of_members& other) noexcept {
        __builtin_memcpy(line_of(this), readable_half(line_of(&other)), offset());
        clear();
    }
    end_of_members& operator=(const end_of_members&) = delete;

    unsigned char mark;

private:
    size_t offset() const noexcept { return reinterpret_cast<uintptr_t>(this) & (format::half_line_bytes - 1); }
    /// To the end of the half, so that equal objects are equal lines.
    void clear() noexcept {
        __builtin_memset(static_cast<unsigned char*>(line_of(this)) + offset(), 0, format::half_line_bytes - offset());
    }
};
static_assert(sizeof(end_of_members) == 1, "it takes one byte, at most the one that a half has more than an object");

/// The last member of a woven class: from byte 32 to the end of the line.
struct alignas(format::half_line_bytes) second_half {
    second_half() noexcept : copy{}, index(0) {}
    second_half(const second_half&) noexcept : second_half() {}

    unsigned char copy[format::line_payload_bytes];
    unsigned char index;
};
static_assert(sizeof(second_half) == format::half_line_bytes &&
                  offsetof(second_half, index) + format::half_line_bytes == format::line_index_offset,
              "the index is the line's last byte");

/// How many bytes a woven class has before the byte that marks their end: its copy in the other half.
template <class Class>
inline constexpr size_t bytes_of = __builtin_offsetof(Class, holdfast_end_);

/// Not std::is_trivially_copyable: std::pair's assignment is none that the standard calls trivial.
template <class T>
inline constexpr bool copied_as_bytes = std::is_trivially_copy_constructible<std::remove_all_extents_t<T>>::value &&
                                        std::is_trivially_destructible<T>::value && !std::is_reference<T>::value;

/// Walks over the members that the weaver knows of `JoinPoint`'s class: whether all can be copied byte by byte, and
/// whether any wants to be aligned to more than a half, and what the strictest alignment is.
template <class JoinPoint, int Index, class = void>
struct members_from {
    static constexpr bool copyable = true, aligned = true;
    static constexpr size_t alignment = 1;
};
template <class JoinPoint, int Index>
struct members_from<JoinPoint, Index, std::enable_if_t<(Index < int{JoinPoint::MEMBERS})>> {
    using member = typename JoinPoint::template Member<Index>;
    using type = typename member::Type;
    using rest = members_from<JoinPoint, Index + 1>;
    static constexpr bool is_static = (static_cast<int>(member::spec) & 1) != 0;
    static constexpr bool copyable = (is_static || copied_as_bytes<type>) && rest::copyable;
    static constexpr bool aligned = (is_static || alignof(type) <= format::half_line_bytes) && rest::aligned;
    static constexpr size_t alignment =
        !is_static && alignof(type) > rest::alignment ? alignof(type) : rest::alignment;
};

/// What the compiler can say of a woven class; the rest is weave.py's.
template <class Class, class JoinPoint>
struct check {
    static_assert(alignof(Class) == format::cache_line_bytes, "woven class: write alignas(64) after the attribute");
    static_assert(bytes_of<Class> <= format::line_payload_bytes && sizeof(Class) == format::cache_line_bytes,
                  "woven class: its members must end at byte 31 at the latest, to fit twice into a line of 64 bytes "
                  "with its index; move what is too much to another object");
    static_assert(members_from<JoinPoint, 0>::copyable,
                  "woven class: a member is not trivially copyable, and each transaction copies it byte by byte");
    static_assert(members_from<JoinPoint, 0>::aligned, "woven class: a member is aligned to more than half a line");
    static constexpr bool passed = true;
};

#ifdef HOLDFAST_WOVEN_PROBE
/// The valid half at the beginning of the transaction.
template <size_t Bytes>
class probe {
public:
    explicit probe(const void* line) noexcept
        : line_(cache_line::is_open<woven_medium>(line) ? nullptr : line), valid_(cache_line::valid_half(line)) {
        __builtin_memcpy(before_, valid_, Bytes);
    }
    void look() const {
        if (line_ != nullptr && __builtin_memcmp(before_, valid_, Bytes) != 0) on_wrong_half(line_);
    }

private:
    const void* line_;
    const void* valid_;
    unsigned char before_[Bytes];
};
inline void look_at_what_was_read(const volatile void* half) {
    void* const line = line_of(half);
    if (readable_half(line) != half) on_wrong_half(line);
}
#else
template <size_t>
struct probe {
    explicit probe(const void*) noexcept {}
    void look() const noexcept {}
};
inline void look_at_what_was_read(const volatile void*) noexcept {}
#endif

/// What the weaver does not say of a function: that it returns a reference, and that a volatile one is const as well.
template <class Function>
struct function;
#define HOLDFAST_FUNCTION(qualifiers, constant)                           \
    template <class Result, bool Noexcept, class... Arguments>            \
    struct function<Result(Arguments...) qualifiers noexcept(Noexcept)> { \
        using result = Result;                                            \
        static constexpr bool is_const = constant;                        \
    };
HOLDFAST_FUNCTION(, false)
HOLDFAST_FUNCTION(const, true)
HOLDFAST_FUNCTION(volatile, false)
HOLDFAST_FUNCTION(const volatile, true)
HOLDFAST_FUNCTION(&, false)
HOLDFAST_FUNCTION(const&, true)
HOLDFAST_FUNCTION(volatile&, false)
HOLDFAST_FUNCTION(const volatile&, true)
#undef HOLDFAST_FUNCTION

/// One execution of a member function: the half on which it runs, and the transaction of which it is part.
template <class That, bool IsConst>
class execution {
public:
    explicit execution(That* that) : line_(line_of(that)), probe_(line_), open_(line_) {}
    That* that() const noexcept { return static_cast<That*>(open_.active()); }
    void commit() {
        probe_.look();
        open_.commit();
    }

private:
    void* line_;
    probe<bytes_of<std::remove_cv_t<That>>> probe_;
    cache_line::transaction<woven_medium, bytes_of<std::remove_cv_t<That>>> open_;
};
template <class That>
class execution<That, true> {
public:
    explicit execution(That* that) noexcept
        : that_(static_cast<That*>(const_cast<void*>(readable_half(line_of(that))))) {}
    That* that() const noexcept { return that_; }
    void commit() const { look_at_what_was_read(that_); }

private:
    That* that_;
};

/// The correct half for each argument of type `const Class&`, so that `other.member` is right as well.
template <class JoinPoint, int Index = 0>
inline void show_readable_halves(JoinPoint* at) noexcept {
    if constexpr (Index < int{JoinPoint::ARGS}) {
        using That = std::remove_cv_t<typename JoinPoint::That>;
        if constexpr (std::is_same<typename JoinPoint::template Arg<Index>::Type, const That&>::value)
            at->_args[Index] = const_cast<void*>(readable_half(line_of(at->_args[Index])));
        show_readable_halves<JoinPoint, Index + 1>(at);
    }
}

/// Callers see objects, not halves: `return *this` and `return this` are the line.
template <class JoinPoint>
inline void return_lines(JoinPoint* at) noexcept {
    using Result = typename function<typename JoinPoint::Entity>::result;
    if constexpr (std::is_reference<Result>::value || std::is_pointer<Result>::value) {
        using Target = std::remove_pointer_t<std::remove_reference_t<Result>>;
        if constexpr (std::is_same<std::remove_cv_t<Target>, std::remove_cv_t<typename JoinPoint::That>>::value) {
            void*& result = *static_cast<void**>(static_cast<void*>(at->_result));
            result = line_of(result);
        }
    }
}

}  // namespace woven
}  // namespace holdfast

// What weave.py writes into each woven function; the weaver itself need not parse it.
#ifndef __acweaving
#include <holdfast/line/woven_signature.hpp>
#endif
