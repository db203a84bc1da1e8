// HOLDFAST_ITM_EXPORT(Algorithm): everything that code compiled with -fgnu-tm, crtbegin and libstdc++ refer to, defined
// over an algorithm. Stands once in a program, in one source, which is compiled without -fgnu-tm.
//
// All of it is one object file: crtbegin's reference to the registry of clones is weak and would take nothing out of a
// library; begin is what does.
#pragma once

#include <holdfast/itm/barriers.hpp>
#include <holdfast/itm/begin_assembly.hpp>
#include <holdfast/itm/clone_tables.hpp>
#include <holdfast/itm/memory.hpp>
#include <holdfast/itm/runtime.hpp>
#include <holdfast/itm/start_check.hpp>
#include <holdfast/itm/std_clones.hpp>

#include <cstddef>
#include <cstdint>
#include <exception>
#include <type_traits>
#include <typeinfo>

// The vectors of 32 bytes are passed in registers that not every processor has: only code for those that have calls.
#if defined(__x86_64__)
#define HOLDFAST_ITM_VECTORS(X, A)                                 \
    X(A, M64, holdfast::itm::vector_8, )                           \
    X(A, M128, holdfast::itm::vector_16, )                         \
    X(A, M256, holdfast::itm::vector_32, __attribute__((target("avx"))))
#else
#define HOLDFAST_ITM_VECTORS(X, A)                                 \
    X(A, M64, holdfast::itm::vector_8, )                           \
    X(A, M128, holdfast::itm::vector_16, )
#endif

#define HOLDFAST_ITM_TYPES(X, A)                                                                                    \
    X(A, U1, std::uint8_t, )                                                                                        \
    X(A, U2, std::uint16_t, )                                                                                       \
    X(A, U4, std::uint32_t, )                                                                                       \
    X(A, U8, std::uint64_t, )                                                                                       \
    X(A, F, float, )                                                                                                \
    X(A, D, double, )                                                                                               \
    X(A, E, long double, )                                                                                          \
    HOLDFAST_ITM_VECTORS(X, A)

// Loads begin at a line of code: where the linker puts them otherwise, the same instructions take up to 1.5 times as
// long.
#define HOLDFAST_ITM_LOAD(A, prefix, name, T, attribute, knows)                                                     \
    __attribute__((aligned(64))) attribute T _ITM_##prefix##name(const T* from) {                                   \
        if constexpr (std::is_arithmetic_v<T> && sizeof(T) <= 8) {                                                  \
            return holdfast::itm::load<A, holdfast::itm::hint::knows>(from);                                        \
        } else {                                                                                                    \
            T value;                                                                                                \
            holdfast::itm::load_to<A, holdfast::itm::hint::knows>(from, value);                                     \
            return value;                                                                                           \
        }                                                                                                           \
    }
#define HOLDFAST_ITM_STORE(A, prefix, name, T, attribute, knows)                                                    \
    attribute void _ITM_##prefix##name(T* home, T value) {                                                          \
        if constexpr (std::is_arithmetic_v<T> && sizeof(T) <= 8) {                                                  \
            holdfast::itm::store<A, holdfast::itm::hint::knows>(home, value);                                       \
        } else {                                                                                                    \
            holdfast::itm::store_slowly<A, holdfast::itm::hint::knows>(home, value);                                \
        }                                                                                                           \
    }
#define HOLDFAST_ITM_BARRIERS_OF(A, name, T, attribute)                                                             \
    HOLDFAST_ITM_LOAD(A, R, name, T, attribute, none)                                                               \
    HOLDFAST_ITM_LOAD(A, RaR, name, T, attribute, after_read)                                                       \
    HOLDFAST_ITM_LOAD(A, RaW, name, T, attribute, after_write)                                                      \
    HOLDFAST_ITM_LOAD(A, RfW, name, T, attribute, for_write)                                                        \
    HOLDFAST_ITM_STORE(A, W, name, T, attribute, none)                                                              \
    HOLDFAST_ITM_STORE(A, WaR, name, T, attribute, after_read)                                                      \
    HOLDFAST_ITM_STORE(A, WaW, name, T, attribute, after_write)                                                     \
    attribute void _ITM_L##name(const T* variable) {                                                                \
        holdfast::itm::note_local(holdfast::itm::state(), variable, sizeof(T));                                     \
    }

