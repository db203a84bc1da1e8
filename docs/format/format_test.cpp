// The bytes in example.md are those of a pool made here: whoever changes the format changes the page.
// HOLDFAST_KEEP_POOL=FILE copies the pool there; `od -A x -t x1z FILE` prints what the page shows.
#include <holdfast/base/checksum.hpp>
#include <holdfast/engine/redo.hpp>
#include <holdfast/format/log_record.hpp>
#include <holdfast/format/roots.hpp>
#include <holdfast/format/superblock.hpp>
#include <holdfast/handle/pool.hpp>
#include <holdfast/heap/heap_format.hpp>
#include <holdfast/log/record.hpp>
#include <holdfast/log/replay.hpp>
#include <holdfast/log/segment_header.hpp>
#include <holdfast/log/truncation.hpp>
#include <holdfast/pool/stand_ins.hpp>

#include <gtest/gtest.h>

#include <cstdlib>
#include <filesystem>
#include <fstream>
#include <map>
#include <regex>
#include <sstream>
#include <string>
#include <vector>

namespace holdfast {
namespace {

constexpr std::uint64_t second_root_at = format::roots_offset + sizeof(format::root_entry);
constexpr std::uint64_t segment_at = 0x4000;
constexpr std::uint64_t first_record_at = segment_at + 0x40;
constexpr std::uint64_t second_record_at = segment_at + 0x200;
constexpr std::uint64_t zone_at = 0x13000;
constexpr std::uint64_t root_at = 0x150F0;
constexpr log_geometry geometry{format::log_offset, 64 << 10, 4096};
constexpr std::uint64_t example_bytes = 256 << 10;

/// What the example's program keeps in its pool.
struct example_root {
    redo::field<std::uint64_t> count;
    redo::field<std::uint16_t> small[4];
};

std::vector<std::byte> bytes_of_file(const std::string& path) {
    std::ifstream file(path, std::ios::binary);
    const std::string text{std::istreambuf_iterator<char>(file), {}};
    const auto* begin = reinterpret_cast<const std::byte*>(text.data());
    return {begin, begin + text.size()};
}

/// The program of the page; the pool is let go as a killed process would.
std::vector<std::byte> example_pool() {
    std::string directory = "/dev/shm/holdfast-format-XXXXXX";
    if (::mkdtemp(directory.data()) == nullptr) throw std::runtime_error("no directory in /dev/shm");
    const std::string path = directory + "/example.pool";
    stand_ins_now = {"00000000-0000-4000-8000-000000000001", 0x12345678};
    create_options options;
    options.bytes = example_bytes;
    options.log_bytes = geometry.bytes;
    options.reserved_bytes = 1 << 30;
    options.base = 0x300000000000;
    options.layout = "worked-example";
    options.tmpfs_is_nvram = true;
    auto pool = redo::pool::create(path, options).value();
    auto* root = pool.root<example_root>("numbers", "v1").value();
    pool.atomically([&] {
            root->count = 42;
            root->small[1] = 0xBEEF;
        }).value();
    pool.abandon();
    stand_ins_now = {};
    if (const char* keep = std::getenv("HOLDFAST_KEEP_POOL"))
        std::filesystem::copy_file(path, keep, std::filesystem::copy_options::overwrite_existing);
    auto bytes = bytes_of_file(path);
    std::filesystem::remove_all(directory);
    return bytes;
}

/// The page's dumps by address. As in od's output, a line `*` stands for copies of the line above it.
std::map<std::uint64_t, std::byte> page_bytes() {
    static const std::regex dump("^([0-9a-f]{6})((?: [0-9a-f]{2})+)(?:  >.*<)?$");
    std::ifstream page(HOLDFAST_TEST_DIRECTORY "/example.md");
    std::map<std::uint64_t, std::byte> shown;
    std::vector<std::byte> last;
    std::uint64_t next = 0;
    bool repeats = false;
    for (std::string line; std::getline(page, line);) {
        std::smatch parts;
        if (line == "*") repeats = true;
        if (!std::regex_match(line, parts, dump)) {
            static const std::regex end("^[0-9a-f]{6}$");
            if (!repeats || !std::regex_match(line, end)) continue;
        }
        const std::uint64_t address = std::stoull(line.substr(0, 6), nullptr, 16);
        for (std::size_t i = 0; repeats && next < address; ++i) shown[next++] = last[i % last.size()];
        repeats = false;
        if (parts.empty()) continue;
        last.clear();
        std::istringstream words(parts[2]);
        for (std::string word; words >> word;) last.push_back(std::byte(std::stoul(word, nullptr, 16)));
        next = address;
        for (const std::byte each : last) shown[next++] = each;
    }
    return shown;
}

/// The pool as the page shows it; what it leaves out is zero, or an unused root.
std::vector<std::byte> page_pool() {
    std::vector<std::byte> bytes(example_bytes);
    for (const auto& [address, value] : page_bytes()) bytes.at(address) = value;
    // The page shows one unused root and says that the others are alike.
    for (std::uint64_t at = second_root_at + sizeof(format::root_entry); at < format::log_offset; ++at)
        bytes[at] = bytes[at - sizeof(format::root_entry)];
    return bytes;
}

/// Random in each pool, or a checksum over what is.
bool differs_by_nature(std::uint64_t address) {
    const auto within = [&](std::uint64_t begin, std::uint64_t size) { return address - begin < size; };
    for (const std::uint64_t copy : format::superblock_offset)
        if (within(copy + offsetof(format::superblock, pool_id), 8) ||
            within(copy + offsetof(format::superblock, checksum), 4))
            return true;
    return within(segment_at, 8) || within(segment_at + offsetof(format::segment_header, check), 8) ||
           within(first_record_at + offsetof(format::record_header, checksum), 4) ||
           within(second_record_at + offsetof(format::record_header, checksum), 4);
}

template <class T>
T read(const std::vector<std::byte>& pool, std::uint64_t at) {
    T value;
    std::memcpy(&value, pool.data() + at, sizeof value);
    return value;
}

TEST(FormatDocument, ShowsTheBytesThatTheLibraryWrites) {
    const auto shown = page_bytes();
    const auto pool = example_pool();
    ASSERT_EQ(pool.size(), example_bytes);
    EXPECT_GT(shown.size(), 2000u);
    for (const auto& [address, value] : shown) {
        if (differs_by_nature(address)) continue;
        ASSERT_EQ(std::to_integer<int>(value), std::to_integer<int>(pool.at(address))) << "at " << std::hex << address;
    }
}

TEST(FormatDocument, LeavesOutNothingButZerosAndUnusedRoots) {
    const auto shown = page_bytes();
    const auto page = page_pool();
    const auto pool = example_pool();
    for (std::uint64_t at = 0; at < pool.size(); ++at)
        if (!shown.contains(at)) {
            ASSERT_EQ(std::to_integer<int>(pool[at]), std::to_integer<int>(page[at])) << "at " << std::hex << at;
        }
}

TEST(FormatDocument, ShowsChecksumsThatHold) {
    const auto pool = page_pool();
    for (const std::uint64_t copy : format::superblock_offset) {
        const auto block = read<format::superblock>(pool, copy);
        EXPECT_EQ(block.checksum, ~crc32c(&block, offsetof(format::superblock, checksum), ~0u));
    }
    const auto entry = read<format::root_entry>(pool, format::roots_offset);
    EXPECT_EQ(entry.checksum, ~crc32c(&entry, offsetof(format::root_entry, checksum), ~0u));
    for (const std::uint64_t slot : format::truncation_slot_offset)
        EXPECT_TRUE(truncation_slot_valid(read<format::truncation_slot>(pool, geometry.offset + slot)));
    const auto zone = read<heap_format::zone_header>(pool, zone_at);
    EXPECT_EQ(zone.checksum, heap_format::checksum_of(zone));
    EXPECT_EQ(read_segment_header(pool.data(), geometry, 0).is, segment_header_view::state::sealed);
    const std::uint32_t seed = seed_of_salt(read<std::uint64_t>(pool, segment_at));
    record_view view;
    const std::byte* end = pool.data() + segment_at + geometry.segment_bytes;
    for (const std::uint64_t at : {first_record_at, second_record_at})
        EXPECT_TRUE(read_record(pool.data() + at, end, seed, view)) << "at " << std::hex << at;
}

TEST(FormatDocument, ShowsARecordThatSealingGives) {
    const auto pool = page_pool();
    constexpr std::uint64_t payload_words = 4;
    std::uint64_t record[format::record_bytes(payload_words) / 8] = {};
    record[3] = format::run_tag(root_at, 1);
    record[4] = 42;
    record[5] = format::masked_tag(root_at + 8, 0x0C);
    record[6] = 0xBEEF0000;
    const std::uint32_t seed = seed_of_salt(read<std::uint64_t>(pool, segment_at));
    seal_record(record, payload_words, 2, 0, 1, format::record_kind::redo, seed);
    EXPECT_EQ(std::memcmp(record, pool.data() + second_record_at, sizeof record), 0);
}

TEST(FormatDocument, ShowsAPoolThatRecoveryCompletes) {
    auto pool = page_pool();
    // As a power cut leaves it when no home line was written back.
    const format::root_entry unused = format::unused_root();
    std::memcpy(pool.data() + format::roots_offset, &unused, sizeof unused);
    std::fill(pool.begin() + zone_at + 0x1000, pool.end(), std::byte{0});
    auto replay = log_replay::read(pool, geometry);
    ASSERT_TRUE(replay) << replay.error().text();
    replay->apply(pool);
    EXPECT_EQ(replay->report().applied, 2u);
    EXPECT_EQ(replay->report().last_sequence, 2u);
    EXPECT_EQ(pool, page_pool());
}

}  // namespace
}  // namespace holdfast
