// Looking at a pool without changing it.
#include <holdfast/log/replay.hpp>
#include <holdfast/pool/mapped_pool.hpp>
#include <holdfast/pool/registry.hpp>
#include <holdfast/pool/superblock.hpp>
#include <holdfast/powerfail/save.hpp>

namespace holdfast {

result<std::unique_ptr<open_pool>> open_pool::inspect(const std::string& path) {
    auto file = persist::file::open_locked(path, persist::file::access::read_only);
    if (!file) return file.error();
    return inspect(std::move(*file));
}

result<std::unique_ptr<open_pool>> open_pool::inspect(persist::file file) {
    const std::string path = file.path();
    auto block = read_superblock(file);
    if (!block) return block.error();
    auto mapped = persist::mapping::map(file, block->base, block->reserved_bytes, block->pool_bytes,
                                        persist::mapping::kind::private_copy);
    if (!mapped) return mapped.error();
    const auto blame = [&](error reason) {
        reason.path = path;
        return reason;
    };
    const std::span<std::byte> bytes(mapped->data(), block->pool_bytes);
    const auto reading = log_reading_of(*block, file);
    if (!reading) return reading.error();
    const auto shadow = log_outside_pool(*block, file);
    if (!shadow) return blame(shadow.error());
    if (*shadow) powerfail::copy_log((*shadow)->header(), bytes.data());
    auto replay = log_replay::read(bytes, log_of(*block), *reading);
    if (!replay) return blame(replay.error());
    // Also of a pool that says clean, where this is nothing: the copy that said dirty may be damaged.
    replay->apply(bytes);
    std::unique_ptr<mapped_pool> pool(new mapped_pool);
    pool->take_zones(zones_of(*block));
    auto heap = heap::open(bytes.data(), pool->zones());
    if (!heap) return blame(heap.error());
    mapped_pool::own(pool->owned_heap_, pool->heap_, std::move(*heap));
    pool->recovery_ = replay->report();
    pool->superblock_ = *block;
    pool->path_ = path;
    pool->engine_name_ = text_of(block->engine);
    pool->level_ = static_cast<level>(block->level);
    pool->file_ = std::move(file);
    pool->mapping_ = std::move(*mapped);
    pool->base_ = pool->medium_ = pool->mapping_->data();
    pool->size_ = block->pool_bytes;
    register_pool(*pool);
    return std::unique_ptr<open_pool>(std::move(pool));
}

}  // namespace holdfast
