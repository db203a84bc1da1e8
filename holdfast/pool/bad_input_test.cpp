// Every kind of bad input has its own error, names what is wrong, and changes nothing.
#include <holdfast/log/segment_header.hpp>
#include <holdfast/log/truncation.hpp>
#include <holdfast/pool/options.hpp>
#include <holdfast/pool/pool_test_support.hpp>
#include <holdfast/pool/sites.hpp>
#include <holdfast/pool/superblock.hpp>

#include <sys/mount.h>

#include <functional>

namespace holdfast {
namespace {

using namespace holdfast::test;

class PoolBadInput : public ::testing::Test {
protected:
    std::string path() const { return scratch_.file("pool"); }

    /// Opens what stands at path(): refused with `code`, named, and the file's bytes unchanged.
    error expect_refused(errc code, const open_options& options = small_pool(level::process),
                         const engine_description& engine = redo_like) {
        const bool exists = std::filesystem::exists(path());
        const auto before = exists ? bytes_of(path()) : std::vector<std::byte>();
        const auto opened = open_pool::open(path(), engine, options);
        EXPECT_FALSE(opened.has_value());
        if (opened) return {};
        EXPECT_EQ(name_of(opened.error().code), name_of(code)) << opened.error().text();
        EXPECT_NE(opened.error().text().find(path()), std::string::npos) << opened.error().text();
        EXPECT_EQ(std::filesystem::exists(path()), exists);
        if (exists) {
            EXPECT_EQ(bytes_of(path()), before);
        }
        return opened.error();
    }
    void expect_opens(const open_options& options = small_pool(level::process)) {
        auto opened = open_pool::open(path(), redo_like, options);
        EXPECT_TRUE(opened) << opened.error().text();
    }
    void make() { make_closed(path(), small_pool(level::process)); }

