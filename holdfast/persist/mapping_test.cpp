#include <holdfast/persist/counters.hpp>
#include <holdfast/persist/file.hpp>
#include <holdfast/persist/sites.hpp>
#include <holdfast/persist/storage.hpp>
#include <holdfast/persist/test_scratch.hpp>
#include <holdfast/pool/sites.hpp>

#include <gtest/gtest.h>

#include <sys/mman.h>

#include <csetjmp>
#include <csignal>
#include <cstring>
#include <string>

namespace holdfast::persist {
namespace {

using test::scratch_directory;
using kind = mapping::kind;

constexpr std::uint64_t page = 65536;  // the largest page size of the supported processors

constexpr std::uintptr_t fixed_base = HOLDFAST_TEST_BASE_ADDRESS;  // where no sanitizer objects

file new_file(const scratch_directory& scratch, std::uint64_t size, const std::string& name = "pool") {
    auto made = *test::create_file(scratch.file(name), 0600);
    EXPECT_TRUE(made.allocate(size));
    return made;
}

char first_byte_of(const file& from) {
    char byte = 0;
    EXPECT_TRUE(from.read_at(0, &byte, 1));
    return byte;
}

errc code_of(const result<mapping>& outcome) {
    if (outcome) {
        ADD_FAILURE() << "mapped";
        return errc::io;
    }
    return outcome.error().code;
}

TEST(Mapping, LiesWhereItWasAskedForAndReachesTheFile) {
    const scratch_directory scratch;
    const auto pool = new_file(scratch, 2 * page);
    auto mapped = mapping::map(pool, fixed_base, 16 * page, 2 * page, kind::shared);
    ASSERT_TRUE(mapped) << mapped.error().text();
    EXPECT_EQ(reinterpret_cast<std::uintptr_t>(mapped->data()), fixed_base);
    EXPECT_EQ(mapped->size(), 2 * page);
    EXPECT_EQ(mapped->reserved(), 16 * page);
    *mapped->data() = std::byte{'!'};
    EXPECT_EQ(first_byte_of(pool), '!');
}

TEST(Mapping, ATakenRangeIsRefusedAndLeftAlone) {
    const scratch_directory scratch;
    const auto pool = new_file(scratch, page), other = new_file(scratch, page, "other");
    auto first = mapping::map(pool, fixed_base, 16 * page, page, kind::shared);
    ASSERT_TRUE(first);
    *first->data() = std::byte{'1'};
    for (const auto base : {fixed_base, fixed_base + 8 * page}) {
        const auto second = mapping::map(other, base, 16 * page, page, kind::shared);
        EXPECT_EQ(code_of(second), errc::address_taken);
        EXPECT_EQ(second.error().path, other.path());
        EXPECT_NE(second.error().expected.find("0x"), std::string::npos);
    }
    EXPECT_EQ(*first->data(), std::byte{'1'});
    first = mapping::map(pool, 0, page, page, kind::shared);
    ASSERT_TRUE(first);
    EXPECT_TRUE(mapping::map(other, fixed_base, 16 * page, page, kind::shared)) << "freed with the object";
}

TEST(Mapping, AFailedMapLeavesNoReservation) {
    const scratch_directory scratch;
    const auto pool = new_file(scratch, page);
    const auto read_only = *file::open(pool.path(), file::access::read_only);
    EXPECT_EQ(code_of(mapping::map(read_only, fixed_base, page, page, kind::shared)), errc::permission_denied);
    EXPECT_TRUE(mapping::map(pool, fixed_base, page, page, kind::shared));
}

TEST(Mapping, RefusesWhatCannotBeMapped) {
    const scratch_directory scratch;
    const auto pool = new_file(scratch, page);
    EXPECT_EQ(code_of(mapping::map(pool, fixed_base + 1, page, page, kind::shared)), errc::invalid_argument);
    EXPECT_EQ(code_of(mapping::map(pool, fixed_base, page, 2 * page, kind::shared)), errc::invalid_argument);
    EXPECT_EQ(code_of(mapping::map(pool, fixed_base, page, 0, kind::shared)), errc::invalid_argument);
    EXPECT_EQ(code_of(mapping::map(pool, fixed_base, ~std::uint64_t{0} - page + 1, page, kind::shared)),
              errc::invalid_argument);
    const auto too_short = mapping::map(pool, 0, 2 * page, 2 * page, kind::shared);
    EXPECT_EQ(code_of(too_short), errc::truncated);
    EXPECT_EQ(too_short.error().expected, std::to_string(2 * page) + " bytes");
    EXPECT_EQ(too_short.error().found, std::to_string(page) + " bytes");
}

TEST(Mapping, APrivateCopyNeverReachesTheFile) {
    const scratch_directory scratch;
    auto pool = new_file(scratch, page);
    ASSERT_TRUE(pool.write_at(0, "a", 1, site::measure));
    auto mapped = *mapping::map(pool, 0, page, page, kind::private_copy);
    EXPECT_EQ(*mapped.data(), std::byte{'a'});
    *mapped.data() = std::byte{'b'};
    ASSERT_TRUE(mapped.sync_all(site::measure));
    EXPECT_EQ(first_byte_of(pool), 'a');
}

TEST(Mapping, ReadOnlyNeedsOnlyAReadOnlyFile) {
    const scratch_directory scratch;
    ASSERT_TRUE(new_file(scratch, page).write_at(0, "r", 1, site::measure));
    const auto pool = *file::open(scratch.file("pool"), file::access::read_only);
    auto mapped = mapping::map(pool, fixed_base, page, page, kind::read_only);
    ASSERT_TRUE(mapped) << mapped.error().text();
    EXPECT_EQ(*mapped->data(), std::byte{'r'});
    EXPECT_TRUE(mapped->populate());
    EXPECT_TRUE(mapping::map(pool, 0, page, page, kind::private_copy));
}

TEST(Mapping, PopulateKeepsWhatIsThere) {
    const scratch_directory scratch;
    auto pool = new_file(scratch, 16 * page);
    ASSERT_TRUE(pool.write_at(5 * page, "kept", 4, site::measure));
    for (const auto how : {kind::shared, kind::private_copy, kind::read_only}) {
        auto mapped = *mapping::map(pool, 0, 16 * page, 16 * page, how);
        const auto populated = mapped.populate();
        ASSERT_TRUE(populated) << populated.error().text();
        EXPECT_EQ(std::memcmp(mapped.data() + 5 * page, "kept", 4), 0);
    }
}

TEST(Mapping, SyncAllCountsOneSync) {
    const scratch_directory scratch;
    auto pool = new_file(scratch, page);
    auto mapped = *mapping::map(pool, 0, page, page, kind::shared);
    const counters before = thread_counters();
    ASSERT_TRUE(mapped.sync_all(site::pool_strengthen));
    EXPECT_EQ(thread_counters() - before, counters{.syncs = 1});
}

TEST(Mapping, StaysWithTheObjectItMovesTo) {
    const scratch_directory scratch;
    const auto pool = new_file(scratch, page);
    auto first = *mapping::map(pool, 0, page, page, kind::shared);
    auto* data = first.data();
    mapping second = std::move(first);
    *second.data() = std::byte{'2'};
    first = std::move(second);
    EXPECT_EQ(first.data(), data);
    EXPECT_EQ(*first.data(), std::byte{'2'});
}

TEST(Mapping, MapSyncRefusedMeansThatTheLevelIsUnavailable) {
    if (test::emulated()) GTEST_SKIP() << "qemu-user drops MAP_SYNC";
    for (const auto& parent : {std::filesystem::temp_directory_path().string(), std::string("/dev/shm")}) {
        const scratch_directory scratch(parent);
        const auto pool = new_file(scratch, page);
        const auto mapped = mapping::map(pool, 0, page, page, kind::shared_sync);
        if (mapped) {
            // A scratch directory on DAX: never /dev/shm.
            EXPECT_EQ(discover(scratch.path())->kind, medium::dax) << parent;
            continue;
        }
        EXPECT_EQ(mapped.error().code, errc::level_unavailable) << mapped.error().text();
    }
}

sigjmp_buf after_fault;

/// True when reading `at` faults.
bool read_faults(const std::byte* at) {
    struct sigaction action {}, before_segv{}, before_bus{};
    action.sa_handler = [](int) { siglongjmp(after_fault, 1); };
    ::sigaction(SIGSEGV, &action, &before_segv);
    ::sigaction(SIGBUS, &action, &before_bus);
    volatile bool faulted = true;
    if (sigsetjmp(after_fault, 1) == 0) {
        static_cast<void>(*static_cast<const volatile unsigned char*>(static_cast<const void*>(at)));
        faulted = false;
    }
    ::sigaction(SIGSEGV, &before_segv, nullptr);
    ::sigaction(SIGBUS, &before_bus, nullptr);
    return faulted;
}

TEST(Mapping, IsNotInheritedByAForkedChild) {
    if (test::emulated()) GTEST_SKIP() << "qemu-user ignores MADV_DONTFORK";
    const scratch_directory scratch;
    const auto pool = new_file(scratch, page);
    auto mapped = *mapping::map(pool, 0, 4 * page, page, kind::shared);
    ASSERT_FALSE(read_faults(mapped.data()));
    const int status = test::run_in_child([&] {
        if (!read_faults(mapped.data())) return 1;
        if (!read_faults(mapped.data() + 2 * page)) return 2;
        return 0;
    });
    EXPECT_TRUE(test::exited_with(status, 0)) << status;
    EXPECT_TRUE(read_faults(mapped.data() + 2 * page)) << "reserved, not mapped";
}

TEST(Mapping, AnInheritedObjectNeverUnmapsWhatTheChildMappedThere) {
    if (test::emulated()) GTEST_SKIP() << "qemu-user ignores MADV_DONTFORK";
    const scratch_directory scratch;
    const auto pool = new_file(scratch, page);
    auto inherited = std::make_unique<mapping>(*mapping::map(pool, fixed_base, 4 * page, page, kind::shared));
    *inherited->data() = std::byte{'p'};
    const int status = test::run_in_child([&] {
        const auto again = file::open(pool.path(), file::access::read_write);
        if (!again) return 3;
        auto own = mapping::map(*again, fixed_base, 4 * page, page, kind::shared);
        if (!own) return 1;
        inherited.reset();
        return !read_faults(own->data()) && *own->data() == std::byte{'p'} ? 0 : 2;
    });
    EXPECT_TRUE(test::exited_with(status, 0)) << status;
}

TEST(Mapping, ExtendsInPlaceWithinWhatItReserved) {
    for (const kind how : {kind::shared, kind::private_copy}) {
        const scratch_directory scratch;
        auto pool = new_file(scratch, page);
        auto mapped = mapping::map(pool, fixed_base, 4 * page, page, how);
        ASSERT_TRUE(mapped) << mapped.error().text();
        *mapped->data() = std::byte{'1'};
        ASSERT_TRUE(pool.allocate(3 * page));
        ASSERT_TRUE(pool.write_at(2 * page, "2", 1, site::pool_format));
        const auto extended = mapped->extend(pool, 3 * page);
        ASSERT_TRUE(extended) << extended.error().text();
        EXPECT_EQ(mapped->size(), 3 * page);
        EXPECT_EQ(*mapped->data(), std::byte{'1'}) << "a private page that was changed is still the same";
        EXPECT_EQ(mapped->data()[2 * page], std::byte{'2'});
        *mapped->data() = std::byte{'3'};
        EXPECT_EQ(first_byte_of(pool), how == kind::shared ? '3' : '\0');
    }
}

TEST(Mapping, AnExtensionThatCannotBeLeavesEverythingAsItWas) {
    const scratch_directory scratch;
    auto pool = new_file(scratch, 2 * page);
    auto mapped = mapping::map(pool, fixed_base, 4 * page, 2 * page, kind::shared);
    ASSERT_TRUE(mapped) << mapped.error().text();
    *mapped->data() = std::byte{'1'};
    const auto refused = [&](std::uint64_t size, errc code) {
        const auto extended = mapped->extend(pool, size);
        ASSERT_FALSE(extended);
        EXPECT_EQ(extended.error().code, code);
        EXPECT_EQ(mapped->size(), 2 * page);
        EXPECT_EQ(*mapped->data(), std::byte{'1'});
    };
    refused(3 * page, errc::truncated);
    ASSERT_TRUE(pool.allocate(5 * page));
    refused(5 * page, errc::invalid_argument);
    ASSERT_TRUE(mapped->extend(pool, 4 * page));
    mapped->retract(2 * page);
    EXPECT_EQ(mapped->size(), 2 * page);
    EXPECT_EQ(*mapped->data(), std::byte{'1'});
    EXPECT_TRUE(mapped->extend(pool, 3 * page)) << "what was given up is still reserved";
}

TEST(Mapping, AnExtensionIsNotInheritedByForkEither) {
    if (test::emulated()) GTEST_SKIP() << "qemu-user ignores MADV_DONTFORK";
    const scratch_directory scratch;
    auto pool = new_file(scratch, 2 * page);
    auto mapped = mapping::map(pool, fixed_base, 4 * page, page, kind::shared);
    ASSERT_TRUE(mapped && mapped->extend(pool, 2 * page));
    ASSERT_FALSE(read_faults(mapped->data() + page));
    const int status = test::run_in_child([&] { return read_faults(mapped->data() + page) ? 0 : 1; });
    EXPECT_TRUE(test::exited_with(status, 0));
}

}  // namespace
}  // namespace holdfast::persist
