// The tree of chunks on a medium that is cut after each store. What is not durable yet may be there or not, word by
// word: caches write lines back when they like.
extern "C" {
#include "chunks.h"
}

#include <holdfast/base/test_run.hpp>
#include <workload/random.hpp>

#include <gtest/gtest.h>

#include <algorithm>
#include <cerrno>
#include <cstdio>
#include <functional>
#include <map>
#include <optional>
#include <string>
#include <vector>

namespace holdfast::kernel {
namespace {

constexpr __u64 leaf_bytes = 4096;
constexpr __u64 region_leaves = 29;  // no power of two: the tree reserves what is behind
constexpr __u64 region_bytes = region_leaves * leaf_bytes;
/// The tree is in the first leaves, and nothing but the tree is looked at.
constexpr __u64 looked_at_bytes = 3 * leaf_bytes;

using bytes = std::vector<__u64>;

struct range {
    __u64 begin, size;
};

/// Memory that loses its power: `now` is what the processor sees, `durable` what is certain to stay.
class medium {
public:
    medium() : now_(looked_at_bytes / 8), durable_(looked_at_bytes / 8) {}

    hf_chunks region() { return region_on(now_, this); }
    /// Of what a cut left; stores to it are durable at once.
    static hf_chunks region_on(bytes& at, medium* of = nullptr) {
        hf_chunks region{};
        region.base = at.data();
        region.bytes = region_bytes;
        region.media.store = [](void* context, __u64* to, __u64 value) {
            *to = value;
            if (context != nullptr) static_cast<medium*>(context)->stored(to);
        };
        region.media.persist = [](void* context, const void* begin, __u64 size) {
            if (context != nullptr) static_cast<medium*>(context)->persisted(begin, size);
        };
        region.media.clear = [](void* context, __u64 offset, __u64 size) {
            if (context == nullptr) return 0;
            static_cast<medium*>(context)->cleared.push_back({offset, size});
            return static_cast<medium*>(context)->clearing_ends_with;
        };
        region.media.context = of;
        return region;
    }

    /// Called after each store and after each persist, with what is durable for certain, and with what is durable and a
    /// random part of what is not.
    std::function<void(bytes& image)> cut;
    /// A fault: what it is told to persist in pieces of this size is not durable before `settle`.
    __u64 loses_persists_of = 0;
    std::vector<range> cleared;
    int clearing_ends_with = 0;
    std::uint64_t stores = 0, images = 0;
    workload::random random{1};

    /// A call has returned: `cut` sees what is left of it.
    void end_call() { lose_power(); }
    void settle() {
        durable_ = now_;
        pending_.clear();
    }
    bytes& now() { return now_; }

private:
    void stored(const __u64* at) {
        ++stores;
        pending_.push_back(static_cast<std::size_t>(at - now_.data()));
        lose_power();
    }
    void persisted(const void* begin, __u64 size) {
        if (size == loses_persists_of) return;
        const auto first = static_cast<std::size_t>(static_cast<const __u64*>(begin) - now_.data()) & ~std::size_t{7};
        const auto end = static_cast<std::size_t>(static_cast<const __u64*>(begin) - now_.data()) + (size + 7) / 8;
        std::erase_if(pending_, [&](std::size_t at) {
            if (at < first || at >= end) return false;
            durable_[at] = now_[at];
            return true;
        });
        lose_power();
    }
    void lose_power() {
        if (!cut) return;
        look_at_image();
        if (pending_.empty()) return;
        std::vector<std::pair<std::size_t, __u64>> before;
        for (const std::size_t at : pending_) {
            before.emplace_back(at, durable_[at]);
            if (random.below(2) == 0) durable_[at] = now_[at];
        }
        look_at_image();
        for (auto each = before.rbegin(); each != before.rend(); ++each) durable_[each->first] = each->second;
    }
    void look_at_image() {
        ++images;
        cut(durable_);
    }

