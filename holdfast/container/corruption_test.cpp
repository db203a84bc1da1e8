// Damage of every kind to every class of bytes of a pool: the check finds it, or opening refuses it, or it does not
// matter, or it is in what only the program can vouch for. Nothing crashes, nothing hangs.
#include <holdfast/base/test_run.hpp>
#include <holdfast/container/corruption_pool_test.hpp>
#include <holdfast/engine/redo.hpp>
#include <holdfast/engine/undo.hpp>
#include <holdfast/handle/repair.hpp>
#include <holdfast/persist/test_scratch.hpp>
#include <holdfast/pool/pool_test_support.hpp>

#include <gtest/gtest.h>

#include <sys/mman.h>
#include <sys/wait.h>
#include <unistd.h>

#include <algorithm>
#include <cstdio>
#include <cstdlib>
#include <filesystem>
#include <functional>
#include <numeric>
#include <random>

namespace holdfast {
namespace {

using namespace holdfast::test;
using persist::test::scratch_directory;

enum class fate : std::uint8_t { refused, found, harmless, users, torn, silent, count };
constexpr std::array<const char*, static_cast<std::size_t>(fate::count)> fate_names = {
    "refused", "found", "no matter", "user's", "torn tail", "SILENT"};

/// What repairing a damaged image came to.
enum class mended : std::uint8_t { not_needed, whole, users, named, refused, wrong, count };
constexpr std::array<const char*, static_cast<std::size_t>(mended::count)> mended_names = {
    "not needed", "whole", "user's", "loss named", "refused", "WRONG"};

/// What one damaged image came to, counted by what was damaged and how. Shared with the child that tries them.
struct tally {
    static constexpr std::size_t kinds = static_cast<std::size_t>(area::count) + 2;  // areas, swapped, truncated
    std::uint64_t of[kinds][static_cast<std::size_t>(fate::count)] = {};
    std::uint64_t repaired[kinds][static_cast<std::size_t>(mended::count)] = {};
    std::uint64_t tried = 0;
    char now[200] = {};  ///< what is being tried, for when it does not return
    char first_silent[200] = {};
    char first_wrong[200] = {};
};

/// One damaged image.
struct damage {
    std::string name;
    std::size_t kind = 0;
    bool may_lose_tail = false;
    bool hits_users = false;  ///< among other bytes, payload or lengths
    std::function<void(std::vector<std::byte>&)> apply;
};

/// A pool's file in a state of its life, and what it must hold.
struct specimen {
    std::vector<std::byte> bytes;
    std::vector<std::string> states;  ///< contents after each commit; the last is expected
    byte_classes classes;
    std::uint64_t last_segment = 0;   ///< offset
    std::uint64_t segment_bytes = 0;
    bool has_records = false;
};

template <class Engine>
class corruption {
public:
    corruption(level durability, bool on_file, bool closed)
        : on_file_(on_file), closed_(closed), scratch_(on_file ? "." : "/dev/shm") {
        options_.durability = durability;
        options_.tmpfs_is_nvram = !on_file;
        options_.bytes = 256 << 10;
        options_.log_bytes = 64 << 10;
        options_.reserved_bytes = std::uint64_t{1} << 30;
        options_.base = HOLDFAST_TEST_BASE_ADDRESS;
        make();
    }

    /// Tries all damage in a child. What it came to stands in `counts`.
    void run(tally& counts) {
        const auto all = damages();
        std::fflush(stdout);
        const pid_t child = ::fork();
        if (child == 0) {
            for (const damage& each : all) try_one(each, counts);
            ::_exit(0);
        }
        int status = -1;
        ::waitpid(child, &status, 0);
        EXPECT_TRUE(persist::test::exited_with(status, 0))
            << "status " << status << (WIFSIGNALED(status) ? ": killed by a signal" : "") << " at " << counts.now;
    }

private:
    std::string path() const { return scratch_.file("pool"); }

    /// The bytes as another process reads them. Not through this process's own descriptors: closing one drops the lock.
    std::vector<std::byte> read_from_outside() const {
        const std::string copy = scratch_.file("copy");
        EXPECT_EQ(std::system(("cp " + path() + " " + copy).c_str()), 0);
        return read_file(copy);
    }

