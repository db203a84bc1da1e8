#include <cache/pool_cache.hpp>

#include <workload/cache/check.hpp>

#include <holdfast/engine/access.hpp>
#include <holdfast/engine/combining_mutex.hpp>
#include <holdfast/engine/redo.hpp>
#include <holdfast/handle/pool.hpp>

#include <optional>
#include <utility>

namespace holdfast {
namespace {

/// Whether it may help to do less at once.
bool is_want_of_room(errc code) { return code == errc::transaction_too_large || code == errc::out_of_space; }

workload::cache_key key_of(std::string_view text) { return {text.data(), text.size()}; }
workload::cache_entry entry_of(const cache_value& value) {
    return {value.text.data(), value.text.size(), value.flags, value.lifetime_s};
}

/// Blocks are larger than what they count for, and slabs are not full.
std::uint64_t bytes_for(const cache_settings& settings) {
    const std::uint64_t buckets = settings.buckets != 0 ? settings.buckets : settings.limit_bytes / 128;
    return settings.limit_bytes + settings.limit_bytes / 2 + 2 * buckets * sizeof(void*) + (16 << 20);
}

error impossible_settings() {
    return {.code = errc::invalid_argument, .what = "the cache's settings are out of range"};
}

}  // namespace

struct pool_cache::state {
    /// The pool's access with a lock around each transaction, which says why one failed.
    class locked_access : public pool_access<redo> {
    public:
        locked_access(open_pool& pool, combining_mutex& lock, std::optional<error>* reason = nullptr) noexcept
            : pool_access<redo>(pool), pool_(&pool), lock_(&lock), reason_(reason) {}

        template <class F>
        bool atomically(F&& f) const {
            // A command that failed is tried again, with less at once. Behind a commit whose outcome is unknown the
            // pool is poisoned: that error would hide the first one, and say that nothing has happened.
            if (reason_ != nullptr && *reason_ && !is_want_of_room((*reason_)->code)) return false;
            auto done = run_transaction<redo>(*pool_, f, *lock_);
            if (!done && reason_ != nullptr) *reason_ = done.error();
            return done.has_value();
        }

    private:
        open_pool* pool_;
        combining_mutex* lock_;
        std::optional<error>* reason_;
    };

    using cache_type = workload::cache<locked_access>;

    explicit state(basic_pool<redo>&& opened, workload::cache_root* root)
        : pool(std::move(opened)), all(locked_access(pool.core(), lock), root) {}