    bytes now_, durable_;
    std::vector<std::size_t> pending_;
};

struct content {
    __u64 asked;
    __u32 user, group, mode;
    friend bool operator==(const content&, const content&) = default;
};
using contents = std::map<__u64, content>;

struct listing {
    contents found;
    std::map<__u64, range> places;
    std::string wrong;
};

/// All chunks, and whether they are where chunks may be.
listing list(const hf_chunks& region) {
    listing all;
    hf_chunk each{};
    __u64 end = looked_at_bytes;
    for (__u64 from = 0; hf_chunks_next(&region, from, &each) == 0; from = each.offset + 1) {
        if (each.offset < end) all.wrong = "overlaps";
        if (each.offset % each.bytes != 0 || each.bytes < each.asked) all.wrong = "misplaced";
        end = each.offset + each.bytes;
        if (end > region_bytes) all.wrong = "behind the end";
        all.places[each.key] = {each.offset, each.bytes};
        if (!all.found.emplace(each.key, content{each.asked, each.user, each.group, each.mode}).second)
            all.wrong = "twice";
    }
    return all;
}

/// Random calls on one region, each cut after each store.
class endurance {
public:
    explicit endurance(std::uint64_t seed) : random_(seed) {
        medium_.random = workload::random(seed + 1);
        region_ = medium_.region();
        EXPECT_EQ(hf_chunks_format(&region_, leaf_bytes), 0);
        medium_.cut = [this](bytes& image) { look(image); };
    }
    medium& on() { return medium_; }
    const std::string& wrong() const { return wrong_; }
    std::uint64_t fullest() const { return fullest_; }

    void run(std::uint64_t calls) {
        for (std::uint64_t call = 0; call < calls && wrong_.empty(); ++call) {
            after_ = before_;
            medium_.cleared.clear();
            // Runs full and empty in turns.
            const bool makes = random_.below(8) < (call / 64 % 2 == 0 ? 6u : 2u);
            makes ? make() : free();
            before_ = after_;
            medium_.end_call();
            medium_.settle();
            if (list(region_).found != before_) fail("a call did something else than it says");
            fullest_ = std::max<std::uint64_t>(fullest_, before_.size());
        }
    }

private:
    void make() {
        const __u64 asked = 1 + random_.below(random_.below(4) == 0 ? 9 * leaf_bytes : 2 * leaf_bytes);
        const hf_chunk_request request{1 + random_.below(24), asked, static_cast<__u32>(random_.below(1000)),
                                       static_cast<__u32>(random_.below(1000)), static_cast<__u32>(random_.below(512))};
        made_key_ = request.key;
        const content wanted{asked, request.user, request.group, request.mode};
        const bool is_new = after_.emplace(request.key, wanted).second;
        hf_chunk made{};
        const int said = hf_chunks_make(&region_, &request, &made);
        if (said == -ENOSPC || said == -EEXIST) after_ = before_;
        if ((said == -EEXIST) == is_new) fail("a key was taken wrongly");
        if (said != 0 && said != -ENOSPC && said != -EEXIST) fail("make: " + std::to_string(said));
    }
    void free() {
        made_key_ = 0;
        auto at = before_.lower_bound(random_.below(25));
        const __u64 key = at == before_.end() ? 77 : at->first;
        after_.erase(key);
        if (hf_chunks_free(&region_, key) != (key == 77 ? -ENOENT : 0)) fail("free");
    }

    /// A cut left this.
    void look(bytes& image) {
        hf_chunks region = medium::region_on(image);
        hf_chunks_problem problem{};
        bytes copy;
        if (random_.below(16) == 0) {
            copy = image;  // an opening may join halves
            region = medium::region_on(copy);
            if (hf_chunks_open(&region, &problem) != 0) return fail(std::string("open: ") + problem.what);
        } else {
            region.leaf_bytes = leaf_bytes;
            region.leaves = region_.leaves;
            region.nodes = image.data() + (region_.nodes - medium_.now().data());
            region.records = reinterpret_cast<hf_chunk_record*>(
                image.data() + (reinterpret_cast<const __u64*>(region_.records) - medium_.now().data()));
        }
        if (hf_chunks_check(&region, &problem) != 0) return fail(std::string("check: ") + problem.what);
        const listing found = list(region);
        if (!found.wrong.empty()) return fail(found.wrong);
        if (found.found != before_ && found.found != after_) return fail("neither before the call nor after it");
        if (found.found != before_ && made_key_ != 0 && !was_cleared(found.places.at(made_key_)))
            return fail("a chunk that nobody has cleared");
    }
    bool was_cleared(const range& place) const {
        return std::ranges::any_of(medium_.cleared, [&](const range& each) {
            return each.begin == place.begin && each.size == place.size;
        });
    }
    void fail(const std::string& what) {
        if (wrong_.empty()) wrong_ = what;
    }