    scratch_directory scratch_{"/dev/shm"};
};

void expect_details(const error& reason, std::uint64_t offset, const std::string& expected, const std::string& found) {
    EXPECT_EQ(reason.offset, offset) << reason.text();
    EXPECT_EQ(reason.expected, expected);
    EXPECT_EQ(reason.found, found);
    EXPECT_NE(reason.text().find("expected " + expected + ", found " + found), std::string::npos) << reason.text();
}

TEST_F(PoolBadInput, AMissingFileIsNotFoundAndNotCreated) { expect_refused(errc::not_found); }

TEST_F(PoolBadInput, ADirectoryIsNoPool) {
    std::filesystem::create_directory(path());
    const auto opened = open_pool::open(path(), redo_like, small_pool(level::process));
    EXPECT_EQ(code_of(opened), errc::not_a_pool);
}

TEST_F(PoolBadInput, AnEmptyFileIsNoPool) {
    persist::test::write_text(path(), "");
    expect_details(expect_refused(errc::not_a_pool), 0, "at least 262144 bytes", "0 bytes");
}

TEST_F(PoolBadInput, AShortForeignFileIsNoPool) {
    persist::test::write_text(path(), "dear reader");
    expect_refused(errc::not_a_pool);
}

TEST_F(PoolBadInput, AForeignFileIsNoPool) {
    persist::test::write_text(path(), std::string(300000, 'x'));
    expect_details(expect_refused(errc::not_a_pool), 4096, "magic \"HOLDFAST\"", "other bytes");
}

TEST_F(PoolBadInput, ATruncatedPoolIsRefusedWhereverItWasCut) {
    make();
    for (const std::uint64_t bytes : {262143u, 200000u, 12288u, 5000u, 4096u, 100u, 8u}) {
        std::filesystem::resize_file(path(), bytes);
        const error reason = expect_refused(errc::truncated);
        EXPECT_EQ(reason.found, std::to_string(bytes) + " bytes") << reason.text();
        EXPECT_NE(reason.expected.find("262144 bytes"), std::string::npos) << reason.text();
    }
}

TEST_F(PoolBadInput, ANewerFormatIsRefused) {
    make();
    edit_superblocks(path(), [](auto& block) { block.version_major = 2; });
    expect_details(expect_refused(errc::version_unsupported), 0, "format 1.x", "2.3");
    EXPECT_EQ(code_of(open_pool::inspect(path())), errc::version_unsupported);
}

TEST_F(PoolBadInput, ANewerMinorFormatOpens) {
    make();
    edit_superblocks(path(), [](auto& block) { block.version_minor = 3, block.optional_features = 8; });
    expect_opens();
}

TEST_F(PoolBadInput, AnOlderMinorFormatOpensAndIsWrittenAsItWas) {
    make();
    // 1.0 had no required features: a segment's header was its salt, an unused root was zero.
    edit_superblocks(path(), [](auto& block) { block.version_minor = 0, block.required_features = 0; });
    const std::vector<std::byte> zeros(4096);
    write_bytes(path(), format::roots_offset, zeros.data(), zeros.size());
    for (const std::uint64_t value : {71u, 72u}) {
        auto pool = open_pool::open(path(), redo_like, small_nvram_pool());
        ASSERT_TRUE(pool) << pool.error().text();
        if (value == 72) {
            EXPECT_EQ(*last_word(**pool), 71u) << "recovered from a log without sealed headers";
        }
        EXPECT_EQ((*pool)->info().version_minor, 0u);
        EXPECT_FALSE((*pool)->has_sealed_roots());
        commit_word(**pool, value, false);
        (*pool)->abandon();
    }
    const auto bytes = bytes_of(path());
    const auto header = read_segment_header(bytes.data(), log_geometry::divide(format::log_offset, 64 << 10), 0);
    EXPECT_EQ(header.is, segment_header_view::state::broken) << "a salt and zeros";
    auto pool = open_pool::inspect(path());
    ASSERT_TRUE(pool) << pool.error().text();
    EXPECT_EQ(*last_word(**pool), 72u);
}

TEST_F(PoolBadInput, AnUnknownFeatureIsRefused) {
    make();
    edit_superblocks(path(), [](auto& block) { block.required_features = 8; });
    const error reason = expect_refused(errc::feature_unsupported);
    expect_details(reason, 0, "feature bits within 7", "8");
    EXPECT_NE(reason.text().find("the pool needs features this library lacks"), std::string::npos);
}

TEST_F(PoolBadInput, AnUnknownFeatureInTheNewerCopyIsNotPassedOver) {
    make();
    for (unsigned copy = 0; copy < 2; ++copy) {
        const auto sound = superblock_copy(path(), copy);
        auto newer = sound;
        newer.required_features = 9;
        newer.generation += 2;
        put_superblock(path(), copy, newer);
        expect_refused(errc::feature_unsupported);
        put_superblock(path(), copy, sound);
    }
    expect_opens();
}

TEST_F(PoolBadInput, OneDamagedSuperblockCopyIsNoObstacle) {
    for (unsigned copy = 0; copy < 2; ++copy) {
        make();
        damage_superblock(path(), copy);
        expect_opens();
        const auto first = superblock_copy(path(), 0).generation, second = superblock_copy(path(), 1).generation;
        EXPECT_EQ(std::max(first, second) - std::min(first, second), 1u) << "both sound again";
        expect_opens();
        std::filesystem::remove(path());
    }
}

TEST_F(PoolBadInput, BothSuperblockCopiesDamagedIsCorrupt) {
    make();
    damage_superblock(path(), 0);
    damage_superblock(path(), 1);
    const error reason = expect_refused(errc::corrupt);
    EXPECT_EQ(reason.offset, 0u);
    EXPECT_FALSE(reason.expected.empty() || reason.found.empty()) << reason.text();
}

TEST_F(PoolBadInput, NoFlippedBitOfASuperblockIsBelieved) {
    make();
    const auto sound = superblock_copy(path(), 0);
    const auto older = superblock_copy(path(), 1);
    auto file = persist::file::open(path(), persist::file::access::read_write);
    ASSERT_TRUE(file);
    for (std::size_t bit = 0; bit < sizeof sound * 8; ++bit) {
        auto flip = [&](format::superblock block) {
            reinterpret_cast<unsigned char*>(&block)[bit / 8] ^= static_cast<unsigned char>(1u << bit % 8);
            return block;
        };
        const auto first = flip(sound), second = flip(older);
        ASSERT_TRUE(file->write_at(0, &first, sizeof first, persist::site::superblock));
        const auto from_other = read_superblock(*file);
        ASSERT_TRUE(from_other) << "bit " << bit << ": " << from_other.error().text();
        ASSERT_EQ(std::memcmp(&*from_other, &older, sizeof older), 0) << "bit " << bit;
        ASSERT_TRUE(file->write_at(4096, &second, sizeof second, persist::site::superblock));
        ASSERT_FALSE(read_superblock(*file)) << "bit " << bit;
        ASSERT_TRUE(file->write_at(4096, &older, sizeof older, persist::site::superblock));
    }
}

TEST_F(PoolBadInput, RangesThatCannotBeAreCorruptWhateverTheChecksumSays) {
    make();
    const format::superblock copies[] = {superblock_copy(path(), 0), superblock_copy(path(), 1)};
    const std::function<void(format::superblock&)> edits[] = {
        [](auto& block) { block.base = 0; },
        [](auto& block) { block.base += 8; },
        [](auto& block) { block.base = ~std::uint64_t{0} << 12; },
        [](auto& block) { block.reserved_bytes = 4096; },
        [](auto& block) { block.pool_bytes += 8; },
        [](auto& block) { block.pool_bytes = 4096; },
        [](auto& block) { block.log_offset = 4096; },
        [](auto& block) { block.log_bytes = ~std::uint64_t{0} << 12; },
        [](auto& block) { block.log_bytes = 0; },
        [](auto& block) { block.segment_bytes = 0; },
        [](auto& block) { block.segment_bytes = 4104; },
        [](auto& block) { block.segment_bytes = std::uint64_t{1} << 63; },
        [](auto& block) { block.segment_bytes = block.log_bytes & ~std::uint64_t{4095}; },
        [](auto& block) { block.zone_count = 0; },
        [](auto& block) { block.zone_count = 33; },
        [](auto& block) { block.zone_count = 2; },
        [](auto& block) { block.zones[0].offset = 8192; },
        [](auto& block) { block.zones[0].bytes += 4096; },
        [](auto& block) { block.zones[0].bytes = 0; },
        [](auto& block) { block.zones[0].bytes = 4096; },
        [](auto& block) { block.zones[0].bytes = ~std::uint64_t{0} << 12; },
        [](auto& block) { block.state = static_cast<format::pool_state>(7); },
    };
    for (std::size_t i = 0; i < std::size(edits); ++i) {
        SCOPED_TRACE(i);
        for (unsigned copy = 0; copy < 2; ++copy) put_superblock(path(), copy, copies[copy]);
        edit_superblocks(path(), edits[i]);
        expect_refused(errc::corrupt);
        EXPECT_EQ(code_of(open_pool::inspect(path())), errc::corrupt);
    }
}

TEST_F(PoolBadInput, AnotherLayoutIsRefusedAndNoLayoutAcceptsAny) {
    auto options = small_pool(level::process);
    options.layout = "addresses";
    make_closed(path(), options);
    options.layout = "invoices";
    const error reason = expect_refused(errc::layout_mismatch, options);
    EXPECT_EQ(reason.expected, "\"invoices\"");
    EXPECT_EQ(reason.found, "\"addresses\"");
    expect_opens();
}

TEST_F(PoolBadInput, AnotherEngineIsRefused) {
    make();
    const error reason = expect_refused(errc::engine_mismatch, small_pool(level::process), undo_like);
    EXPECT_EQ(reason.expected, "undo_like");
    EXPECT_EQ(reason.found, "redo_like");
}

TEST_F(PoolBadInput, ADamagedLogIsCorruptAndNamesTheOffset) {
    make_unclean(path(), small_pool(level::process), redo_like, 5);
    const std::uint64_t noise[2] = {1, 1};
    for (const std::uint64_t slot : format::truncation_slot_offset)
        write_bytes(path(), format::log_offset + slot, noise, sizeof noise);
    EXPECT_EQ(expect_refused(errc::corrupt).offset, format::log_offset);
    EXPECT_EQ(code_of(open_pool::inspect(path())), errc::corrupt);
}

TEST_F(PoolBadInput, ANumberOfCommitsThatNoPoolReachesIsCorruptWhateverTheChecksumSays) {
    make();
    for (const std::uint64_t sequence : {~std::uint64_t{0}, ~std::uint64_t{15}, format::largest_sequence + 1,
                                         format::largest_sequence, format::largest_sequence / 2 + 1}) {
        const format::truncation_slot slot = make_truncation_slot(sequence);
        for (const std::uint64_t at : format::truncation_slot_offset)
            write_bytes(path(), format::log_offset + at, &slot, sizeof slot);
        EXPECT_EQ(expect_refused(errc::corrupt).offset, format::log_offset);
    }
}

TEST_F(PoolBadInput, ADamagedHeapZoneIsCorrupt) {
    make();
    const char noise[64] = "damaged";
    write_bytes(path(), superblock_copy(path(), 0).zones[0].offset, noise, sizeof noise);
    expect_refused(errc::corrupt);
}

TEST_F(PoolBadInput, AFailedOpenLeavesNoLockBehind) {
    make();
    edit_superblocks(path(), [](auto& block) { block.required_features = 8; });
    expect_refused(errc::feature_unsupported);
    edit_superblocks(path(), [](auto& block) { block.required_features = 0; });
    expect_opens();
}

TEST_F(PoolBadInput, AFileThatOneMayNotWriteIsPermissionDenied) {
    make();
    std::filesystem::permissions(scratch_.path(), std::filesystem::perms(0755));
    ASSERT_EQ(::chmod(path().c_str(), 0400), 0);
    if (::geteuid() != 0) {
        expect_refused(errc::permission_denied);
        return;
    }
    ASSERT_EQ(::chown(path().c_str(), 65534, 65534), 0);
    const int status = persist::test::run_in_child([&] {
        if (::setgid(65534) != 0 || ::setuid(65534) != 0) return 2;
        const auto opened = open_pool::open(path(), redo_like, small_pool(level::process));
        if (opened || opened.error().code != errc::permission_denied) return 1;
        return open_pool::info(path()) ? 0 : 3;
    });
    EXPECT_TRUE(persist::test::exited_with(status, 0)) << status;
}

TEST_F(PoolBadInput, AReadOnlyFileSystemIsPermissionDenied) {
    const persist::test::small_tmpfs disk("size=4m");
    if (!disk.mounted()) GTEST_SKIP() << "may not mount";
    make_closed(disk.file("pool"), small_pool(level::process));
    ASSERT_EQ(::mount("none", disk.path().c_str(), "tmpfs", MS_REMOUNT | MS_RDONLY, "size=4m"), 0);
    const auto options = small_pool(level::process);
    EXPECT_EQ(code_of(open_pool::open(disk.file("pool"), redo_like, options)), errc::permission_denied);
    EXPECT_EQ(code_of(open_pool::create(disk.file("new"), redo_like, options)), errc::permission_denied);
    EXPECT_TRUE(open_pool::info(disk.file("pool")));
    EXPECT_TRUE(open_pool::inspect(disk.file("pool"))) << "looking needs no right to write";
}

TEST_F(PoolBadInput, APoolWhoseDirtySuperblockIsDamagedIsRecoveredAllTheSame) {
    make_closed(path(), small_pool(level::process));
    {
        auto pool = open_pool::open(path(), redo_like, small_pool(level::process));
        ASSERT_TRUE(pool);
        commit_word(**pool, 77, false);
        (*pool)->abandon();
    }
    const unsigned newer = superblock_copy(path(), 1).generation > superblock_copy(path(), 0).generation ? 1 : 0;
    damage_superblock(path(), newer);
    {
        auto looked = open_pool::inspect(path());
        ASSERT_TRUE(looked) << looked.error().text();
        EXPECT_EQ(*last_word(**looked), 77u);
    }
    auto pool = open_pool::open(path(), redo_like, small_pool(level::process));
    ASSERT_TRUE(pool) << pool.error().text();
    EXPECT_EQ(*last_word(**pool), 77u) << "the older copy says clean; the log knows better";
}

TEST(PoolSuperblock, EachWriteGoesToTheOlderCopy) {
    const scratch_directory scratch("/dev/shm");
    const std::string path = scratch.file("pool");
    make_closed(path, small_pool(level::process));
    for (int i = 0; i < 4; ++i) {
        const std::uint64_t before[] = {superblock_copy(path, 0).generation, superblock_copy(path, 1).generation};
        const unsigned older = before[0] < before[1] ? 0 : 1;
        auto file = persist::file::open(path, persist::file::access::read_write);
        ASSERT_TRUE(file);
        auto block = read_superblock(*file);
        ASSERT_TRUE(block);
        ++block->generation;
        ASSERT_TRUE(write_superblock(*file, *block));
        EXPECT_EQ(superblock_copy(path, older).generation, before[1 - older] + 1);
        EXPECT_EQ(superblock_copy(path, 1 - older).generation, before[1 - older]);
    }
}

TEST(PoolSuperblock, ATornWriteLeavesTheOtherCopy) {
    const scratch_directory scratch("/dev/shm");
    const std::string path = scratch.file("pool");
    make_closed(path, small_pool(level::process));
    auto file = persist::file::open(path, persist::file::access::read_write);
    ASSERT_TRUE(file);
    const auto sound = read_superblock(*file);
    ASSERT_TRUE(sound);
    const unsigned target = static_cast<unsigned>((sound->generation + 1) % 2);
    const auto old_bytes = superblock_copy(path, target);
    auto next = *sound;
    ++next.generation;
    next.state = format::pool_state::dirty;
    ASSERT_TRUE(write_superblock(*file, next));
    const auto new_bytes = superblock_copy(path, target);
    for (std::size_t arrived = 8; arrived < sizeof next; arrived += 8) {
        auto torn = old_bytes;
        std::memcpy(&torn, &new_bytes, arrived);
        write_bytes(path, format::superblock_offset[target], &torn, sizeof torn);
        const auto found = read_superblock(*file);
        ASSERT_TRUE(found) << found.error().text();
        ASSERT_TRUE(found->generation == sound->generation || std::memcmp(&torn, &new_bytes, sizeof torn) == 0);
    }
}

}  // namespace
}  // namespace holdfast
