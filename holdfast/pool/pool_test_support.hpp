// What this room's tests share: engines that are only descriptions, small pools, raw files.
#pragma once

#include <holdfast/base/checksum.hpp>
#include <holdfast/format/superblock.hpp>
#include <holdfast/log/groups.hpp>
#include <holdfast/log/lanes.hpp>
#include <holdfast/log/record.hpp>
#include <holdfast/log/sites.hpp>
#include <holdfast/persist/counters.hpp>
#include <holdfast/persist/seam.hpp>
#include <holdfast/persist/test_scratch.hpp>
#include <holdfast/pool/open_pool.hpp>
#include <holdfast/pool/options.hpp>
#include <holdfast/pool/stand_ins.hpp>

#include <gtest/gtest.h>

#include <fcntl.h>
#include <sys/stat.h>
#include <unistd.h>

#include <cstdint>
#include <cstring>
#include <memory>
#include <string>
#include <utility>
#include <vector>

namespace holdfast::test {

using persist::test::scratch_directory;
using pool_pointer = std::unique_ptr<open_pool>;

inline constexpr engine_description redo_like{.name = "redo_like"};
inline constexpr engine_description undo_like{
    .name = "undo_like", .power_on_files = false, .logs_new_values = false};
inline constexpr engine_description forgetful{
    .name = "forgetful", .power_on_files = false, .recovers = false, .logs_new_values = false};

/// The smallest pool, at an address that every build has free. `order` keeps two of them apart.
inline create_options small_pool(level durability, std::uint64_t order = 0) {
    create_options options;
    options.durability = durability;
    options.bytes = 256 << 10;
    options.reserved_bytes = std::uint64_t{1} << 30;
    options.base = HOLDFAST_TEST_BASE_ADDRESS + (order << 31);
    return options;
}
/// The same on tmpfs that stands for NVRAM.
inline create_options small_nvram_pool(level durability = level::power) {
    create_options options = small_pool(durability);
    options.tmpfs_is_nvram = true;
    options.records = persist::record_way::streamed;
    return options;
}

template <class T>
errc code_of(const result<T>& failed) {
    EXPECT_FALSE(failed.has_value());
    return failed ? errc::misuse : failed.error().code;
}

/// The whole file.
inline std::vector<std::byte> bytes_of(const std::string& path) {
    const int descriptor = ::open(path.c_str(), O_RDONLY | O_CLOEXEC);
    EXPECT_GE(descriptor, 0) << path;
    std::vector<std::byte> bytes(static_cast<std::size_t>(std::max<off_t>(::lseek(descriptor, 0, SEEK_END), 0)));
    EXPECT_EQ(::pread(descriptor, bytes.data(), bytes.size(), 0), static_cast<ssize_t>(bytes.size()));
    ::close(descriptor);
    return bytes;
}
inline void write_bytes(const std::string& path, std::uint64_t offset, const void* bytes, std::size_t size) {
    const int descriptor = ::open(path.c_str(), O_WRONLY | O_CREAT | O_CLOEXEC, 0600);
    EXPECT_EQ(::pwrite(descriptor, bytes, size, static_cast<off_t>(offset)), static_cast<ssize_t>(size));
    ::close(descriptor);
}

inline format::superblock superblock_copy(const std::string& path, unsigned copy) {
    const auto bytes = bytes_of(path);
    format::superblock block;
    std::memcpy(&block, bytes.data() + format::superblock_offset[copy], sizeof block);
    return block;
}
/// Writes a copy with a right checksum, whatever it says.
inline void put_superblock(const std::string& path, unsigned copy, format::superblock block) {
    block.checksum = ~crc32c(&block, offsetof(format::superblock, checksum), ~0u);
    write_bytes(path, format::superblock_offset[copy], &block, sizeof block);
}
/// Changes both copies alike, with right checksums.
template <class F>
void edit_superblocks(const std::string& path, F&& edit) {
    for (unsigned copy = 0; copy < 2; ++copy) {
        format::superblock block = superblock_copy(path, copy);
        edit(block);
        put_superblock(path, copy, block);
    }
}
inline void damage_superblock(const std::string& path, unsigned copy) {
    const char noise[] = "damaged";
    write_bytes(path, format::superblock_offset[copy] + 200, noise, sizeof noise);
}

/// A word of the heap zone that no metadata uses in a pool without blocks: its last.
inline std::uint64_t* last_word(open_pool& pool) {
    return reinterpret_cast<std::uint64_t*>(pool.base() + pool.size() - 8);
}

/// Commits one word as the redo engine would; `home_stored` false: killed between log and home.
inline void commit_word(open_pool& pool, std::uint64_t value, bool home_stored = true) {
    std::uint64_t record[8] = {};
    record[format::record_header_words] = format::run_tag(pool.size() - 8, 1);
    record[format::record_header_words + 1] = value;
    if (group_log* log = pool.groups()) {
        const auto ticket = log->append(record + format::record_header_words, 2, false);
        EXPECT_TRUE(log->wait(ticket));
        if (home_stored) *last_word(pool) = value;
        return;
    }
    lane_log& log = *pool.lanes();
    auto& lane = log.acquire();
    EXPECT_TRUE(log.reserve(lane, record + format::record_header_words, 2));
    const auto sequence = log.draw_sequence(lane);
    log.append(lane, record, 2, sequence, format::record_kind::redo);
    if (pool.persists_lines()) persist::fence(pool.lines(), persist::site::log_commit_fence);
    if (!home_stored) return;
    *last_word(pool) = value;
    log.release(lane);
}

/// Creates a clean, closed pool.
inline void make_closed(const std::string& path, const create_options& options,
                        const engine_description& engine = redo_like) {
    auto pool = open_pool::create(path, engine, options);
    ASSERT_TRUE(pool) << pool.error().text();
    const auto closed = (*pool)->close();
    ASSERT_TRUE(closed) << closed.error().text();
}
/// Creates a pool and lets it go as a killed process would, with one commit only in the log.
inline void make_unclean(const std::string& path, const create_options& options,
                         const engine_description& engine = redo_like, std::uint64_t value = 0) {
    auto pool = open_pool::create(path, engine, options);
    ASSERT_TRUE(pool) << pool.error().text();
    if (value != 0) commit_word(**pool, value, false);
    (*pool)->abandon();
}

/// Another boot of the machine, for the length of a test.
class boot_named {
public:
    explicit boot_named(const char* id) : before_(std::exchange(stand_ins_now.boot_id, id)) {}
    ~boot_named() { stand_ins_now.boot_id = before_; }
    boot_named(const boot_named&) = delete;
    boot_named& operator=(const boot_named&) = delete;

private:
    const char* before_;
};

/// Copies of a file count as the file itself, for the length of a test.
class copies_count {
public:
    copies_count() : before_(std::exchange(stand_ins_now.file_mark, 1)) {}
    ~copies_count() { stand_ins_now.file_mark = before_; }
    copies_count(const copies_count&) = delete;
    copies_count& operator=(const copies_count&) = delete;

private:
    std::uint32_t before_;
};

}  // namespace holdfast::test