#define HOLDFAST_ITM_COPY(A, name, kind)                                                                            \
    void* _ITM_##name(void* to, const void* from, std::size_t bytes) {                                              \
        holdfast::itm::ranges<A>::kind(to, from, bytes);                                                            \
        return to;                                                                                                  \
    }
// Copies whose ends are known to be private or shared, and hints, which a range makes no use of. They return `to`,
// whatever the ABI says: g++ 12 takes their result for that of memcpy, memmove and memset.
#define HOLDFAST_ITM_RANGES(A)                                                                                      \
    HOLDFAST_ITM_COPY(A, memcpyRtWt, copy)                                                                          \
    HOLDFAST_ITM_COPY(A, memcpyRnWt, write)                                                                         \
    HOLDFAST_ITM_COPY(A, memcpyRtWn, read)                                                                          \
    HOLDFAST_ITM_COPY(A, memmoveRtWt, copy)                                                                         \
    void* _ITM_memsetW(void* to, int byte, std::size_t bytes) {                                                     \
        holdfast::itm::ranges<A>::fill(to, byte, bytes);                                                            \
        return to;                                                                                                  \
    }                                                                                                               \
    void _ITM_LB(const void* variable, std::size_t bytes) {                                                         \
        holdfast::itm::note_local(holdfast::itm::state(), variable, bytes);                                         \
    }

#define HOLDFAST_ITM_BLOCKS(A)                                                                                      \
    __attribute__((visibility("hidden"))) std::uint32_t holdfast_itm_begin(                                         \
        std::uint32_t properties, holdfast::itm::thread_state* thread) noexcept {                                   \
        return holdfast::itm::runtime<A>::begin(properties, *thread);                                               \
    }                                                                                                               \
    __attribute__((visibility("hidden"))) std::uint32_t holdfast_itm_begin_inner(                                   \
        std::uint32_t properties, holdfast::itm::thread_state* thread,                                              \
        holdfast::stm::checkpoint* where) noexcept {                                                                \
        return holdfast::itm::runtime<A>::begin_inner(properties, *thread, *where);                                 \
    }                                                                                                               \
    void _ITM_commitTransaction() { holdfast::itm::runtime<A>::commit(); }                                          \
    void _ITM_commitTransactionEH(void* exception) {                                                                \
        holdfast::itm::runtime<A>::commit_after_exception(exception);                                               \
    }                                                                                                               \
    [[noreturn]] void _ITM_abortTransaction(std::uint32_t why) { holdfast::itm::runtime<A>::abort(why); }           \
    void _ITM_changeTransactionMode(int) { holdfast::itm::runtime<A>::become_irrevocable(); }                       \
    int _ITM_inTransaction() {                                                                                      \
        const A& algorithm = A::of_this_thread();                                                                   \
        return algorithm.active() ? (algorithm.irrevocable() ? 2 : 1) : 0;                                          \
    }                                                                                                               \
    holdfast::itm::transaction_id _ITM_getTransactionId() {                                                         \
        return holdfast::itm::state().depth != 0 ? holdfast::itm::state().id : holdfast::itm::no_transaction;       \
    }                                                                                                               \
    void _ITM_addUserCommitAction(void (*run)(void*), holdfast::itm::transaction_id, void* argument) {              \
        holdfast::itm::runtime<A>::add_commit_action({run, argument});                                              \
    }                                                                                                               \
    void _ITM_addUserUndoAction(void (*run)(void*), void* argument) {                                               \
        holdfast::itm::runtime<A>::add_undo_action({run, argument});                                                \
    }

