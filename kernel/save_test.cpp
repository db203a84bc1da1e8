// Saves on a medium that is cut after each store, write-back and fence, and the faults that this must find.
#include "save_world_test_support.hpp"

#include <holdfast/base/test_run.hpp>

#include <gtest/gtest.h>

#include <cerrno>
#include <cstdio>
#include <string>
#include <vector>

enum hf_fault hf_fault_planted = hf_no_fault;

namespace holdfast::kernel {
namespace {

#define FAULT_NAME(name) #name,
const char* const fault_names[] = {"none",
#include "save_faults.def"
};
#undef FAULT_NAME

class planted_fault {
public:
    explicit planted_fault(int which) { hf_fault_planted = static_cast<hf_fault>(which); }
    ~planted_fault() { hf_fault_planted = hf_no_fault; }
    planted_fault(const planted_fault&) = delete;
    planted_fault& operator=(const planted_fault&) = delete;
};

/// An area with a save, and what is asked of it.
class saved_area {
public:
    saved_area() : region_(region_words) {
        save_.port.store = [](void*, __u64* at, __u64 value) { *at = value; };
        save_.port.write_back = [](void*, const void*, __u64) {};
        save_.port.fence = [](void*) {};
        hf_save_open(&save_, area(), 5, chunk_bytes);
        for (std::size_t at = 0; at < log_words; ++at) content_[at] = at * 0x9E3779B97F4A7C15;
        const hf_save_piece piece{content_.data(), sizeof content_};
        hf_save_log log{1, area(), &piece, 1, sizeof content_, {1, 2, 3, 4}};
        hf_save_ended(&save_, &log, 0);
    }
    hf_save_area* area() { return reinterpret_cast<hf_save_area*>(region_.data()); }
    int find(__u64 key = 5, __u64 bytes = chunk_bytes, std::vector<__u64> session = {1, 2, 3, 4}) {
        return hf_save_find(area(), key, bytes, session.data());
    }
    words& region() { return region_; }

    /// The first thing that is not refused; empty: all is.
    std::string first_not_refused() {
        if (find() != 0) return "the save itself is refused";
        if (find(6) != -ENOENT) return "another key";
        for (std::size_t word = 0; word < HF_SESSION_WORDS; ++word) {
            std::vector<__u64> other{1, 2, 3, 4};
            other[word] ^= 1;
            if (find(5, chunk_bytes, other) != -ESTALE) return "another session";
        }
        if (find(5, chunk_bytes - 64) != -ENOENT) return "a chunk that is too small";
        for (std::size_t bit = 0; bit < (12 + log_words) * 64; ++bit) {
            // Place, state and log of the header, then the bytes; not what nobody reads.
            std::size_t word = bit / 64;
            if (word >= 5) word += 3;
            if (word >= 15) word += HF_SAVE_LOG_OFFSET / 8 - 15;
            region_[word] ^= 1ull << bit % 64;
            const int said = find();
            region_[word] ^= 1ull << bit % 64;
            if (said == 0) return "bit " + std::to_string(bit % 64) + " of word " + std::to_string(word);
        }
        return "";
    }

private:
    words region_;
    log_content content_{};
    hf_save save_{};
};

/// What is wrong with a number of lives; stops at the first finding.
std::string wrong_in(std::uint64_t seed, std::uint64_t lives) {
    save_world world(seed);
    for (std::uint64_t life = 0; life < lives && world.wrong().empty(); ++life) world.live();
    return world.wrong();
}

TEST(Save, ASealedSaveIsWholeAResumedOneNeverCountsAndAnEndedLogIsKeptUntilItIsAcknowledged) {
    const std::uint64_t seed = holdfast::test::seed_of_run();
    SCOPED_TRACE("HOLDFAST_SEED=" + std::to_string(seed));
#ifdef HOLDFAST_FEW_PLACES
    const std::uint64_t lives = 200;
#else
    const std::uint64_t lives = holdfast::test::at_full_length() ? 200'000 : 10'000;
#endif
    save_world world(seed);
    for (std::uint64_t life = 0; life < lives && world.wrong().empty(); ++life) world.live();
    EXPECT_EQ(world.wrong(), "");
    EXPECT_GT(world.saves(), lives);
    std::printf("  %llu lives, %llu saves, %llu images\n", static_cast<unsigned long long>(lives),
                static_cast<unsigned long long>(world.saves()), static_cast<unsigned long long>(world.looks()));
}

TEST(Save, WhatIsDamagedOrAnothersIsRefused) { EXPECT_EQ(saved_area().first_not_refused(), ""); }

TEST(Save, EveryPlantedFaultIsCaught) {
    for (int fault = 1; fault < hf_faults_end; ++fault) {
        const planted_fault planted(fault);
        std::string found = saved_area().first_not_refused();
        for (std::uint64_t seed = 1; seed <= 20 && found.empty(); ++seed) found = wrong_in(seed, 100);
        EXPECT_NE(found, "") << fault_names[fault];
        std::printf("  %s: %s\n", fault_names[fault], found.c_str());
    }
    EXPECT_GE(hf_faults_end, 13) << "twelve at least";
}

TEST(Save, AnAreaIsReusedOnceItsSaveIsAcknowledged) {
    saved_area one;
    hf_save save{};
    save.port.store = [](void*, __u64* at, __u64 value) { *at = value; };
    save.port.write_back = [](void*, const void*, __u64) {};
    save.port.fence = [](void*) {};
    EXPECT_EQ(hf_save_open(&save, one.area(), 5, chunk_bytes), -ENOTEMPTY);
    EXPECT_EQ(one.find(), 0) << "refusing changes nothing";
    hf_save_void(&save, one.area());
    EXPECT_EQ(one.find(), -ENOENT);
    EXPECT_EQ(hf_save_open(&save, one.area(), 5, chunk_bytes), 0);
    EXPECT_EQ(one.find(), -ENOENT) << "an open area has no save";
}

}  // namespace
}  // namespace holdfast::kernel
