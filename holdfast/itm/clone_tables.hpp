// Which function has which instrumented clone. Each program and shared library registers a table before its static
// constructors run, and takes it back when it is closed.
#pragma once

#include <holdfast/itm/abi.hpp>
#include <holdfast/itm/grown.hpp>
#include <holdfast/itm/planted.hpp>

#include <algorithm>
#include <atomic>
#include <cstddef>
#include <cstdlib>
#include <functional>
#include <new>

#include <pthread.h>

namespace holdfast::itm {

/// Tables sorted by function, searched by bisection: O(tables · log functions). Constant-initialised. find may be
/// called while others add and remove, and takes no lock.
class clone_registry {
public:
    /// Adds `count` clones, which need not be sorted and stay unchanged until `remove`. Out of memory ends the program:
    /// it happens before main, and no caller would look.
    void add(const clone* table, std::size_t count) noexcept {
        if (count == 0) return;
        pthread_mutex_lock(&changing_);
        sorted_table* place = retired(table, count);
        if (place == nullptr) place = sorted(table, count);
        place->used.store(true, std::memory_order_release);
        pthread_mutex_unlock(&changing_);
    }

    /// Takes a table out. Its sorted copy stays, since a running transaction may be searching it, and serves again when
    /// the same library is opened at the same place.
    void remove(const clone* table) noexcept {
        pthread_mutex_lock(&changing_);
        for (sorted_table* each = first_.load(std::memory_order_relaxed); each != nullptr; each = each->next)
            if (each->original == table && each->used.load(std::memory_order_relaxed)) {
                each->used.store(false, std::memory_order_release);
                break;
            }
        pthread_mutex_unlock(&changing_);
    }

    /// The clone of `function`, or nullptr.
    void* find(const void* function) const noexcept {
        for (const sorted_table* each = first_.load(std::memory_order_acquire); each != nullptr; each = each->next) {
            if (!each->used.load(std::memory_order_acquire)) continue;
            if (void* const found = each->find(function)) return found;
        }
        return nullptr;
    }

private:
    struct sorted_table {
        sorted_table* next;
        const clone* original;
        std::size_t count;
        std::atomic<bool> used;
        clone* clones() noexcept { return reinterpret_cast<clone*>(this + 1); }
        const clone* clones() const noexcept { return reinterpret_cast<const clone*>(this + 1); }
        void* find(const void* function) const noexcept {
            const auto before = [](const clone& one, const void* wanted) {
                return std::less<const void*>{}(one.original, wanted);
            };
            const clone* const end = clones() + count;
            const clone* const found = std::lower_bound(clones(), end, function, before);
            return found != end && found->original == function ? found->instrumented : nullptr;
        }
    };

    static void sort(clone* clones, std::size_t count) noexcept {
        if (is_planted(fault::clones_unsorted)) return;
        std::sort(clones, clones + count, [](const clone& one, const clone& other) {
            return std::less<const void*>{}(one.original, other.original);
        });
    }

    sorted_table* retired(const clone* table, std::size_t count) noexcept {
        for (sorted_table* each = first_.load(std::memory_order_relaxed); each != nullptr; each = each->next) {
            if (each->used.load(std::memory_order_relaxed) || each->original != table || each->count != count) continue;
            const bool same = std::all_of(table, table + count, [each](const clone& wanted) {
                return each->find(wanted.original) == wanted.instrumented;
            });
            if (same) return each;
        }
        return nullptr;
    }

    sorted_table* sorted(const clone* table, std::size_t count) noexcept {
        void* const room = std::malloc(sizeof(sorted_table) + count * sizeof(clone));
        if (room == nullptr) stop("out of memory", "a table of transactional clones cannot be registered");
        auto* const made = ::new (room) sorted_table{first_.load(std::memory_order_relaxed), table, count, false};
        std::copy(table, table + count, made->clones());
        sort(made->clones(), count);
        first_.store(made, std::memory_order_release);
        return made;
    }

    std::atomic<sorted_table*> first_ = nullptr;
    pthread_mutex_t changing_ = PTHREAD_MUTEX_INITIALIZER;
};

}  // namespace holdfast::itm
