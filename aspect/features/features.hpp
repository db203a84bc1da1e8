// What a woven class may do, each as steps that are run twice: on woven objects, and on those of the same source
// compiled without the weaver, where the attribute means nothing. So C++ itself says what the bytes must be.
#pragma once

#include <new>
#include <stddef.h>

#ifndef FEATURES
#define FEATURES woven
#endif

namespace features {

enum : unsigned {
    reads = 0,        ///< no byte of a woven object changes
    first = 1,        ///< one transaction on the first object
    second = 2,       ///< one transaction on the second object
    rolls_back = 4,   ///< leaves by an exception: on woven objects only, and the valid half stays as it is
    woven_only = 8,   ///< what plain C++ would do otherwise
};

struct step {
    unsigned changes;
    long (*run)(void* lines);  ///< what it returns must be the same
};

/// What woven and plain objects point to, at one address.
inline int shared_number = 4;
inline const char shared_text[] = "shared";

/// `construct` makes two objects, in `lines[0]` and `lines[64]`.
struct feature {
    const char* name;
    void (*construct)(void* lines);
    step steps[8];
};

using list = const feature* (*)(size_t* count);

}  // namespace features

#define STEP(Class, changes, ...)                                                            \
    {                                                                                        \
        features::changes, [](void* lines) -> long {                                         \
            Class &x = static_cast<Class*>(lines)[0], &y = static_cast<Class*>(lines)[1];    \
            (void)x, (void)y;                                                                \
            __VA_ARGS__;                                                                     \
        }                                                                                    \
    }
#define MAKE(Class)                                                                          \
    [](void* lines) {                                                                        \
        new (lines) Class();                                                                 \
        new (static_cast<char*>(lines) + 64) Class();                                        \
    }
