// The log on ordinary files: one sync per group, checkpoints, what a failed sync means.
#include <holdfast/log/groups.hpp>
#include <holdfast/log/log_test_support.hpp>
#include <holdfast/log/truncation.hpp>
#include <holdfast/persist/sites.hpp>
#include <holdfast/persist/test_scratch.hpp>

#include <atomic>
#include <cerrno>
#include <chrono>
#include <csignal>
#include <functional>
#include <optional>
#include <thread>
#include <utility>

#include <pthread.h>
#include <sys/syscall.h>
#include <unistd.h>

namespace {
/// Called once, before the next write that is no sync.
std::function<void()> before_a_write;
/// So many syncs fail from now on.
std::atomic<int> syncs_that_fail{0};
}  // namespace

extern "C" int fdatasync(int descriptor) {
    if (syncs_that_fail > 0) {
        --syncs_that_fail;
        errno = EIO;
        return -1;
    }
    return static_cast<int>(::syscall(SYS_fdatasync, descriptor));
}

extern "C" ssize_t pwrite(int descriptor, const void* bytes, size_t size, off_t offset) {
    if (auto call = std::exchange(before_a_write, nullptr)) call();
    return ::syscall(SYS_pwrite64, descriptor, bytes, size, offset);
}

namespace holdfast {
namespace {

using namespace holdfast::test;
using persist::test::failing_device;

class Groups : public ::testing::Test {
protected:
    Groups() {
        auto made = persist::test::create_file(scratch_.file("pool"), 0600);
        file_.emplace(std::move(made.value()));
        file_->allocate(image_.size()).value();
        file_->write_at(0, image_.data(), image_.size(), persist::site::pool_format).value();
        file_->sync(persist::site::pool_format).value();
        open();
    }
    void open(std::uint64_t last_sequence = 0) { open(last_sequence, last_sequence, {}); }
    void open(std::uint64_t last_sequence, std::uint64_t truncated, const std::vector<used_segment>& kept) {
        log_.emplace(*file_, image_.geometry(), last_sequence, truncated, kept);
    }

    result<void> commit(const std::vector<std::uint64_t>& payload, bool sync_first = false) {
        if (auto admitted = log_->admit(payload.size()); !admitted) return admitted;
        return log_->wait(log_->append(payload.data(), payload.size(), sync_first));
    }
    /// The file as a power cut now would leave it, recovered.
    log_in_memory recovered() {
        log_in_memory pool;
        file_->read_at(0, pool.data(), pool.size()).value();
        report_ = pool.recover().value();
        return pool;
    }
    std::uint64_t word_on_file(std::uint64_t index) {
        std::uint64_t value = 0;
        file_->read_at(image_.offset(index), &value, sizeof value).value();
        return value;
    }

