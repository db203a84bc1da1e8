// A pool of lines: holds line_array and lines_array, for one process or shared by several.
#pragma once

#include <holdfast/engine/engine.hpp>
#include <holdfast/engine/redo.hpp>
#include <holdfast/handle/roots.hpp>
#include <holdfast/line/line.hpp>
#include <holdfast/line/lines.hpp>
#include <holdfast/pool/open_pool.hpp>
#include <holdfast/pool/options.hpp>

#include <cstddef>
#include <memory>
#include <mutex>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

namespace holdfast {

/// The engine of such a pool. It has redo's log for creating roots; on an ordinary file at `power` commits of lines go
/// through it as well.
struct line_engine : engine_interface<line_engine> {
    using transaction = redo_transaction;
    static constexpr engine_description description{.name = "line", .stores_itself = true};
};

namespace detail {

/// What a root of lines holds; the pool records and compares it.
struct lines_root {
    std::size_t element_bytes = 0;   ///< of an element in the pool: whole lines
    std::size_t count = 0;           ///< of elements
    std::size_t object_bytes = 0;    ///< of the object in each
    bool many_lines = false;         ///< copies with sums; otherwise one line with an index
    /// A new element.
    void (*construct)(void* element) = nullptr;
    /// Recovers an element; false if it is damaged.
    bool (*recover)(void* element) = nullptr;
};

/// Recognizes what may be a root.
template <class T>
struct lines_root_of;
template <class T>
struct lines_root_of<line<T>> {
    static lines_root value() {
        return {sizeof(line<T>), 1, sizeof(T), false, [](void* at) { ::new (at) line<T>; }, nullptr};
    }
};
template <class T>
    requires is_woven<T>
struct lines_root_of<T> {
    static_assert(sizeof(T) == format::cache_line_bytes && alignof(T) == format::cache_line_bytes);
    static lines_root value() {
        return {sizeof(T), 1, T::holdfast_object_bytes(), false, [](void* at) { ::new (at) T; }, nullptr};
    }
};
template <class T>
struct lines_root_of<lines<T>> {
    static lines_root value() {
        return {sizeof(lines<T>), 1, sizeof(T), true, [](void* at) { ::new (at) lines<T>; },
                [](void* at) { return std::launder(static_cast<lines<T>*>(at))->recover_opened(); }};
    }
};
template <class Element, std::size_t N>
struct lines_root_of<array_of_lines<Element, N>> {
    static lines_root value() {
        lines_root root = lines_root_of<Element>::value();
        root.count = N;
        return root;
    }
};

/// A list to which something is added when nothing may fail any more: the room for it is taken before.
template <class T>
struct list_with_room {
    std::mutex mutex;
    std::vector<T> all;
    std::size_t promised = 0;

    /// Reserves room for one until it is destroyed. Throws std::bad_alloc.
    class room {
    public:
        explicit room(list_with_room& list) : list_(list) {
            const std::lock_guard guard(list_.mutex);
            const std::size_t needed = list_.all.size() + list_.promised + 1;
            if (list_.all.capacity() < needed) list_.all.reserve(2 * needed);
            ++list_.promised;
        }
        ~room() {
            const std::lock_guard guard(list_.mutex);
            --list_.promised;
        }
        room(const room&) = delete;
        room& operator=(const room&) = delete;

    private:
        list_with_room& list_;
    };
};

}  // namespace detail

/// An open pool of lines. Move-only; closes on destruction (`close` reports errors).
///
/// Its roots are line<T>, line_array<T, N>, lines<T>, lines_array<T, N> and woven objects. Each is changed by its own
/// transactions, without a call on the pool. On byte-addressable media at `power` one fence makes them durable; at
/// `process` nothing is written back; on an ordinary file at `power` the lines go through the pool's log, with one sync
/// for those that commit together.
/// Thread safety and misuse: as basic_pool. While several pools of lines are open, each commit does what the most
/// demanding of them needs.
class line_pool {
public:
    /// As basic_pool's.
    static result<line_pool> create(const std::string& path, const create_options& options = {});
    static result<line_pool> open(const std::string& path, const open_options& options = {});
    static result<line_pool> open_or_create(const std::string& path, const create_options& options = {});
    /// Opens it for several processes at once, all at one level; see open_pool::open_shared. Callers serialise access
    /// to each line: it has one writer at any moment. A process that takes over from a dead writer first calls
    /// `recover` on the objects that it takes over. Roots must exist: create them in a pool that is opened by `open`.
    static result<line_pool> open_shared(const std::string& path, const open_options& options = {});

    line_pool(line_pool&&) noexcept = default;
    line_pool& operator=(line_pool&&) noexcept;
    ~line_pool();

    /// The root `name`, default-constructed if it does not exist. `version` is the user's name for T's layout; it must
    /// match, as must size, number and kind of the objects.
    /// What holds if the process dies inside: all of the root exists, or none of it.
    /// Errors: root_mismatch, out_of_space, corrupt (also: neither copy of an element is valid), invalid_argument,
    /// transaction_too_large (an ordinary file at `power` whose log cannot hold a transaction on it), not_found (a
    /// shared pool without it), misuse (closed).
    template <class T>
    result<T*> root(std::string_view name, std::string_view version = "1") {
        auto found = root_of(name, version, detail::lines_root_of<T>::value());
        if (!found) return found.error();
        return std::launder(reinterpret_cast<T*>(*found));
    }

    /// Makes the pool larger; see open_pool::grow. Further errors: misuse (closed, or shared).
    result<void> grow(std::uint64_t bytes);
    /// Closes cleanly; a shared pool is clean when the last process closes it. Errors: as basic_pool::close; also
    /// misuse inside a transaction of this thread on an object of the pool.
    result<void> close();
    /// Releases the pool as a killed process would, for tests of recovery. In a transaction, a child and a signal
    /// handler it acts like destruction, which is that of basic_pool; inside a line's transaction the pool stays open.
    void abandon() noexcept;
    bool is_open() const noexcept { return core_ != nullptr; }

    /// Throws failure: misuse.
    pool_info info() const;
    result<std::vector<root_listing>> roots() const;
    /// The engine-independent part, for tools and tests. Throws failure: misuse (closed).
    open_pool& core();

private:
    line_pool() = default;
    template <class F>
    static result<line_pool> wrap(F&& open);
    result<std::byte*> root_of(std::string_view name, std::string_view version, const detail::lines_root& what);
    result<std::byte*> find_shared(std::string_view name, const root_type& type);
    result<std::byte*> find_or_make(std::string_view name, const root_type& type, const detail::lines_root& what);
    result<void> recover_once(std::string_view name, std::byte* elements, const detail::lines_root& what);
    result<void> check_log_takes(const detail::lines_root& what) const;
    void let_go(detail::letting_go how) noexcept;

    std::unique_ptr<open_pool> core_;
    /// Roots that were recovered since the pool was opened: other threads may already be changing them.
    std::unique_ptr<detail::list_with_room<const std::byte*>> recovered_;
};

}  // namespace holdfast