    workload::random random_;
    medium medium_;
    hf_chunks region_{};
    contents before_, after_;
    __u64 made_key_ = 0;
    std::uint64_t fullest_ = 0;
    std::string wrong_;
};

TEST(Chunks, ACutAfterAnyStoreLeavesTheStateBeforeTheCallOrTheOneAfterIt) {
    const std::uint64_t seed = holdfast::test::seed_of_run();
    SCOPED_TRACE("HOLDFAST_SEED=" + std::to_string(seed));
#ifdef HOLDFAST_FEW_PLACES
    const std::uint64_t calls = 2'000;
#else
    const std::uint64_t calls = holdfast::test::at_full_length() ? 1'000'000 : 20'000;
#endif
    endurance all(seed);
    all.run(calls);
    EXPECT_EQ(all.wrong(), "");
    EXPECT_GT(all.fullest(), 10u);
    std::printf("  %llu calls, %llu stores, %llu images, at most %llu chunks\n", static_cast<unsigned long long>(calls),
                static_cast<unsigned long long>(all.on().stores), static_cast<unsigned long long>(all.on().images),
                static_cast<unsigned long long>(all.fullest()));
}

TEST(Chunks, ATreeWhoseWordsOrRecordsAreNotDurableInTimeIsCaught) {
    for (const __u64 lost : {sizeof(__u64), sizeof(hf_chunk_record)}) {
        endurance all(1);
        all.on().loses_persists_of = lost;
        all.run(1000);
        EXPECT_NE(all.wrong(), "") << lost;
    }
}

class Region : public ::testing::Test {
protected:
    Region() : region_(medium_.region()) { EXPECT_EQ(hf_chunks_format(&region_, leaf_bytes), 0); }
    int make(__u64 key, __u64 asked, __u32 mode = 0600) {
        const hf_chunk_request request{key, asked, 1000, 100, mode};
        return hf_chunks_make(&region_, &request, &made_);
    }
    int open(bytes& image) {
        hf_chunks region = medium::region_on(image);
        return hf_chunks_open(&region, &problem_);
    }

