// Owns: what makes lines durable in this process, and the roots of pools of lines.
//
// A root's objects are changed by stores that the log does not see. So no record may name their bytes when the first of
// these stores comes: replaying it would bring back what the root was made of. A new root is brought home, and the log
// emptied, before its address is given out; and it is as well when it is found, because another thread may have made it
// a moment ago. On an ordinary file at `power`, where every commit is in the log, order of the log is enough.
#include <holdfast/handle/line_pool.hpp>

#include <holdfast/base/assertion.hpp>
#include <holdfast/base/threads.hpp>
#include <holdfast/line/sites.hpp>
#include <holdfast/log/groups.hpp>
#include <holdfast/log/lanes.hpp>

#include <pthread.h>

#include <algorithm>
#include <mutex>
#include <optional>

namespace holdfast {
namespace {

namespace site = persist::site;

error about(const open_pool& pool, errc code, std::string what) {
    return error{.code = code, .what = std::move(what), .path = pool.path()};
}

/// The lines as one commit of the log. Their bytes stand in private memory already.
void commit_in_log(open_pool& pool, void* first, const std::uint64_t* dirty, std::size_t count) {
    // Ending threads have no write set any more, and a handler may have interrupted a commit.
    if (detail::thread_is_gone()) throw failure(detail::refused_by_stage());
    if (detail::is_handler_frame(__builtin_frame_address(0), __builtin_return_address(0)))
        throw failure(detail::refused_in_signal_handler());
    struct of_thread {
        write_set words;
        detail::end_of_thread end;
    };
    static thread_local of_thread mine;
    write_set& words = mine.words;
    words.clear();
    line_medium::for_each_line(first, dirty, count, [&](void* line) {
        const auto offset = static_cast<std::uint64_t>(static_cast<std::byte*>(line) - pool.base());
        words.store_run(offset, line, persist::line_bytes / 8);
    });
    const cancellation_held uncancelled;
    group_log& log = *pool.groups();
    if (auto admitted = log.admit(words.payload_words()); !admitted) throw failure(std::move(admitted).give_error());
    const auto ticket = log.append(words.payload(), words.payload_words(), false);
    if (auto durable = log.wait(ticket); !durable) throw failure(std::move(durable).give_error());
}

/// As the pool needs that holds the lines; lines in none are in memory that nothing outlives.
void commit_where_it_lies(void* first, const std::uint64_t* dirty, std::size_t count) {
    open_pool* const pool = find_open_pool(first);
    if (pool == nullptr) return persist::order_for_kill();
    if (pool->groups() != nullptr) return commit_in_log(*pool, first, dirty, count);
    if (!pool->persists_lines()) return persist::order_for_kill();
    const bool one = count == 1;
    line_medium::for_each_line(first, dirty, count, [&](const void* line) {
        persist::write_back_one(pool->lines(), line, one ? site::line_write_back : site::lines_write_back);
    });
    persist::fence(pool->lines(), one ? site::line_fence : site::lines_fence);
}

/// The pools of lines that are open, to know what a commit must do.
class open_line_pools {
public:
    struct entry {
        const open_pool* pool;
        std::uint32_t needs;
    };
    using list = detail::list_with_room<entry>;

    list& room_in() noexcept { return pools_; }
    /// Requires: there is room.
    void add(const open_pool& pool) noexcept {
        const std::lock_guard guard(pools_.mutex);
        pools_.all.push_back({&pool, needs_of(pool)});
        publish();
    }
    void remove(const open_pool& pool) noexcept {
        const std::lock_guard guard(pools_.mutex);
        std::erase_if(pools_.all, [&](const auto& each) { return each.pool == &pool; });
        publish();
    }

    void before_fork() { pools_.mutex.lock(); }
    void after_fork_in_parent() { pools_.mutex.unlock(); }
    void after_fork_in_child() {
        pools_.all.clear();
        publish();
        pools_.mutex.unlock();
    }

private:
    static std::uint32_t needs_of(const open_pool& pool) noexcept {
        using namespace line_medium_state;
        if (pool.homes_are_private()) return otherwise;
        if (!pool.persists_lines()) return 0;
        if (pool.lines().delay_ns != 0) return otherwise;
        return fences | (pool.lines().write_back_needed ? write_backs : 0u);
    }
    void publish() noexcept {
        std::uint32_t all = 0;
        for (const entry& each : pools_.all) all |= each.needs;
        line_medium_state::commit_otherwise.store(&commit_where_it_lies, std::memory_order_release);
        line_medium_state::needs.store(all, std::memory_order_release);
    }

