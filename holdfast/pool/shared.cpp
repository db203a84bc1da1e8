// A pool of lines that several processes have open at once.
//
// Protocol
//   1. Opening and closing take turns, by a lock of its own.
//   2. Opening: take the turn and try the one holder's lock. Who gets it opens the pool as ever, which recovers it and
//      leaves the log empty, lets go of log and heap, makes itself known as a sharer, makes the lock a shared one, and
//      ends the turn.
//   3. Who does not get it takes a shared lock. That alone says little, for a process that only looks at an unclean
//      pool has one, too. If there is a sharer, then somebody has done step 2 and the pool has been shared ever since:
//      it only has to be mapped. Become a sharer, end the turn. If there is none, begin anew.
//   4. Closing: wait for the turn. Who then sees no other sharer is the last, and marks the pool clean. All locks go
//      in one call, the turn among them: of several that close together each sees those that have not closed yet.
// A process that dies lets its locks go. If it was the last, the pool stays dirty, and the next step 2 finds an empty
// log.
#include <holdfast/pool/opener.hpp>
#include <holdfast/base/threads.hpp>
#include <holdfast/pool/registry.hpp>
#include <holdfast/pool/sites.hpp>
#include <holdfast/pool/superblock.hpp>

#include <chrono>
#include <thread>

namespace holdfast {
namespace {

constexpr std::chrono::milliseconds between_tries{5};

/// How long another process may take to recover the pool, or to close it as the last one. Either may write all of a
/// device back, at 50 ms a GiB; four times that, as several may share the way to it.
std::chrono::milliseconds patience_for(std::uint64_t bytes) {
    constexpr std::chrono::milliseconds at_least{2000}, a_gibibyte{200};
    return at_least + a_gibibyte * static_cast<std::int64_t>(bytes >> 30);
}

error unavailable(const std::string& path, std::string what, std::string expected, std::string found) {
    return error{.code = errc::level_unavailable,
                 .what = std::move(what),
                 .path = path,
                 .expected = std::move(expected),
                 .found = std::move(found)};
}

result<void> check_shareable(const persist::file& file, const open_options& options) {
    auto storage = persist::discover(file, pool_opener::discovery_of(options));
    if (!storage) return storage.error();
    if (storage->kind == persist::medium::file && options.durability == level::power)
        return unavailable(file.path(),
                           "processes cannot share an ordinary file at power: changes are private memory until "
                           "they are in the log",
                           "process", "power");
    return {};
}

}  // namespace

result<std::unique_ptr<open_pool>> open_pool::open_shared(const std::string& path, const engine_description& engine,
                                                          const open_options& options) {
    const cancellation_held uncancelled;
    const auto began = std::chrono::steady_clock::now();
    for (;;) {
        auto file = persist::file::open(path, persist::file::access::read_write);
        if (!file) return file.error();
        if (auto checked = check_shareable(*file, options); !checked) return checked.error();
        auto tried = file->take_turn(false);
        const bool my_turn = tried.has_value();
        if (my_turn) tried = file->lock();
        const bool alone = tried.has_value();
        if (!alone && tried.error().code != errc::busy) return tried.error();
        if (alone || (my_turn && file->lock_shared() && file->has_other_sharers())) {
            const auto current = file->is_at_path();
            if (!current) return current.error();
            if (!*current) continue;
            auto shared = alone ? mapped_pool::begin_sharing(std::move(*file), engine, options)
                                : mapped_pool::join(std::move(*file), engine, options);
            if (shared || alone || shared.error().code != errc::busy) return as_open_pool(std::move(shared));
        }
        const auto bytes = file->size();
        if (!bytes) return bytes.error();
        if (std::chrono::steady_clock::now() > began + patience_for(*bytes)) return tried.error();
        std::this_thread::sleep_for(between_tries);
    }
}

result<std::unique_ptr<mapped_pool>> mapped_pool::begin_sharing(persist::file file, const engine_description& engine,
                                                                const open_options& options) {
    auto pool = pool_opener::open(std::move(file), engine, options);
    if (!pool) return pool;
    own((*pool)->owned_lanes_, (*pool)->lanes_, {});
    own((*pool)->owned_heap_, (*pool)->heap_, {});
    (*pool)->shared_ = true;
    if (auto joined = (*pool)->file_->join_sharers(); !joined) return joined.error();
    if (auto shared = (*pool)->file_->change_lock(false); !shared) return shared.error();
    (*pool)->file_->end_turn();
    return pool;
}

result<std::unique_ptr<mapped_pool>> mapped_pool::join(persist::file file, const engine_description& engine,
                                                       const open_options& options) {
    std::unique_ptr<mapped_pool> pool(new mapped_pool);
    pool->path_ = file.path();
    pool->file_ = std::move(file);
    pool->engine_name_ = engine.name;
    pool->level_ = options.durability;
    auto block = read_superblock(*pool->file_);
    if (!block) return block.error();
    pool->superblock_ = *block;
    pool->unsettled_ = block->unsettled != 0;
    if (block->state == format::pool_state::clean) {
        error closed;
        closed.code = errc::busy;
        closed.what = "the last process that shared the pool is closing it";
        closed.path = pool->path_;
        return closed;
    }
    if (auto checked = pool_opener::check_header(*pool, engine, options); !checked) return checked.error();
    if (block->level != static_cast<std::uint32_t>(options.durability))
        return unavailable(pool->path_, "other processes have the pool open at another level",
                           std::string(name_of(static_cast<level>(block->level))),
                           std::string(name_of(options.durability)));
    auto storage = persist::discover(*pool->file_, pool_opener::discovery_of(options));
    if (!storage) return storage.error();
    pool->storage_ = std::move(*storage);
    if (auto mapped = pool_opener::map(*pool, engine, options); !mapped) return mapped.error();
    if (auto joined = pool->file_->join_sharers(); !joined) return joined.error();
    pool->file_->end_turn();
    pool->shared_ = true;
    register_pool(*pool);
    return pool;
}

result<void> mapped_pool::close_shared() {
    shared_ = false;
    if (process_ != ::getpid()) return {};
    result<void> done = file_->take_turn(true);
    if (done && !file_->has_other_sharers()) {
        // Others may have written it since.
        auto block = read_superblock(*file_);
        if (block) superblock_ = *block;
        if (!block) done = block.error();
        // On a file system an opening's sync covers what a killed sharer stored and did not write back, since the
        // kernel knows that it was stored to. Of a device nobody knows, and the next opening takes a clean pool for
        // durable.
        const bool needs_sync =
            (level_ < level::power && storage_.kind != persist::medium::tmpfs) || file_->is_device();
        if (done && needs_sync) done = strengthen(persist::site::superblock);
        if (done) done = write_superblock(format::pool_state::clean, level::power);
    }
    return done;
}

}  // namespace holdfast