#define HOLDFAST_ITM_CLONES(A)                                                                                      \
    void _ITM_registerTMCloneTable(void* table, std::size_t count) {                                                \
        holdfast::itm::clones.add(static_cast<const holdfast::itm::clone*>(table), count);                          \
    }                                                                                                               \
    void _ITM_deregisterTMCloneTable(void* table) {                                                                 \
        holdfast::itm::clones.remove(static_cast<const holdfast::itm::clone*>(table));                              \
    }                                                                                                               \
    void* _ITM_getTMCloneOrIrrevocable(void* function) {                                                            \
        if (void* const found = holdfast::itm::clones.find(function)) return found;                                 \
        holdfast::itm::runtime<A>::become_irrevocable();                                                            \
        return function;                                                                                            \
    }                                                                                                               \
    void* _ITM_getTMCloneSafe(void* function) {                                                                     \
        if (void* const found = holdfast::itm::clones.find(function)) return found;                                 \
        holdfast::itm::stop_at_unsafe(function, __builtin_return_address(0));                                       \
    }

#define HOLDFAST_ITM_EXCEPTIONS(A)                                                                                  \
    void* _ITM_cxa_allocate_exception(std::size_t bytes) {                                                          \
        return holdfast::itm::memory<A>::allocate_exception(bytes);                                                 \
    }                                                                                                               \
    void _ITM_cxa_free_exception(void* object) {                                                                    \
        holdfast::itm::forget_exception(holdfast::itm::state(), object);                                            \
        abi::__cxa_free_exception(object);                                                                          \
    }                                                                                                               \
    [[noreturn]] void _ITM_cxa_throw(void* object, void* type, void (*destroy)(void*)) {                            \
        holdfast::itm::note_thrown(holdfast::itm::state(), object);                                                 \
        abi::__cxa_throw(object, static_cast<std::type_info*>(type), destroy);                                      \
    }                                                                                                               \
    void* _ITM_cxa_begin_catch(void* exception) {                                                                   \
        holdfast::itm::runtime<A>::become_irrevocable();                                                            \
        return abi::__cxa_begin_catch(exception);                                                                   \
    }                                                                                                               \
    void _ITM_cxa_end_catch() { abi::__cxa_end_catch(); }

#define HOLDFAST_ITM_NEW(A, mangled, kind)                                                                          \
    void* _ZGTt##mangled##m(std::size_t bytes) {                                                                    \
        return holdfast::itm::memory<A>::or_throw(holdfast::itm::memory<A>::new_##kind(bytes));                     \
    }                                                                                                               \
    void* _ZGTt##mangled##mRKSt9nothrow_t(std::size_t bytes, const std::nothrow_t&) {                               \
        return holdfast::itm::memory<A>::new_##kind(bytes);                                                         \
    }                                                                                                               \
    void* _ZGTt##mangled##mSt11align_val_t(std::size_t bytes, std::align_val_t alignment) {                         \
        return holdfast::itm::memory<A>::or_throw(holdfast::itm::memory<A>::new_aligned_##kind(bytes, alignment));   \
    }                                                                                                               \
    void* _ZGTt##mangled##mSt11align_val_tRKSt9nothrow_t(std::size_t bytes, std::align_val_t alignment,             \
                                                         const std::nothrow_t&) {                                   \
        return holdfast::itm::memory<A>::new_aligned_##kind(bytes, alignment);                                       \
    }
#define HOLDFAST_ITM_DELETE(A, mangled, kind)                                                                       \
    void _ZGTt##mangled##Pv(void* block) { holdfast::itm::memory<A>::delete_##kind(block); }                        \
    void _ZGTt##mangled##Pvm(void* block, std::size_t bytes) {                                                      \
        holdfast::itm::memory<A>::delete_##kind(block, bytes);                                                      \
    }                                                                                                               \
    void _ZGTt##mangled##PvRKSt9nothrow_t(void* block, const std::nothrow_t&) {                                     \
        holdfast::itm::memory<A>::delete_##kind(block);                                                             \
    }                                                                                                               \
    void _ZGTt##mangled##PvmRKSt9nothrow_t(void* block, std::size_t bytes, const std::nothrow_t&) {                 \
        holdfast::itm::memory<A>::delete_##kind(block, bytes);                                                      \
    }                                                                                                               \
    void _ZGTt##mangled##PvSt11align_val_t(void* block, std::align_val_t alignment) {                               \
        holdfast::itm::memory<A>::delete_aligned_##kind(block, alignment);                                           \
    }                                                                                                               \
    void _ZGTt##mangled##PvmSt11align_val_t(void* block, std::size_t, std::align_val_t alignment) {                 \
        holdfast::itm::memory<A>::delete_aligned_##kind(block, alignment);                                           \
    }                                                                                                               \
    void _ZGTt##mangled##PvSt11align_val_tRKSt9nothrow_t(void* block, std::align_val_t alignment,                   \
                                                         const std::nothrow_t&) {                                   \
        holdfast::itm::memory<A>::delete_aligned_##kind(block, alignment);                                           \
    }

