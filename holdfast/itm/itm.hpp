// Included by sources with `__transaction_atomic`: it refuses to compile with flags under which blocks would be wrong,
// and does not link with a runtime other than this library's. docs/guide/atomic-blocks.md says what a block may
// contain.
#pragma once

#if !defined(__GNUC__) || defined(__clang__)
#error "holdfast: atomic blocks need g++: other compilers have no -fgnu-tm"
#endif
// __cpp_transactional_memory is what g++ defines under -fgnu-tm.
#if !defined(__cpp_transactional_memory)
#error "holdfast: compile with -fgnu-tm (CMake: holdfast_target_tm(target); pkg-config: holdfast-itm-value)"
#endif
#if defined(_FORTIFY_SOURCE) && _FORTIFY_SOURCE > 0
#error "holdfast: expected -U_FORTIFY_SOURCE (holdfast_target_tm): checked memcpy does not compile in a block"
#endif
// No compiler macro shows the other flags; the build that sets them defines this one, whose number grows with them.
// Without them g++ 12 moves loads out of atomic blocks, stores in them without barriers, and loses local variables.
#if !defined(HOLDFAST_TM_FLAGS) || HOLDFAST_TM_FLAGS < 2
#error "holdfast: -fno-code-hoisting and other flags are missing (holdfast_target_tm; pkg-config holdfast-itm-value)"
#endif
#if !defined(HOLDFAST_TM_PLUGIN) && !defined(HOLDFAST_TM_UNCHECKED)
#error "holdfast: expected the plugin of g++ (holdfast_target_tm; pkg-config holdfast-itm-value): without it \
bit-fields, and structures that calls take or return by value, are wrong in atomic blocks. HOLDFAST_TM_UNCHECKED does \
without it"
#endif

#include <cstddef>
#include <cstdint>

/// `__transaction_cancel` that also works in templates, from which g++ 12 silently drops the statement.
#define HOLDFAST_CANCEL __builtin__ITM_abortTransaction(1)

extern "C" {
extern const char holdfast_itm_value_or_holdfast_itm_versioned_is_not_linked;
using holdfast_itm_action = void(void*);

/// Runs `run(argument)` after the outermost block has committed; never if that block is rolled back, or if the nested
/// block of the call is cancelled. Actions run in the order of the calls, outside transactions. `id`: any.
[[gnu::transaction_pure]] void _ITM_addUserCommitAction(holdfast_itm_action* run, std::uint64_t id, void* argument);
/// Runs `run(argument)` when the stores so far are rolled back: before each new attempt, and at a cancel. Newest first,
/// outside transactions; the action of a nested block runs in the outer one.
[[gnu::transaction_pure]] void _ITM_addUserUndoAction(holdfast_itm_action* run, void* argument);
/// 0: in no transaction, 1: in one, 2: in one that is irrevocable.
[[gnu::transaction_pure]] int _ITM_inTransaction();
/// Differs between attempts; 1 in no transaction.
[[gnu::transaction_pure]] std::uint64_t _ITM_getTransactionId();
}

namespace holdfast::itm {

/// Aligned memory as from operator new, in a form that the compiler accepts in blocks; works outside blocks as well.
/// Throws std::bad_alloc.
[[nodiscard, gnu::transaction_safe]] void* allocate_aligned(std::size_t bytes, std::size_t alignment);
/// Frees such memory; inside an atomic block, at its commit. nullptr does nothing.
[[gnu::transaction_safe]] void free_aligned(void* block, std::size_t alignment) noexcept;

/// A base of over-aligned types whose objects are created by new and destroyed by delete inside blocks:
///     struct alignas(64) line : holdfast::itm::aligned_new<64> { … };
template <std::size_t Alignment>
struct aligned_new {
    [[nodiscard]] static void* operator new(std::size_t bytes) { return allocate_aligned(bytes, Alignment); }
    [[nodiscard]] static void* operator new[](std::size_t bytes) { return allocate_aligned(bytes, Alignment); }
    static void operator delete(void* block) noexcept { free_aligned(block, Alignment); }
    static void operator delete[](void* block) noexcept { free_aligned(block, Alignment); }
};

}  // namespace holdfast::itm

namespace holdfast::itm::detail {
/// A reference that keeps a program without the runtime from linking.
[[gnu::used]] inline const char* const runtime_mark = &holdfast_itm_value_or_holdfast_itm_versioned_is_not_linked;
}  // namespace holdfast::itm::detail
