// What a block that a library function opens calls of its caller.
#pragma once

#include <type_traits>

namespace holdfast::itm::detail {

/// How many bytes of captures are copied at most.
inline constexpr unsigned long most_copied_bytes = 256;

/// The type of the variable, made before the block, that a block calls instead of a caller's function f: a copy, where
/// that is as good. Nobody else can change a copy. So if it is inlined, the compiler loads what f captured without
/// barriers; those of f itself are loads of the caller's memory, and have one each.
template <class F>
using called_in_block = std::conditional_t<std::is_trivially_copyable_v<F> && std::is_invocable_v<const F&> &&
                                               sizeof(F) <= most_copied_bytes,
                                           const F, F&>;

}  // namespace holdfast::itm::detail
