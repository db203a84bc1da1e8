#include <holdfast/pool/raw_copy.hpp>

#include <holdfast/persist/copy_file.hpp>
#include <holdfast/pool/superblock.hpp>

#include <algorithm>
#include <limits>

namespace holdfast {
namespace {

/// Were the older superblock there alone, a pool that is refused might be taken for one that was closed before.
std::uint64_t newest_superblock_in(const persist::file& pool) {
    const auto age = [&](unsigned copy) -> std::uint64_t {
        const auto block = read_superblock_copy(pool, copy);
        if (block) return block->generation;
        // Of a newer library: what this one wrote is older.
        return block.error().code == errc::feature_unsupported ? std::numeric_limits<std::uint64_t>::max() : 0;
    };
    return format::superblock_offset[age(1) > age(0) ? 1 : 0];
}

}  // namespace

result<std::uint64_t> copy_raw(const persist::file& from, const std::string& path) {
    const auto size = from.size();
    if (!size) return size.error();
    persist::copied_part part{.bytes = *size, .newest = newest_superblock_in(from)};
    const auto first = read_superblock_copy(from, 0);
    const auto second = read_superblock_copy(from, 1);
    // One that cannot be read may be the one with which the pool grew.
    if (from.is_device() && first && second)
        part.bytes = std::min(*size, std::max(first->pool_bytes, second->pool_bytes));
    if (auto copied = persist::copy_to(from, path, part); !copied) return copied.error();
    return part.bytes;
}

result<void> erase_raw(const std::string& device) {
    return persist::file::erase_device(device, newest_superblock_in);
}

}  // namespace holdfast
