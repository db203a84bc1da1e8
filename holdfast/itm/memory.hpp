// Memory in transactions: what is allocated inside is given back by a roll-back, what is freed inside is freed by the
// commit.
#pragma once

#include <holdfast/itm/exceptions.hpp>
#include <holdfast/itm/planted.hpp>
#include <holdfast/itm/state.hpp>
#include <holdfast/stm/blocks.hpp>

#include <cstddef>
#include <cstdlib>
#include <cstring>
#include <new>
#include <typeinfo>

#include <cxxabi.h>

namespace holdfast::itm {

/// How each kind of block goes back to where it came from.
namespace give_back {
inline void by_free(void* block, std::size_t, std::size_t) { std::free(block); }
inline void by_delete(void* block, std::size_t, std::size_t) { ::operator delete(block); }
inline void by_delete_array(void* block, std::size_t, std::size_t) { ::operator delete[](block); }
inline void by_aligned_delete(void* block, std::size_t, std::size_t alignment) {
    ::operator delete(block, std::align_val_t{alignment});
}
inline void by_aligned_delete_array(void* block, std::size_t, std::size_t alignment) {
    ::operator delete[](block, std::align_val_t{alignment});
}
/// An exception object is given back by who tracks exceptions.
inline void by_nobody(void*, std::size_t, std::size_t) {}
}  // namespace give_back

/// Memory functions over an algorithm. Blocks of size 0 are blocks, too.
template <class Algorithm>
struct memory {
    /// Makes `block` the transaction's. nullptr is passed through.
    static void* allocated(void* block, std::size_t bytes, std::size_t alignment, stm::give_back how) {
        if (block == nullptr || !Algorithm::of_this_thread().active()) return block;
        Algorithm::of_this_thread().note_allocated(block, bytes, alignment, how);
        if (state().notes_stores) [[unlikely]]
            state().allocated.push({block, bytes, alignment, how});
        return block;
    }

    static void free(void* block, std::size_t bytes, std::size_t alignment, stm::give_back how) {
        if (block == nullptr) return;
        if (is_planted(fault::freed_at_once) || !Algorithm::of_this_thread().active()) {
            how(block, bytes, alignment);
        } else if (state().notes_stores) [[unlikely]] {
            state().freed.push({block, bytes, alignment, how});
        } else {
            Algorithm::of_this_thread().free_at_commit(block, bytes, alignment, how);
        }
    }

    static void free_malloced(void* block) {
        if (block != nullptr) free(block, stm::bytes_of_malloc(block), 0, &give_back::by_free);
    }
    static void* malloc(std::size_t bytes) { return allocated(std::malloc(bytes), bytes, 16, &give_back::by_free); }
    static void* calloc(std::size_t count, std::size_t bytes) {
        return allocated(std::calloc(count, bytes), count * bytes, 16, &give_back::by_free);
    }

    static void* new_object(std::size_t bytes) {
        return allocated(::operator new(bytes, std::nothrow), bytes, 16, &give_back::by_delete);
    }
    static void* new_array(std::size_t bytes) {
        return allocated(::operator new[](bytes, std::nothrow), bytes, 16, &give_back::by_delete_array);
    }
    static void* new_aligned_object(std::size_t bytes, std::align_val_t alignment) {
        return allocated(::operator new(bytes, alignment, std::nothrow), bytes, static_cast<std::size_t>(alignment),
                         &give_back::by_aligned_delete);
    }
    static void* new_aligned_array(std::size_t bytes, std::align_val_t alignment) {
        return allocated(::operator new[](bytes, alignment, std::nothrow), bytes, static_cast<std::size_t>(alignment),
                         &give_back::by_aligned_delete_array);
    }
    static void delete_object(void* block, std::size_t bytes = 0) { free(block, bytes, 0, &give_back::by_delete); }
    static void delete_array(void* block, std::size_t bytes = 0) {
        free(block, bytes, 0, &give_back::by_delete_array);
    }
    static void delete_aligned_object(void* block, std::align_val_t alignment) {
        free(block, 0, static_cast<std::size_t>(alignment), &give_back::by_aligned_delete);
    }
    static void delete_aligned_array(void* block, std::align_val_t alignment) {
        free(block, 0, static_cast<std::size_t>(alignment), &give_back::by_aligned_delete_array);
    }

    /// Room for an exception, whose maker's stores go straight home.
    static void* allocate_exception(std::size_t bytes, void (*destroy)(void*) = nullptr) {
        void* const object = abi::__cxa_allocate_exception(bytes);
        note_exception(state(), object, destroy);
        Algorithm::of_this_thread().note_allocated(object, bytes, 16, &give_back::by_nobody);
        return object;
    }

    /// Throws an E as the body of a function that the compiler's clone of would throw it. It leaves the blocks it is
    /// thrown through, which commit.
    template <class E, class... Arguments>
    [[noreturn]] static void throw_new(Arguments&&... arguments) {
        void* const object = allocate_exception(sizeof(E), [](void* made) { static_cast<E*>(made)->~E(); });
        ::new (object) E(static_cast<Arguments&&>(arguments)...);
        note_thrown(state(), object);
        abi::__cxa_throw(object, const_cast<std::type_info*>(&typeid(E)),
                         [](void* made) { static_cast<E*>(made)->~E(); });
    }

    static void* or_throw(void* block) {
        if (block == nullptr) [[unlikely]]
            throw_new<std::bad_alloc>();
        return block;
    }
};

}  // namespace holdfast::itm