#define HOLDFAST_ITM_MEMORY(A)                                                                                      \
    void* _ITM_malloc(std::size_t bytes) { return holdfast::itm::memory<A>::malloc(bytes); }                        \
    void* _ITM_calloc(std::size_t count, std::size_t bytes) {                                                       \
        return holdfast::itm::memory<A>::calloc(count, bytes);                                                      \
    }                                                                                                               \
    void _ITM_free(void* block) {                                                                                   \
        holdfast::itm::memory<A>::free_malloced(block);                                                             \
    }                                                                                                               \
    HOLDFAST_ITM_NEW(A, nw, object)                                                                                 \
    HOLDFAST_ITM_NEW(A, na, array)                                                                                  \
    void* _ZGTtN8holdfast3itm16allocate_alignedEmm(std::size_t bytes, std::size_t alignment) {                      \
        return _ZGTtnwmSt11align_val_t(bytes, std::align_val_t{alignment});                                         \
    }                                                                                                               \
    void _ZGTtN8holdfast3itm12free_alignedEPvm(void* block, std::size_t alignment) {                                \
        holdfast::itm::memory<A>::delete_aligned_object(block, std::align_val_t{alignment});                        \
    }                                                                                                               \
    HOLDFAST_ITM_DELETE(A, dl, object)                                                                              \
    HOLDFAST_ITM_DELETE(A, da, array)

/// The runtime over `Algorithm` (stm::algorithm), whose name is a qualified one without commas. At file scope.
#define HOLDFAST_ITM_EXPORT(Algorithm)                                                                              \
    namespace holdfast::itm {                                                                                       \
    static constinit clone_registry clones;                                                                         \
    /* Declared in itm.hpp, which only instrumented sources include. */                                             \
    void* allocate_aligned(std::size_t bytes, std::size_t alignment);                                               \
    void free_aligned(void* block, std::size_t alignment) noexcept;                                                 \
    void* allocate_aligned(std::size_t bytes, std::size_t alignment) {                                              \
        return ::operator new(bytes, std::align_val_t{alignment});                                                  \
    }                                                                                                               \
    void free_aligned(void* block, std::size_t alignment) noexcept {                                                \
        ::operator delete(block, std::align_val_t{alignment});                                                      \
    }                                                                                                               \
    [[maybe_unused]] static const bool has_started = runtime<Algorithm>::program_starts();                          \
    }                                                                                                               \
    extern "C" {                                                                                                    \
    constinit thread_local holdfast::itm::thread_state holdfast_itm_state{};                                        \
    constinit bool holdfast_itm_runs_alone = true;                                                                  \
    HOLDFAST_ITM_TYPES(HOLDFAST_ITM_BARRIERS_OF, Algorithm)                                                         \
    HOLDFAST_ITM_RANGES(Algorithm)                                                                                  \
    HOLDFAST_ITM_BLOCKS(Algorithm)                                                                                  \
    HOLDFAST_ITM_CLONES(Algorithm)                                                                                  \
    HOLDFAST_ITM_EXCEPTIONS(Algorithm)                                                                              \
    HOLDFAST_ITM_MEMORY(Algorithm)                                                                                  \
    HOLDFAST_ITM_STD_CLONES(Algorithm)                                                                              \
    }                                                                                                               \
    HOLDFAST_ITM_BEGIN_ASSEMBLY                                                                                     \
    HOLDFAST_ITM_START_CHECK