    void make() {
        auto pool = basic_pool<Engine>::create(path(), options_).value();
        auto objects = corruption_objects<Engine>::objects_in(pool).value();
        std::uint64_t n = 0;
        const auto commit = [&] {
            pool.atomically([&] { objects.change(n); }).value();
            ++n;
            specimen_.states.push_back(objects.contents());
        };
        while (n < 90) commit();
        pool.checkpoint().value();
        const auto homes = read_from_outside();
        if (closed_) {
            pool.close().value();
            specimen_.bytes = read_file(path());
        } else if (Engine::description.logs_new_values) {
            while (n < 130) commit();
            specimen_.bytes = read_from_outside();
            // As a power cut leaves it: commits in the log, no home written back since the checkpoint.
            if (options_.durability == level::power) put_back_homes(homes);
            pool.abandon();
        } else {
            while (n < 100) commit();
            const auto left = pool.atomically([&] {
                for (std::uint64_t i = 0; i < 25; ++i) objects.change(1000 + i);
                specimen_.bytes = read_from_outside();
                fail(errc::aborted, "the open transaction was copied");
            });
            EXPECT_FALSE(left);
            pool.abandon();
        }
        classify();
    }

    void put_back_homes(const std::vector<std::byte>& homes) {
        const auto log_end = static_cast<std::ptrdiff_t>(format::log_offset + options_.log_bytes);
        std::copy(homes.begin() + format::roots_offset, homes.begin() + format::log_offset,
                  specimen_.bytes.begin() + format::roots_offset);
        std::copy(homes.begin() + log_end, homes.end(), specimen_.bytes.begin() + log_end);
    }

    void classify() {
        write(specimen_.bytes);
        auto pool = open_pool::inspect(path()).value();
        const auto roots = list_roots(*pool).value();
        const auto objects = corruption_objects<Engine>::objects_in(*pool, roots).value();
        ASSERT_EQ(objects.contents(), specimen_.states.back()) << "the specimen itself";
        classifier classes(specimen_.bytes, {pool->base(), pool->base() + pool->size()});
        classes.mark_contents(objects, *pool);
        specimen_.last_segment = classes.last_segment_offset();
        specimen_.segment_bytes = pool->info().segment_bytes;
        specimen_.has_records = pool->recovery().records != 0;
        specimen_.classes = std::move(classes).take();
        pool.reset();
        const auto checked = check_pool(path(), check_corruption_objects<Engine>);
        ASSERT_TRUE(checked && checked->sound() && !checked->worn());
    }

    void write(const std::vector<std::byte>& bytes) const {
        std::FILE* file = std::fopen(path().c_str(), "w");
        ASSERT_NE(file, nullptr);
        ASSERT_EQ(std::fwrite(bytes.data(), 1, bytes.size(), file), bytes.size());
        std::fclose(file);
    }

    bool in_last_segment(std::uint64_t offset) const {
        return specimen_.has_records && offset - specimen_.last_segment < specimen_.segment_bytes;
    }

    bool hits_users(std::uint64_t page) const {
        const auto begin = specimen_.classes.begin() + static_cast<std::ptrdiff_t>(page * 4096);
        return std::any_of(begin, begin + 4096, [](area is) { return is == area::payload || is == area::length; });
    }

    std::vector<damage> damages() const {
        std::vector<damage> all;
        add_bytes(all);
        add_pages(all);
        return all;
    }

    /// Of each class all bytes, or an even choice of them: one bit flipped, and the word zeroed.
    void add_bytes(std::vector<damage>& all) const {
        std::mt19937_64 random(20261122);
        std::map<area, std::uint64_t> sizes;
        for (const area each : specimen_.classes) ++sizes[each];
        // A file's every opening waits for a device.
        const std::uint64_t most = at_full_length() ? (on_file_ ? 1000 : ~std::uint64_t{0}) : (on_file_ ? 15 : 150);
        std::map<area, std::uint64_t> seen;
        for (std::uint64_t at = 0; at < specimen_.bytes.size(); ++at) {
            const area what = specimen_.classes[at];
            // What nobody reads is most of a pool.
            const std::uint64_t limit = what == area::unused ? std::min<std::uint64_t>(most, 4000) : most;
            const std::uint64_t step = std::max<std::uint64_t>(1, sizes[what] / limit);
            if (seen[what]++ % step != random() % step) continue;
            const auto bit = static_cast<unsigned>(random() % 8);
            const std::string where = std::string(area_names[static_cast<std::size_t>(what)]) + " at " +
                                      std::to_string(at);
            // A tail's header line stands before the records that it seals.
            const bool tail = what == area::torn_tail || (what == area::segment_header && in_last_segment(at));
            all.push_back({"bit " + std::to_string(bit) + " flipped in " + where, static_cast<std::size_t>(what), tail,
                           false, [at, bit](auto& bytes) { bytes[at] ^= std::byte(1u << bit); }});
            const std::uint64_t word = at / 8 * 8;
            all.push_back({"word zeroed in " + where, static_cast<std::size_t>(what), tail, false, [word](auto& bytes) {
                               std::fill_n(bytes.begin() + static_cast<std::ptrdiff_t>(word), 8, std::byte{0});
                           }});
        }
    }