    persist::test::scratch_directory scratch_{"."};
    log_in_memory image_;
    std::optional<persist::file> file_;
    std::optional<group_log> log_;
    replay_report report_;
};

TEST_F(Groups, ACommitCostsOneSyncAndIsRecovered) {
    const auto before = persist::thread_counters();
    for (std::uint64_t i = 1; i <= 10; ++i) ASSERT_TRUE(commit(run(image_.offset(i), {i})));
    const auto cost = persist::thread_counters() - before;
    EXPECT_EQ(cost.syncs, 10u);
    EXPECT_EQ(cost.written_bytes, 11u * 64) << "and the first segment's salt";
    EXPECT_EQ(log_->groups(), 10u);
    EXPECT_EQ(word_on_file(3), 0u) << "homes wait for the checkpoint";
    auto pool = recovered();
    EXPECT_EQ(report_.applied, 10u);
    for (std::uint64_t i = 1; i <= 10; ++i) EXPECT_EQ(pool.word(i), i);
    const auto first = persist::thread_counters();
    ASSERT_TRUE(commit(run(image_.offset(1), {1}), true));
    EXPECT_EQ((persist::thread_counters() - first).syncs, 2u) << "data outside the log are synced first";
}

TEST_F(Groups, WhereSyncsAreDeferredACommitCostsNoneAndOneAtTheEndCoversAll) {
    log_->defer_syncs();
    const auto before = persist::thread_counters();
    for (std::uint64_t i = 1; i <= 10; ++i) ASSERT_TRUE(commit(run(image_.offset(i), {i}), true));
    const auto deferred = persist::thread_counters();
    EXPECT_EQ((deferred - before).syncs, 0u);
    auto pool = recovered();
    for (std::uint64_t i = 1; i <= 10; ++i) EXPECT_EQ(pool.word(i), i) << "in the page cache";
    ASSERT_TRUE(log_->end_deferral());
    EXPECT_EQ((persist::thread_counters() - deferred).syncs, 1u);
    ASSERT_TRUE(commit(run(image_.offset(11), {11})));
    EXPECT_EQ((persist::thread_counters() - deferred).syncs, 2u) << "from then on each group has its own";
}

TEST_F(Groups, WhereSyncsAreDeferredAGroupInPartsIsSyncedAtTheEndToo) {
    log_->defer_syncs();
    const auto before = persist::thread_counters();
    ASSERT_TRUE(commit(run(image_.offset(0), std::vector<std::uint64_t>(3000, 4))));
    EXPECT_EQ((persist::thread_counters() - before).syncs, 0u);
    ASSERT_TRUE(log_->end_deferral());
    EXPECT_EQ((persist::thread_counters() - before).syncs, 1u);
}

TEST_F(Groups, WhereSyncsAreDeferredACheckpointSyncsRecordsBeforeHomes) {
    log_->defer_syncs();
    ASSERT_TRUE(commit(run(image_.offset(1), {7})));
    const auto before = persist::thread_counters();
    ASSERT_TRUE(log_->checkpoint());
    EXPECT_EQ((persist::thread_counters() - before).syncs, 3u);
    EXPECT_EQ(word_on_file(1), 7u);
}

TEST_F(Groups, WhereTheCheckpointOfACommitCannotSyncWhatWasDeferredThatIsSaid) {
    if (!private_pages::can_be_kept()) GTEST_SKIP() << "memory is mapped in larger pages";
    auto homes = persist::mapping::map(*file_, 0, image_.size(), image_.size(), persist::mapping::kind::private_copy);
    ASSERT_TRUE(homes) << homes.error().text();
    private_pages pages(*homes, *file_, 4096);
    pages.found(0, 0);
    ASSERT_TRUE(pages.is_half_used()) << "so that each commit empties the log";
    log_->bound(pages);
    log_->defer_syncs();
    int losses = 0;
    log_->on_deferred_lost = [&] { ++losses; };
    syncs_that_fail = 1;
    ASSERT_TRUE(commit(run(image_.offset(1), {7})));
    EXPECT_EQ(losses, 1);
    EXPECT_TRUE(log_->poisoned());
}

TEST_F(Groups, ASyncThatFailsPoisonsTheLogBeforeAnotherBegins) {
    EXPECT_FALSE(log_->sync_alone([]() -> result<void> { return error{.code = errc::io, .what = "it failed"}; }));
    EXPECT_TRUE(log_->poisoned());
    EXPECT_FALSE(log_->sync_alone([]() -> result<void> {
        ADD_FAILURE() << "the kernel has told of the failed write already";
        return {};
    }));
}

TEST_F(Groups, AGroupThatIsBeingWrittenWhenDeferralEndsIsSyncedBeforeItCounts) {
    log_->defer_syncs();
    ASSERT_TRUE(commit(run(image_.offset(1), {7})));
    before_a_write = [&] { std::thread([&] { EXPECT_TRUE(log_->end_deferral()); }).join(); };
    const auto before = persist::thread_counters();
    ASSERT_TRUE(commit(run(image_.offset(2), {8})));
    EXPECT_EQ((persist::thread_counters() - before).syncs, 1u);
}

/// Whether a signal keeps a thread.
std::atomic<bool> is_held_up{false};

TEST_F(Groups, ACommitThatComesBeforeTheSyncWithWhichDeferralEndsSyncsTheGroupsBeforeItself) {
    log_->defer_syncs();
    ASSERT_TRUE(commit(run(image_.offset(1), {7})));
    std::atomic<bool> has_begun{false}, may_end{false};
    std::thread other([&] {
        EXPECT_TRUE(log_->sync_alone([&]() -> result<void> {
            has_begun = true;
            while (!may_end) std::this_thread::yield();
            return {};
        }));
    });
    while (!has_begun) std::this_thread::yield();
    std::thread ending([&] { EXPECT_TRUE(log_->end_deferral()); });
    // Behind it, and in front of its sync.
    const auto pause = std::chrono::milliseconds{50};
    std::this_thread::sleep_for(pause);
    is_held_up = true;
    struct sigaction holding_up{};
    holding_up.sa_handler = [](int) {
        while (is_held_up) ::usleep(100);
    };
    ASSERT_EQ(::sigaction(SIGUSR1, &holding_up, nullptr), 0);
    ASSERT_EQ(::pthread_kill(ending.native_handle(), SIGUSR1), 0);
    std::uint64_t syncs = 0;
    std::thread committing([&] {
        const auto before = persist::thread_counters();
        EXPECT_TRUE(commit(run(image_.offset(2), {8})));
        syncs = (persist::thread_counters() - before).syncs;
    });
    std::this_thread::sleep_for(pause);
    may_end = true;
    other.join();
    committing.join();
    is_held_up = false;
    ending.join();
    EXPECT_EQ(syncs, 2u);
}

TEST_F(Groups, CommitsThatWaitTogetherShareASync) {
    std::vector<group_log::ticket> tickets;
    for (std::uint64_t i = 0; i < 8; ++i) {
        const auto payload = run(image_.offset(i), {i + 1});
        tickets.push_back(log_->append(payload.data(), payload.size(), false));
    }
    const auto before = persist::thread_counters();
    for (const auto& each : tickets) ASSERT_TRUE(log_->wait(each));
    EXPECT_EQ((persist::thread_counters() - before).syncs, 1u);
    EXPECT_EQ(log_->groups(), 1u);
    auto pool = recovered();
    for (std::uint64_t i = 0; i < 8; ++i) EXPECT_EQ(pool.word(i), i + 1);
}

TEST_F(Groups, ManyCommittersShareSyncs) {
    std::atomic<std::uint64_t> syncs{0};
    std::vector<std::thread> threads;
    for (std::uint64_t index = 0; index < 8; ++index)
        threads.emplace_back([&, index] {
            const auto before = persist::thread_counters();
            for (std::uint64_t i = 1; i <= 50; ++i) ASSERT_TRUE(commit(run(image_.offset(index), {i})));
            syncs += (persist::thread_counters() - before).syncs;
        });
    for (auto& each : threads) each.join();
    EXPECT_EQ(syncs, log_->groups() + 2 * log_->checkpoints());
    EXPECT_LT(syncs, 400u);
    auto pool = recovered();
    for (std::uint64_t index = 0; index < 8; ++index) EXPECT_EQ(pool.word(index), 50u);
}

TEST_F(Groups, ACheckpointWritesLoggedBytesHomeWithTwoSyncs) {
    const std::uint64_t neighbours = 0x1111111111111111;
    ASSERT_TRUE(file_->write_at(image_.offset(0), &neighbours, 8, persist::site::pool_format));
    const std::uint64_t between = 0x2222222222222222;
    ASSERT_TRUE(file_->write_at(image_.offset(2), &between, 8, persist::site::pool_format));
    ASSERT_TRUE(commit({format::masked_tag(image_.offset(0), 0x99), 0xAABBCCDDEEFF0022}));
    ASSERT_TRUE(commit(run(image_.offset(5), {5, 6})));
    ASSERT_TRUE(commit(run(image_.offset(6), {7})));
    const auto before = persist::thread_counters();
    ASSERT_TRUE(log_->checkpoint());
    const auto cost = persist::thread_counters() - before;
    EXPECT_EQ(cost.syncs, 2u);
    EXPECT_EQ(cost.written_bytes, 7 * 8 + sizeof(format::truncation_slot)) << "the range of the page that they span";
    EXPECT_EQ(word_on_file(2), between) << "as it was";
    EXPECT_EQ(word_on_file(0), 0xAA1111DDEE111122u);
    EXPECT_EQ(word_on_file(5), 5u);
    EXPECT_EQ(word_on_file(6), 7u);
    EXPECT_EQ(log_->truncated(), 3u);
    recovered();
    EXPECT_EQ(report_.records, 0u);
    const auto again = persist::thread_counters();
    ASSERT_TRUE(log_->checkpoint());
    EXPECT_TRUE(persist::thread_counters() - again == persist::counters{}) << "nothing to do";
}

TEST_F(Groups, TheLogGoesRound) {
    std::uint64_t told = 0;
    log_->on_truncated = [&](std::uint64_t sequence) { told = sequence; };
    for (std::uint64_t i = 1; i <= 300; ++i)
        ASSERT_TRUE(commit(run(image_.offset(i % 7 * 200), std::vector<std::uint64_t>(150, i))));
    EXPECT_GE(log_->checkpoints(), 3u);
    EXPECT_EQ(told, log_->truncated());
    auto pool = recovered();
    EXPECT_EQ(report_.last_sequence, 300u);
    for (std::uint64_t i = 294; i <= 300; ++i) EXPECT_EQ(pool.word(i % 7 * 200 + 149), i);
}

TEST_F(Groups, AGroupLargerThanASegmentIsOneCommitInParts) {
    const std::vector<std::uint64_t> words(3000, 4);
    for (int lap = 0; lap < 5; ++lap) {
        const auto before = persist::thread_counters();
        const auto checkpoints = log_->checkpoints();
        ASSERT_TRUE(commit(run(image_.offset(0), words)));
        EXPECT_EQ((persist::thread_counters() - before).syncs, 1 + 2 * (log_->checkpoints() - checkpoints));
    }
    ASSERT_TRUE(commit(run(image_.offset(1), {9})));
    auto pool = recovered();
    EXPECT_EQ(pool.word(0), 4u);
    EXPECT_EQ(pool.word(1), 9u);
    EXPECT_EQ(pool.word(2999), 4u);
    ASSERT_TRUE(log_->checkpoint());
    EXPECT_EQ(word_on_file(2999), 4u);
}

TEST_F(Groups, WhatTheLogCannotHoldIsNotAdmitted) {
    const auto refused = log_->admit(15 * 501);
    ASSERT_FALSE(refused);
    EXPECT_EQ(refused.error().code, errc::transaction_too_large);
    EXPECT_EQ(refused.error().path, file_->path());
    ASSERT_TRUE(log_->admit(15 * 499));
    std::vector<std::uint64_t> scattered;
    for (std::uint64_t i = 0; scattered.size() + 2 <= 15 * 499; ++i) {
        scattered.push_back(format::run_tag(image_.offset(2 * i), 1));
        scattered.push_back(i + 1);
    }
    ASSERT_TRUE(commit(scattered)) << "what is admitted fits";
    auto pool = recovered();
    EXPECT_EQ(pool.word(2 * 3000), 3001u);
}

TEST_F(Groups, AfterAReopeningTheFirstCheckpointLeavesTheCurrentTruncationPointAlone) {
    std::uint64_t last = 0;
    for (int session = 0; session < 4; ++session) {
        std::vector<std::byte> header(4096);
        file_->read_at(image_.geometry().offset, header.data(), header.size()).value();
        const auto before = read_truncation_point(header.data());
        ASSERT_TRUE(commit(run(image_.offset(0), {++last})));
        ASSERT_TRUE(log_->checkpoint());
        file_->read_at(image_.geometry().offset, header.data(), header.size()).value();
        const auto after = read_truncation_point(header.data());
        ASSERT_TRUE(before && after);
        EXPECT_EQ(after->sequence, last);
        if (session > 0) {
            EXPECT_NE(after->slot, before->slot) << "a torn write would leave neither";
        }
        open(last);
    }
}

TEST_F(Groups, AFailedSyncPoisonsTheLogForGood) {
    ASSERT_TRUE(commit(run(image_.offset(0), {1})));
    {
        const failing_device broken;
        const auto one = run(image_.offset(0), {2}), two = run(image_.offset(1), {2});
        const auto first = log_->append(one.data(), one.size(), false);
        const auto second = log_->append(two.data(), two.size(), false);
        for (const auto& each : {first, second}) {
            const auto waited = log_->wait(each);
            ASSERT_FALSE(waited);
            EXPECT_EQ(waited.error().code, errc::outcome_unknown);
            EXPECT_NE(waited.error().text().find(file_->path()), std::string::npos);
        }
    }
    // The device works again; the log must not try it.
    EXPECT_TRUE(log_->poisoned());
    const auto before = persist::thread_counters();
    const auto later = commit(run(image_.offset(0), {3}));
    ASSERT_FALSE(later);
    EXPECT_EQ(later.error().code, errc::poisoned);
    const auto checkpoint = log_->checkpoint();
    ASSERT_FALSE(checkpoint);
    EXPECT_EQ(checkpoint.error().code, errc::poisoned);
    EXPECT_TRUE(persist::thread_counters() - before == persist::counters{}) << "no sync is tried again";
    auto pool = recovered();
    EXPECT_EQ(pool.word(0), 1u);
}

TEST_F(Groups, ACheckpointThatFailsBeforeItsSyncIsDoneByTheNext) {
    ASSERT_TRUE(commit(run(image_.offset(0), {1})));
    {
        const failing_device broken;
        EXPECT_FALSE(log_->checkpoint()) << "homes cannot be written";
    }
    EXPECT_FALSE(log_->poisoned()) << "the log has all of it still";
    EXPECT_EQ(log_->truncated(), 0u);
    ASSERT_TRUE(commit(run(image_.offset(1), {2})));
    ASSERT_TRUE(log_->checkpoint());
    EXPECT_EQ(log_->truncated(), 2u);
    auto pool = recovered();
    EXPECT_EQ(pool.word(0), 1u);
    EXPECT_EQ(pool.word(1), 2u);
}

TEST_F(Groups, ResetLeavesNothingToReplay) {
    for (std::uint64_t i = 1; i <= 60; ++i)
        ASSERT_TRUE(commit(run(image_.offset(0), std::vector<std::uint64_t>(60, i))));
    ASSERT_TRUE(group_log::reset(*file_, image_.geometry(), 60));
    recovered();
    EXPECT_EQ(report_.records, 0u);
    EXPECT_EQ(report_.last_sequence, 60u);
}

TEST_F(Groups, KeptPartsOfOneGroupComeHomeInTheirOrderWhereverTheyStand) {
    // So that the parts wrap round: the last in segment 0, the first in the last segment.
    const std::uint32_t segments = image_.geometry().segment_count();
    const std::uint64_t words = image_.geometry().segment_payload_words();
    for (std::uint32_t used = 0; used + 1 < segments; ++used)
        ASSERT_TRUE(commit(run(image_.offset(0), std::vector<std::uint64_t>(words - 1, 1))));
    ASSERT_TRUE(log_->checkpoint());
    auto payload = run(image_.offset(0), std::vector<std::uint64_t>(words - 1, 2));
    const auto again = run(image_.offset(0), {3});
    payload.insert(payload.end(), again.begin(), again.end());
    ASSERT_TRUE(commit(payload));
    ASSERT_TRUE(commit(run(image_.offset(1), {4})));

    log_in_memory pool;
    file_->read_at(0, pool.data(), pool.size()).value();
    const auto replay = log_replay::read({pool.data(), pool.size()}, image_.geometry());
    ASSERT_TRUE(replay);
    ASSERT_EQ(replay->used_segments().size(), 2u);
    ASSERT_GT(replay->used_segments().front().index, replay->used_segments().back().index);
    open(replay->report().last_sequence, replay->report().truncated, replay->used_segments());
    ASSERT_TRUE(log_->checkpoint());
    EXPECT_EQ(word_on_file(0), 3u);
    EXPECT_EQ(word_on_file(1), 4u);
    EXPECT_EQ(word_on_file(2), 2u);
}

TEST_F(Groups, ATornRecordThatRecoverySawIsNotNamedAsAcknowledged) {
    ASSERT_TRUE(commit(run(image_.offset(3), {1})));
    ASSERT_TRUE(commit(run(image_.offset(4), {2})));
    log_in_memory pool;
    file_->read_at(0, pool.data(), pool.size()).value();
    auto replay = log_replay::read({pool.data(), pool.size()}, image_.geometry());
    ASSERT_TRUE(replay);
    // The second is torn.
    const std::uint64_t torn = replay->records().back().payload_offset;
    pool.data()[torn] ^= std::byte{1};
    file_->write_at(torn, pool.data() + torn, 1, persist::site::pool_format).value();
    replay = log_replay::read({pool.data(), pool.size()}, image_.geometry());
    ASSERT_TRUE(replay);
    ASSERT_EQ(replay->report().last_sequence, 2u);
    open(replay->report().last_sequence, replay->report().truncated, replay->used_segments());
    ASSERT_TRUE(commit(run(image_.offset(5), {9})));
    EXPECT_EQ(recovered().word(5), 9u);
    EXPECT_EQ(report_.applied, 2u);
}

TEST_F(Groups, RecordsThatRecoveryKeptComeHomeWithTheNextCheckpointAndInOrder) {
    ASSERT_TRUE(commit(run(image_.offset(3), {1, 2})));
    ASSERT_TRUE(commit(run(image_.offset(4), {7})));
    log_in_memory pool;
    file_->read_at(0, pool.data(), pool.size()).value();
    const auto replay = log_replay::read({pool.data(), pool.size()}, image_.geometry());
    ASSERT_TRUE(replay);
    ASSERT_TRUE(replay->all_whole());
    open(replay->report().last_sequence, replay->report().truncated, replay->used_segments());
    ASSERT_TRUE(commit(run(image_.offset(5), {9})));
    EXPECT_EQ(word_on_file(4), 0u);
    ASSERT_TRUE(log_->checkpoint());
    EXPECT_EQ(word_on_file(3), 1u);
    EXPECT_EQ(word_on_file(4), 7u);
    EXPECT_EQ(word_on_file(5), 9u);
    EXPECT_EQ(recovered().word(4), 7u);
}

}  // namespace
}  // namespace holdfast