    medium medium_;
    hf_chunks region_;
    hf_chunk made_{};
    hf_chunks_problem problem_{};
};

TEST_F(Region, BadRequestsAreRefusedAndChangeNothing) {
    const bytes before = medium_.now();
    EXPECT_EQ(make(0, 1), -EINVAL);
    EXPECT_EQ(make(1, 0), -EINVAL);
    EXPECT_EQ(make(1, 1, 01000), -EINVAL);
    EXPECT_EQ(make(1, region_bytes), -ENOSPC);
    EXPECT_EQ(make(1, ~0ull), -ENOSPC);
    EXPECT_EQ(hf_chunks_free(&region_, 1), -ENOENT);
    EXPECT_EQ(hf_chunks_find(&region_, 1, &made_), -ENOENT);
    EXPECT_EQ(medium_.now(), before);
    EXPECT_EQ(hf_chunks_format(&region_, 4095), -EINVAL);
    EXPECT_EQ(hf_chunks_format(&region_, 2048), -EINVAL);
    EXPECT_EQ(hf_chunks_format(&region_, 1 << 20), -EINVAL);
    EXPECT_EQ(medium_.now(), before);
    ASSERT_EQ(make(1, 1), 0);
    EXPECT_EQ(make(1, 1), -EEXIST);
}

TEST_F(Region, AMakerThatIsKilledWhileItClearsChangesNothing) {
    const bytes before = medium_.now();
    medium_.clearing_ends_with = -EINTR;
    EXPECT_EQ(make(1, 3 * leaf_bytes), -EINTR);
    EXPECT_EQ(medium_.cleared.size(), 1u);
    EXPECT_EQ(medium_.now(), before);
    medium_.clearing_ends_with = 0;
    EXPECT_EQ(make(1, 3 * leaf_bytes), 0);
}

TEST_F(Region, AllOfItCanBeGivenOutAndIsOnePieceAgainAfterwards) {
    const bytes empty = medium_.now();
    __u64 key = 0;
    while (make(key + 1, 1) == 0) ++key;
    EXPECT_GE(key, region_leaves - 4);
    EXPECT_EQ(hf_chunks_check(&region_, &problem_), 0) << problem_.what;
    for (; key > 0; --key) EXPECT_EQ(hf_chunks_free(&region_, key), 0);
    EXPECT_EQ(make(1, 8 * leaf_bytes), 0);
    EXPECT_EQ(hf_chunks_free(&region_, 1), 0);
    // But for the records, which mean nothing.
    const auto words = region_.records - static_cast<hf_chunk_record*>(region_.base);
    EXPECT_TRUE(std::equal(empty.begin(), empty.begin() + words * 8, medium_.now().begin()));
}

TEST_F(Region, AnOpeningJoinsHalvesThatACutLeftApart) {
    std::optional<bytes> cut_image;
    medium_.settle();
    medium_.cut = [&](bytes& image) {
        // The last image without the chunk: everything is split, and nothing is given out.
        hf_chunks region = medium::region_on(image);
        if (hf_chunks_open(&region, &problem_) == 0 && list(region).found.empty()) cut_image = image;
    };
    ASSERT_EQ(make(1, 1), 0);
    ASSERT_TRUE(cut_image);
    hf_chunks region = medium::region_on(*cut_image);
    ASSERT_EQ(hf_chunks_open(&region, &problem_), 0);
    const hf_chunk_request all{2, 8 * leaf_bytes, 0, 0, 0};
    EXPECT_EQ(hf_chunks_make(&region, &all, &made_), 0);
}

TEST_F(Region, ACutFormatLeavesNoTree) {
    ASSERT_EQ(make(5, 1), 0);
    medium_.settle();
    int empty = 0, none = 0, old = 0;
    medium_.cut = [&](bytes& image) {
        bytes copy = image;
        hf_chunks region = medium::region_on(copy);
        const int said = hf_chunks_open(&region, &problem_);
        if (said == -ENODATA) return void(++none);
        ASSERT_EQ(said, 0) << problem_.what;
        ++(list(region).found.empty() ? empty : old);
    };
    ASSERT_EQ(hf_chunks_format(&region_, leaf_bytes), 0);
    EXPECT_GT(none, 20);
    EXPECT_GT(empty, 0);
    EXPECT_GT(old, 0) << "before the first store is durable";
}

TEST_F(Region, EveryFlippedBitThatMattersIsFound) {
    ASSERT_EQ(make(1, 3 * leaf_bytes), 0);
    ASSERT_EQ(make(2, 100), 0);
    ASSERT_EQ(hf_chunks_free(&region_, 1), 0);
    const auto flips_found = [&](const void* at, std::size_t words) {
        const auto first = static_cast<std::size_t>(static_cast<const __u64*>(at) - medium_.now().data());
        for (std::size_t bit = 0; bit < words * 64; ++bit) {
            bytes image = medium_.now();
            image[first + bit / 64] ^= 1ull << bit % 64;
            EXPECT_NE(open(image), 0) << "bit " << bit % 64 << " of word " << first + bit / 64;
        }
    };
    flips_found(region_.base, 6);
    flips_found(region_.nodes + 1, 2 * region_.leaves - 1);
    const __u64 node = region_.leaves + made_.offset / leaf_bytes;
    ASSERT_EQ(made_.bytes, leaf_bytes);
    flips_found(region_.records + node, 5);
}

TEST_F(Region, PermissionsAreThoseOfFiles) {
    ASSERT_EQ(make(1, 1, 0640), 0);
    const hf_chunk_user owner{1000, false, false}, member{7, true, false}, other{7, false, false}, root{0, false, true};
    EXPECT_TRUE(hf_chunk_permits(&made_, &owner, HF_MAY_READ | HF_MAY_WRITE));
    EXPECT_TRUE(hf_chunk_permits(&made_, &member, HF_MAY_READ));
    EXPECT_FALSE(hf_chunk_permits(&made_, &member, HF_MAY_WRITE));
    EXPECT_FALSE(hf_chunk_permits(&made_, &other, HF_MAY_READ));
    EXPECT_TRUE(hf_chunk_permits(&made_, &root, HF_MAY_READ | HF_MAY_WRITE));
    ASSERT_EQ(make(2, 1, 0066), 0);
    const hf_chunk_user owner_and_member{1000, true, false};
    EXPECT_FALSE(hf_chunk_permits(&made_, &owner_and_member, HF_MAY_READ)) << "the owner's bits bind the owner";
}

}  // namespace
}  // namespace holdfast::kernel