    list pools_;
};

/// Never destroyed: a pool with static storage duration may close after this file's statics.
open_line_pools& pools() {
    static auto* const the_pools = new open_line_pools;
    [[maybe_unused]] static const int registered =
        pthread_atfork([] { the_pools->before_fork(); }, [] { the_pools->after_fork_in_parent(); },
                       [] { the_pools->after_fork_in_child(); });
    return *the_pools;
}

/// The version that the pool keeps: what the objects are, before the user's.
std::string full_version(std::string_view version, const detail::lines_root& what) {
    return (what.many_lines ? "lines<" : "line<") + std::to_string(what.object_bytes) + "> " + std::string(version);
}

/// The new elements, stored by the open transaction.
void store_elements(redo_transaction& transaction, std::byte* at, const detail::lines_root& what) {
    // Aligned as in the pool: the object may look where it lies.
    std::vector<std::byte> room(what.element_bytes + format::cache_line_bytes);
    void* element = room.data();
    std::size_t space = room.size();
    std::align(format::cache_line_bytes, what.element_bytes, element, space);
    what.construct(element);
    for (std::size_t i = 0; i < what.count; ++i)
        store_bytes(transaction, at + i * what.element_bytes, element, what.element_bytes);
}

}  // namespace

result<line_pool> line_pool::create(const std::string& path, const create_options& options) {
    if (auto entered = detail::check_entry_without_pool(); !entered) return entered.error();
    return wrap([&] { return open_pool::create(path, line_engine::description, options); });
}

result<line_pool> line_pool::open(const std::string& path, const open_options& options) {
    if (auto entered = detail::check_entry_without_pool(); !entered) return entered.error();
    return wrap([&] { return open_pool::open(path, line_engine::description, options); });
}

result<line_pool> line_pool::open_or_create(const std::string& path, const create_options& options) {
    auto opened = open(path, options);
    if (opened || opened.error().code != errc::not_found) return opened;
    auto created = create(path, options);
    // Another process may have been first.
    if (!created && created.error().code == errc::already_exists) return open(path, options);
    return created;
}

result<line_pool> line_pool::open_shared(const std::string& path, const open_options& options) {
    if (auto entered = detail::check_entry_without_pool(); !entered) return entered.error();
    return wrap([&] { return open_pool::open_shared(path, line_engine::description, options); });
}

/// The handle of what `open` opens. Its memory comes first: a pool that was created is there.
template <class F>
result<line_pool> line_pool::wrap(F&& open) {
    line_pool handle;
    handle.recovered_ = std::make_unique<detail::list_with_room<const std::byte*>>();
    const open_line_pools::list::room room(pools().room_in());
    auto opened = open();
    if (!opened) return opened.error();
    handle.core_ = *std::move(opened);
    pools().add(*handle.core_);
    return handle;
}

line_pool& line_pool::operator=(line_pool&& other) noexcept {
    if (this == &other) return *this;
    let_go(detail::letting_go::closes);
    core_ = std::move(other.core_);
    recovered_ = std::move(other.recovered_);
    return *this;
}

line_pool::~line_pool() { let_go(detail::letting_go::closes); }

void line_pool::let_go(detail::letting_go how) noexcept {
    if (!core_) return;
    // One that stays open is served as before.
    if (detail::can_let_go(*core_)) pools().remove(*core_);
    detail::let_go(std::move(core_), how);
}

pool_info line_pool::info() const {
    detail::require_entry(core_.get(), detail::inside_transaction::allowed);
    return core_->info();
}

result<std::vector<root_listing>> line_pool::roots() const {
    if (auto entered = detail::check_entry(core_.get(), detail::inside_transaction::allowed); !entered)
        return entered.error();
    return list_roots(*core_);
}

open_pool& line_pool::core() {
    if (!core_) throw failure(detail::closed_error());
    return *core_;
}

result<void> line_pool::close() {
    if (auto entered = detail::check_entry(core_.get(), detail::inside_transaction::refused); !entered) {
        if (core_ && core_->is_inherited()) core_.reset();
        return entered;
    }
    pools().remove(*core_);
    const auto core = std::move(core_);
    return core->close();
}

void line_pool::abandon() noexcept { let_go(detail::letting_go::abandons); }

result<void> line_pool::grow(std::uint64_t bytes) {
    if (auto entered = detail::check_entry(core_.get(), detail::inside_transaction::allowed); !entered) return entered;
    if (core_->is_shared()) return about(*core_, errc::misuse, "a shared pool does not grow; open it for one process");
    return core_->grow(bytes);
}

result<std::byte*> line_pool::root_of(std::string_view name, std::string_view version,
                                      const detail::lines_root& what) {
    if (auto entered = detail::check_entry(core_.get(), detail::inside_transaction::allowed); !entered)
        return entered.error();
    const std::string kept = full_version(version, what);
    const root_type type{what.element_bytes * what.count, format::cache_line_bytes, kept};
    return core_->is_shared() ? find_shared(name, type) : find_or_make(name, type, what);
}

result<std::byte*> line_pool::find_shared(std::string_view name, const root_type& type) {
    auto found = find_root(*core_, name, type);
    if (found && *found == nullptr)
        return about(*core_, errc::not_found,
                     "a shared pool has no root \"" + std::string(name) + "\"; open it for one process to create it");
    return found;
}

result<std::byte*> line_pool::find_or_make(std::string_view name, const root_type& type,
                                           const detail::lines_root& what) {
    if (auto checked = check_log_takes(what); !checked) return checked.error();
    // Before there is a root, which it is to be told of.
    const detail::list_with_room<const std::byte*>::room room(*recovered_);
    [[maybe_unused]] std::uint64_t made_by = 0;
    const auto make = [&]() -> result<std::byte*> {
        auto& transaction = current_transaction<line_engine>();
        auto found = find_root_or_prepare(transaction, name, type);
        if (!found || *found != nullptr) return found;
        std::byte* const made = line_engine::allocate(type.bytes, format::cache_line_bytes);
        store_elements(transaction, made, what);
        if (auto entered = enter_root(transaction, name, type, made); !entered) return entered.error();
        // The lock of the roots is held until the commit is decided, so the next number is this commit's.
        if (!core_->homes_are_private()) made_by = core_->lanes()->last_sequence() + 1;
        return made;
    };
    auto found = run_transaction<line_engine>(*core_, make);
    if (!found) return found;
    if (!core_->homes_are_private()) {
        if (auto home = core_->checkpoint(); !home) return home.error();
        HOLDFAST_ASSERT(!core_->persists_lines() || core_->lanes()->truncated() >= made_by,
                        "no record names a root of lines whose address is handed out");
    }
    if (auto recovered = recover_once(name, *found, what); !recovered) return recovered.error();
    return found;
}

result<void> line_pool::recover_once(std::string_view name, std::byte* elements, const detail::lines_root& what) {
    if (what.recover == nullptr) return {};
    const std::lock_guard guard(recovered_->mutex);
    if (std::find(recovered_->all.begin(), recovered_->all.end(), elements) != recovered_->all.end()) return {};
    for (std::size_t i = 0; i < what.count; ++i) {
        std::byte* const element = elements + i * what.element_bytes;
        if (what.recover(element)) continue;
        error reason = about(*core_, errc::corrupt, "neither copy of element " + std::to_string(i) + " of root \"" +
                                                        std::string(name) + "\" is whole");
        reason.offset = static_cast<std::uint64_t>(element - core_->base());
        return reason;
    }
    recovered_->all.push_back(elements);
    return {};
}

/// Better here than in the first transaction.
result<void> line_pool::check_log_takes(const detail::lines_root& what) const {
    if (!core_->homes_are_private()) return {};
    constexpr std::uint64_t tag_words_of_line = 1;
    const std::uint64_t lines = what.element_bytes / format::cache_line_bytes;
    return core_->groups()->admit(lines * (8 + tag_words_of_line));
}

}  // namespace holdfast