    basic_pool<redo> pool;
    combining_mutex lock;
    cache_type all;
};

pool_cache::pool_cache(std::unique_ptr<state> opened) noexcept : state_(std::move(opened)) {}
pool_cache::pool_cache(pool_cache&&) noexcept = default;
pool_cache& pool_cache::operator=(pool_cache&&) noexcept = default;
pool_cache::~pool_cache() = default;

result<pool_cache> pool_cache::open_or_create(const std::string& path, const pool_cache_options& options) {
    create_options pool = options.pool;
    pool.bytes = options.pool_bytes != 0 ? options.pool_bytes : bytes_for(options.cache);
    auto opened = basic_pool<redo>::open(path, pool);
    if (!opened && opened.error().code == errc::not_found) {
        if (!workload::are_possible(options.cache)) return impossible_settings();
        opened = basic_pool<redo>::open_or_create(path, pool);
    }
    if (!opened) return opened.error();
    // A root's type is its size and version: another program's root must not be taken for a cache.
    auto root = opened->plain_root<workload::cache_root>("cache", "key-value cache 1");
    if (!root) return root.error();
    auto made = std::make_unique<state>(std::move(*opened), *root);
    if (!made->all.exists()) {
        if (!workload::are_possible(options.cache)) return impossible_settings();
        // The pool is there already, for other settings perhaps.
        if (made->pool.info().bytes < pool.bytes)
            if (auto grown = made->pool.grow(pool.bytes); !grown) return grown.error();
        std::optional<error> reason;
        state::cache_type creating = made->all.with(state::locked_access(made->pool.core(), made->lock, &reason));
        if (!creating.create(options.cache)) return reason ? *reason : impossible_settings();
        made->all = state::cache_type(state::locked_access(made->pool.core(), made->lock), *root);
    }
    return pool_cache(std::move(made));
}

/// What f(cache) returns, or why its transaction failed.
template <class F>
auto pool_cache::run(F&& f) {
    using value = decltype(f(std::declval<const state::cache_type&>()));
    if (!state_) return result<value>(error{.code = errc::misuse, .what = "the cache is closed"});
    std::optional<error> reason;
    value said = f(state_->all.with(state::locked_access(state_->pool.core(), state_->lock, &reason)));
    cache_answer answer{};
    if constexpr (std::is_same_v<value, cache_answer>) answer = said;
    if constexpr (requires { said.answer; }) answer = said.answer;
    if (answer == cache_answer::failed && reason) return result<value>(*reason);
    return result<value>(std::move(said));
}

/// The same of a command that stores `bytes` bytes. Where the pool has no room for them although the limit allows it,
/// blocks of other sizes are in the way, and the oldest items go until there is; but not more than there were, whatever
/// other threads store meanwhile.
template <class F>
auto pool_cache::run_with_room(std::string_view key, std::uint64_t bytes, std::uint64_t now_s, F&& f) {
    auto said = run(f);
    if (said || said.error().code != errc::out_of_space) return said;
    const pool_info pool = state_->pool.info();
    const auto before = statistics();
    if (!before || bytes > pool.bytes - pool.log_bytes) return said;
    std::uint64_t evicted = 0;
    for (std::uint64_t all_evicted = 0; all_evicted < before->items; all_evicted += evicted) {
        const auto made = run([&](const auto& all) {
            return all.evict_beside(key_of(key), now_s, evicted) ? cache_answer::stored : cache_answer::failed;
        });
        if (!made || evicted == 0) return said;
        said = run(f);
        if (said || said.error().code != errc::out_of_space) return said;
    }
    return said;
}

result<cache_hit> pool_cache::get(std::string_view key, std::uint64_t now_s) {
    return run([&](const auto& all) {
        cache_hit hit;
        workload::cache_found found{nullptr, 0};
        hit.answer = all.get(key_of(key), now_s, found, [&](std::uint64_t bytes) {
            hit.text.resize(bytes);
            found.text = hit.text.data();
            found.room = bytes;
        });
        hit.flags = found.flags;
        hit.unique = found.unique;
        return hit;
    });
}

result<cache_answer> pool_cache::set(std::string_view key, const cache_value& value, std::uint64_t now_s) {
    return run_with_room(key, value.text.size(), now_s,
                         [&](const auto& all) { return all.set(key_of(key), entry_of(value), now_s); });
}
result<cache_answer> pool_cache::add(std::string_view key, const cache_value& value, std::uint64_t now_s) {
    return run_with_room(key, value.text.size(), now_s,
                         [&](const auto& all) { return all.add(key_of(key), entry_of(value), now_s); });
}
result<cache_answer> pool_cache::replace(std::string_view key, const cache_value& value, std::uint64_t now_s) {
    return run_with_room(key, value.text.size(), now_s,
                         [&](const auto& all) { return all.replace(key_of(key), entry_of(value), now_s); });
}
result<cache_answer> pool_cache::append(std::string_view key, std::string_view text, std::uint64_t now_s) {
    return run_with_room(key, text.size(), now_s,
                         [&](const auto& all) { return all.append(key_of(key), entry_of({text}), now_s); });
}
result<cache_answer> pool_cache::prepend(std::string_view key, std::string_view text, std::uint64_t now_s) {
    return run_with_room(key, text.size(), now_s,
                         [&](const auto& all) { return all.prepend(key_of(key), entry_of({text}), now_s); });
}
result<cache_answer> pool_cache::cas(std::string_view key, const cache_value& value, std::uint64_t unique,
                                     std::uint64_t now_s) {
    return run_with_room(key, value.text.size(), now_s,
                         [&](const auto& all) { return all.cas(key_of(key), entry_of(value), unique, now_s); });
}

result<cache_number> pool_cache::increment(std::string_view key, std::uint64_t by, std::uint64_t now_s) {
    return run_with_room(key, 0, now_s, [&](const auto& all) {
        cache_number said;
        said.answer = all.increment(key_of(key), by, now_s, said.number);
        return said;
    });
}
result<cache_number> pool_cache::decrement(std::string_view key, std::uint64_t by, std::uint64_t now_s) {
    return run_with_room(key, 0, now_s, [&](const auto& all) {
        cache_number said;
        said.answer = all.decrement(key_of(key), by, now_s, said.number);
        return said;
    });
}

result<cache_answer> pool_cache::remove(std::string_view key, std::uint64_t now_s) {
    return run([&](const auto& all) { return all.remove(key_of(key), now_s); });
}
result<cache_answer> pool_cache::touch(std::string_view key, std::int64_t lifetime_s, std::uint64_t now_s) {
    return run([&](const auto& all) { return all.touch(key_of(key), lifetime_s, now_s); });
}

result<void> pool_cache::flush_all(std::int64_t delay_s, std::uint64_t now_s) {
    auto done = run([&](const auto& all) {
        return all.flush_all(delay_s, now_s) ? cache_answer::stored : cache_answer::failed;
    });
    if (!done) return done.error();
    return {};
}

result<cache_statistics> pool_cache::statistics() {
    cache_statistics counts{};
    auto done = run([&](const auto& all) {
        return all.statistics(counts) ? cache_answer::found : cache_answer::failed;
    });
    if (!done) return done.error();
    return counts;
}

result<void> pool_cache::check() {
    if (!state_) return error{.code = errc::misuse, .what = "the cache is closed"};
    // It reads outside of transactions, which would notice a forked child.
    if (auto entered = detail::check_entry(&state_->pool.core(), detail::inside_transaction::refused); !entered)
        return entered;
    const state::locked_access memory(state_->pool.core(), state_->lock);
    const workload::check_report found = workload::cache_check<state::locked_access>(memory, state_->all).run();
    if (found.ok()) return {};
    return error{.code = errc::corrupt, .what = std::string("the cache: ") + found.problem,
                 .path = state_->pool.info().path};
}

result<void> pool_cache::close() {
    if (!state_) return error{.code = errc::misuse, .what = "the cache is closed"};
    auto closed = state_->pool.close();
    state_.reset();
    return closed;
}

}  // namespace holdfast
