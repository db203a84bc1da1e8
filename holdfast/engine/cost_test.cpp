// What a commit asks of the medium, by persistence domain and delay.
#include <holdfast/engine/engine_test_support.hpp>

#include <chrono>
#include <filesystem>

namespace holdfast {
namespace {

using namespace holdfast::test;

/// A fake /sys with one device, 259:0, whose region says `domain`.
class fake_sysfs {
public:
    explicit fake_sysfs(const std::string& domain) {
        const std::filesystem::path root = scratch_.path();
        const std::string region = "devices/platform/ndbus0/region0";
        persist::test::write_text(root / region / "persistence_domain", domain + "\n");
        std::filesystem::create_directories(root / region / "namespace0.0/block/pmem0");
        std::filesystem::create_directories(root / "dev/block");
        std::filesystem::create_symlink("../../" + region + "/namespace0.0/block/pmem0", root / "dev/block/259:0");
    }
    persist::discovery where() const { return {.sysfs_root = scratch_.path(), .device = "259:0"}; }

private:
    persist::test::scratch_directory scratch_;
};

/// The cost of one committed store of a word, and of the checkpoint behind it.
template <class Engine>
std::pair<persist::counters, persist::counters> cost_in(
    const std::string& domain, persist::record_way records = persist::record_way::streamed) {
    const fake_sysfs sys(domain);
    const persist::test::scratch_directory scratch("/dev/shm");
    create_options options;
    options.bytes = 1 << 20;
    options.reserved_bytes = std::uint64_t{1} << 30;
    options.base = HOLDFAST_TEST_BASE_ADDRESS;
    options.tmpfs_is_nvram = true;
    options.records = records;
    options.where = sys.where();
    auto pool = basic_pool<Engine>::create(scratch.file("pool"), options).value();
    auto* word = pool.template root<typename Engine::template field<long>>("word").value();
    pool.atomically([&] { *word = 1; }).value();
    const auto before = persist::thread_counters();
    pool.atomically([&] { *word = 2; }).value();
    const auto between = persist::thread_counters();
    pool.checkpoint().value();
    return {between - before, persist::thread_counters() - between};
}

TEST(Cost, RedoCommitsWithOneFenceAndNoWriteBack) {
    const auto [commit, checkpoint] = cost_in<redo>("memory_controller");
    EXPECT_EQ(commit.fences, 1u);
    EXPECT_EQ(commit.write_backs, 0u);
    EXPECT_EQ(commit.streamed_bytes, 64u);
    EXPECT_GT(checkpoint.write_backs, 1u);
    EXPECT_EQ(checkpoint.fences, 2u);
}

TEST(Cost, RecordsThroughTheCacheAreWrittenBackLineByLineUnderTheSameFence) {
    const auto [commit, checkpoint] = cost_in<redo>("memory_controller", persist::record_way::written_back);
    EXPECT_EQ(commit.fences, 1u);
    EXPECT_EQ(commit.write_backs, 1u);
    EXPECT_EQ(commit.streamed_bytes, 0u);
    EXPECT_EQ(checkpoint.fences, 2u);
    const auto survives = cost_in<redo>("cpu_cache", persist::record_way::written_back).first;
    EXPECT_EQ(survives.write_backs, 0u) << "nothing is written back where the caches survive";
}

TEST(Cost, AWrapClosesWithOneFenceAndWritesEachHomeLineBackOnce) {
    const auto [commit, checkpoint] = cost_in<softwrap_lat>("memory_controller");
    EXPECT_EQ(commit.fences, 1u);
    EXPECT_EQ(commit.write_backs, 1u);
    EXPECT_EQ(commit.streamed_bytes, 64u);
    EXPECT_GE(checkpoint.write_backs, 1u) << "what no fence has covered since";

    struct words {
        softwrap_lat::field<std::uint64_t> at[64];
    };
    const auto cost_of = [](bool each_word) {
        test_pool<softwrap_lat> pool({.wraps = {.trim_batch = 0, .writes_back_each_word = each_word}});
        auto* data = pool->root<words>("words").value();
        pool->atomically([&] { data->at[0] = 1; }).value();
        const auto before = persist::thread_counters();
        pool->atomically([&] {
            for (std::uint64_t i = 0; i < 24; ++i) data->at[i] = i + 1;
        }).value();
        return persist::thread_counters() - before;
    };
    const auto once = cost_of(false);
    EXPECT_EQ(once.fences, 1u);
    EXPECT_GE(once.write_backs, 3u);
    EXPECT_LE(once.write_backs, 4u) << "24 words lie in three lines or four";
    EXPECT_EQ(cost_of(true).write_backs, 24u) << "as the paper's listing";
}

TEST(Cost, TrimmingCostsAFenceABatch) {
    const auto fences_of = [](std::uint32_t batch) {
        test_pool<softwrap_lat> pool({.wraps = {.trim_batch = batch}});
        auto* word = pool->root<softwrap_lat::field<long>>("word").value();
        pool->checkpoint().value();
        const auto before = persist::thread_counters();
        for (long i = 1; i <= 64; ++i) pool->atomically([&] { *word = i; }).value();
        return (persist::thread_counters() - before).fences;
    };
    EXPECT_EQ(fences_of(0), 64u);
    EXPECT_EQ(fences_of(64), 64u + 1);
    EXPECT_EQ(fences_of(8), 64u + 8);
    EXPECT_LE(fences_of(1), 64u + 64);
    EXPECT_GE(fences_of(1), 64u + 63) << "the first has none before it to trim";
}

TEST(Cost, WithTheCachesInsideTheDomainFencesAreAllThereIs) {
    const auto [commit, checkpoint] = cost_in<redo>("cpu_cache");
    EXPECT_EQ(commit.fences, 1u);
    EXPECT_EQ(commit.write_backs + checkpoint.write_backs, 0u);
    EXPECT_EQ(checkpoint.fences, 2u);
    const auto [undone, undo_checkpoint] = cost_in<undo>("cpu_cache");
    EXPECT_EQ(undone.fences, 3u);
    EXPECT_EQ(undone.write_backs + undo_checkpoint.write_backs, 0u);
}

TEST(Cost, AnUnknownDomainIsWrittenBack) {
    EXPECT_GT(cost_in<redo>("").second.write_backs, 1u);
    EXPECT_EQ(cost_in<undo>("unknown").first.write_backs, 1u);
}

TEST(Cost, UndoSharesAFenceAmongHintedRangesAndUndoPaperDoesNot) {
    const auto fences_of = [](auto engine) {
        using engine_type = decltype(engine);
        test_pool<engine_type> pool;
        struct words {
            typename engine_type::template field<long> at[8];
        };
        auto* data = pool->template root<words>("words").value();
        const auto before = persist::thread_counters();
        pool->atomically([&] {
            engine_type::will_write(data, sizeof *data);
            for (auto& each : data->at) each = 5;
        }).value();
        return (persist::thread_counters() - before).fences;
    };
    EXPECT_EQ(fences_of(undo{}), 3u);
    EXPECT_EQ(fences_of(undo_paper{}), 8u + 2);
}

TEST(Cost, BelowPowerNothingIsWrittenBackOrFenced) {
    test_pool<redo> redoing({.durability = level::process});
    test_pool<undo> undoing({.durability = level::process, .order = 1});
    auto* first = redoing->root<redo::field<long>>("word").value();
    auto* second = undoing->root<undo::field<long>>("word").value();
    const auto before = persist::thread_counters();
    redoing->atomically([&] { *first = 1; }).value();
    undoing->atomically([&] { *second = 1; }).value();
    EXPECT_TRUE(persist::thread_counters() - before == persist::counters{});
}

TEST(Cost, ADelayIsPaidForEachLine) {
    using clock = std::chrono::steady_clock;
    constexpr std::uint32_t delay_ns = 200'000;
    test_pool<redo> pool({.delay_ns = delay_ns});
    auto* word = pool->root<redo::field<long>>("word").value();
    const auto begin = clock::now();
    for (int i = 0; i < 20; ++i) pool->atomically([&] { *word = i; }).value();
    EXPECT_GE(clock::now() - begin, std::chrono::nanoseconds(20ull * delay_ns)) << "one streamed line each";
}

}  // namespace
}  // namespace holdfast