    std::uint64_t one_pair_in() const noexcept {
        if (on_file_) return at_full_length() ? 4 : 100;
        return at_full_length() ? 1 : 12;
    }

    void add_pages(std::vector<damage>& all) const {
        constexpr std::uint64_t page = 4096;
        const std::uint64_t pages = specimen_.bytes.size() / page;
        const auto swapped = static_cast<std::size_t>(area::count);
        std::mt19937_64 random(1);
        for (std::uint64_t a = 0; a < pages; ++a) {
            all.push_back({"page " + std::to_string(a) + " zeroed", swapped, in_last_segment(a * page), hits_users(a),
                           [=](auto& bytes) {
                               std::fill_n(bytes.begin() + static_cast<std::ptrdiff_t>(a * page), page, std::byte{0});
                           }});
            for (std::uint64_t b = a + 1; b < pages; ++b) {
                if (random() % one_pair_in() != 0) continue;
                all.push_back({"pages " + std::to_string(a) + " and " + std::to_string(b) + " swapped", swapped,
                               in_last_segment(a * page) || in_last_segment(b * page),
                               hits_users(a) || hits_users(b), [=](auto& bytes) {
                                   const auto at = [&](std::uint64_t n) {
                                       return bytes.begin() + static_cast<std::ptrdiff_t>(n * page);
                                   };
                                   std::swap_ranges(at(a), at(a + 1), at(b));
                               }});
            }
            all.push_back({"cut to " + std::to_string(a) + " pages", swapped + 1, false, false,
                           [=](auto& bytes) { bytes.resize(a * page); }});
        }
    }

    void try_one(const damage& what, tally& counts) const {
        std::snprintf(counts.now, sizeof counts.now, "%s", what.name.c_str());
        ::alarm(60);
        auto bytes = specimen_.bytes;
        what.apply(bytes);
        if (bytes == specimen_.bytes) return;
        write(bytes);
        const fate came = fate_of(what);
        ++counts.of[what.kind][static_cast<std::size_t>(came)];
        if (came == fate::silent && counts.first_silent[0] == 0)
            std::snprintf(counts.first_silent, sizeof counts.first_silent, "%s", what.name.c_str());
        const bool is_turn = ++counts.tried % (at_full_length() ? 3 : 7) == 0;
        if (is_turn) try_repair(what, bytes, counts);
    }

    void try_repair(const damage& what, const std::vector<std::byte>& bytes, tally& counts) const {
        write(bytes);
        const mended came = mended_as(what);
        std::filesystem::remove(path() + ".before-repair");
        ++counts.repaired[what.kind][static_cast<std::size_t>(came)];
        if (came == mended::wrong && counts.first_wrong[0] == 0)
            std::snprintf(counts.first_wrong, sizeof counts.first_wrong, "%s", what.name.c_str());
    }

    /// Whatever a repair says, it is true: "all saved" means the contents of before.
    mended mended_as(const damage& what) const {
        const auto report = repair_pool(path(), check_corruption_objects<Engine>);
        if (!report) return mended::refused;
        if (report->backup.empty()) return mended::not_needed;
        if (!report->all_saved()) return mended::named;
        auto pool = basic_pool<Engine>::open(path(), options_);
        if (!pool) return mended::wrong;
        const auto objects = corruption_objects<Engine>::objects_in(*pool);
        if (!objects) return mended::wrong;
        const std::string contents = objects->contents();
        if (contents == specimen_.states.back()) return mended::whole;
        return what.hits_users || is_expected(what, contents) ? mended::users : mended::wrong;
    }

