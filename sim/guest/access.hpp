// How the workloads reach memory in the simulated machine: plain loads and stores, and marks where transactions begin
// and commit, which is all that hardware which logs wants to know.
#pragma once

#include <sim/guest/arena.hpp>
#include <sim/guest/operations.hpp>

#include <type_traits>

namespace holdfast::guest {

/// What all accesses have in common. `Self` has load, store, and `end`, which makes its transaction durable.
template <class Self>
class thread_access {
public:
    thread_access(arena& memory, std::uint32_t thread) noexcept : arena_(&memory), thread_(thread) {}

    template <class T>
    void will_write(T*) const noexcept {}

    void* allocate(std::size_t bytes) const noexcept { return arena_->allocate(self(), thread_, bytes); }
    void free(void* address) const noexcept { arena_->free(self(), thread_, address); }

    /// The id is the thread's number: one has only one transaction at a time.
    template <class F>
    bool atomically(F&& f) const {
        begin_transaction(static_cast<std::uint16_t>(thread_));
        f();
        self().end();
        commit_transaction();
        return true;
    }
    template <class Lock, class F>
    bool atomically(Lock& guard, F&& f) const {
        guard.acquire();
        atomically(f);
        guard.release();
        return true;
    }

    std::uint32_t thread() const noexcept { return thread_; }

private:
    const Self& self() const noexcept { return static_cast<const Self&>(*this); }

    arena* arena_;
    std::uint32_t thread_;
};

/// One thread's, without a log of its own.
class guest_access : public thread_access<guest_access> {
public:
    using thread_access::thread_access;

    template <class T>
    T load(const T* home) const noexcept {
        return *home;
    }
    template <class T>
    void store(T* home, const std::type_identity_t<T>& value) const noexcept {
        *home = value;
    }
    void end() const noexcept {}
};

}  // namespace holdfast::guest