    bool is_expected(const damage& what, const std::string& contents) const {
        if (contents == specimen_.states.back()) return true;
        const auto kind = static_cast<area>(what.kind);
        if (kind == area::payload || kind == area::length) return true;
        const auto& states = specimen_.states;
        return what.may_lose_tail && std::find(states.begin(), states.end(), contents) != states.end();
    }

    fate fate_of(const damage& what) const {
        const auto checked = check_pool(path(), check_corruption_objects<Engine>);
        const bool complained = !checked || !checked->sound() || checked->worn();
        auto pool = basic_pool<Engine>::open(path(), options_);
        if (!pool) return fate::refused;
        auto objects = corruption_objects<Engine>::objects_in(*pool);
        if (!objects) return fate::refused;
        // Of what the check complains the program was told: it would not walk it.
        if (complained) return fate::found;
        const std::string contents = objects->contents();
        if (contents == specimen_.states.back()) return fate::harmless;
        if (!is_expected(what, contents)) return fate::silent;
        return what.may_lose_tail ? fate::torn : fate::users;
    }

    bool on_file_;
    bool closed_;
    scratch_directory scratch_;
    test::copies_count as_the_pool_itself_;
    create_options options_;
    specimen specimen_;
};

template <std::size_t Columns>
void print(const char* title, const std::array<const char*, Columns>& columns,
           const std::uint64_t (&counts)[tally::kinds][Columns]) {
    std::printf("%s\n%-16s", title, "");
    for (const char* name : columns) std::printf("%11s", name);
    std::printf("\n");
    for (std::size_t kind = 0; kind < tally::kinds; ++kind) {
        const std::string name = kind < area_names.size()    ? std::string(area_names[kind])
                                 : kind == area_names.size() ? "page misplaced"
                                                             : "file cut";
        if (std::accumulate(std::begin(counts[kind]), std::end(counts[kind]), std::uint64_t{0}) == 0) continue;
        std::printf("%-16s", name.c_str());
        for (const std::uint64_t each : counts[kind]) std::printf("%11llu", static_cast<unsigned long long>(each));
        std::printf("\n");
    }
}

std::uint64_t sum(const tally& counts, fate of) {
    std::uint64_t total = 0;
    for (const auto& kind : counts.of) total += kind[static_cast<std::size_t>(of)];
    return total;
}

template <class Engine>
void run(const char* title, level durability, bool on_file, bool closed) {
    void* shared = ::mmap(nullptr, sizeof(tally), PROT_READ | PROT_WRITE, MAP_SHARED | MAP_ANONYMOUS, -1, 0);
    ASSERT_NE(shared, MAP_FAILED);
    auto& counts = *new (shared) tally;
    corruption<Engine>(durability, on_file, closed).run(counts);
    print(title, fate_names, counts.of);
    print("  repaired", mended_names, counts.repaired);
    EXPECT_EQ(sum(counts, fate::silent), 0u) << "for one: " << counts.first_silent;
    EXPECT_EQ(counts.first_wrong[0], 0) << "a repair claims too much: " << counts.first_wrong;
    EXPECT_GT(sum(counts, fate::found) + sum(counts, fate::refused), 100u);
    const auto& unused = counts.of[static_cast<std::size_t>(area::unused)];
    EXPECT_GT(unused[static_cast<std::size_t>(fate::harmless)], 5u) << "what is unused does not matter";
    ::munmap(shared, sizeof(tally));
}

TEST(Corruption, OfAClosedRedoPoolIsFound) {
    run<redo>("redo, power, closed", level::power, false, true);
}
TEST(Corruption, OfARedoPoolCutAtPowerIsFound) {
    run<redo>("redo, power, cut", level::power, false, false);
}
TEST(Corruption, OfARedoPoolKilledAtProcessIsFound) {
    run<redo>("redo, process, killed", level::process, false, false);
}
TEST(Corruption, OfARedoPoolOnAFileCutAtPowerIsFound) {
    run<redo>("redo, power, file, cut", level::power, true, false);
}
TEST(Corruption, OfAClosedUndoPoolIsFound) {
    run<undo>("undo, power, closed", level::power, false, true);
}
TEST(Corruption, OfAnUndoPoolCutInATransactionIsFound) {
    run<undo>("undo, power, cut", level::power, false, false);
}
TEST(Corruption, OfAnUndoPoolKilledAtProcessIsFound) {
    run<undo>("undo, process, killed", level::process, false, false);
}

}  // namespace
}  // namespace holdfast
