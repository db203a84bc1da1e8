// The durable rivals, the power cut at every call of the seam, also inside recovery: each transaction is there or not,
// as a whole, and acknowledged ones are.
#include <bench/tl2/memory.hpp>
#include <bench/tl2/power_cut_test.hpp>

#include <workload/plain_access.hpp>
#include <workload/rbtree.hpp>

#include <gtest/gtest.h>

#include <array>
#include <map>
#include <memory>
#include <new>
#include <optional>
#include <random>
#include <set>

namespace holdfast::bench {
namespace {

constexpr std::size_t word_count = 24;
constexpr std::uint64_t keys = 16;

struct alignas(64) lonely_word {
    std::uint64_t value;
};
struct data {
    lonely_word* words;
    alignas(64) workload::rbtree_root tree;  ///< in a line of its own: whoever loads `words` does not meet it
};

/// What the rival keeps, kept in ordinary memory.
struct model {
    std::array<std::uint64_t, word_count> values{};
    std::map<std::int64_t, std::int64_t> tree;
    friend bool operator==(const model&, const model&) = default;
};

/// One random transaction, the same on both sides.
struct step {
    std::uint64_t seed;
    std::set<std::size_t> avoided{};  ///< words that another one is about to store to
    bool with_tree = true;

    std::map<std::size_t, std::uint64_t> stores() const {
        std::mt19937_64 random(seed);
        std::map<std::size_t, std::uint64_t> all;
        for (std::size_t left = 1 + random() % 5; left > 0; --left) {
            const std::size_t at = random() % word_count;
            if (!avoided.contains(at)) all[at] = random();
        }
        return all;
    }
    std::int64_t key() const { return static_cast<std::int64_t>((seed >> 32) % keys); }

    template <class Access>
    bool run(const Access& memory, data* root) const {
        return memory.atomically([&] {
            lonely_word* const homes = memory.load(&root->words);
            for (const auto& [at, value] : stores()) memory.store(&homes[at].value, value);
            if (!with_tree) return;
            const workload::rbtree<Access> tree(memory, &root->tree);
            if (!tree.insert(key(), static_cast<std::int64_t>(seed))) tree.remove(key());
        });
    }
    void run(model& on) const {
        for (const auto& [at, value] : stores()) on.values[at] = value;
        if (with_tree && !on.tree.emplace(key(), static_cast<std::int64_t>(seed)).second) on.tree.erase(key());
    }
};

struct free_memory {
    void operator()(std::byte* memory) const { ::operator delete[](memory, std::align_val_t{4096}); }
};

/// A rival over memory that its cuts leave behind.
template <class Log>
class life {
public:
    explicit life(std::uint64_t log_bytes)
        : bytes_(576 << 10),
          memory_(static_cast<std::byte*>(::operator new[](bytes_, std::align_val_t{4096}))),
          log_bytes_(log_bytes) {
        std::memset(memory_.get(), 0, bytes_);
        open();
        EXPECT_TRUE(access(0).atomically([&] {
            auto* const homes = static_cast<lonely_word*>(access(0).allocate(word_count * sizeof(lonely_word)));
            for (std::size_t i = 0; i < word_count; ++i) access(0).store(&homes[i].value, 0);
            access(0).store(&root()->words, homes);
        }));
    }

    std::span<std::byte> bytes() const { return {memory_.get(), bytes_}; }
    tl2_access<Log> access(unsigned session) { return rival_->access(session); }
    data* root() { return region_->template root<data>(); }
    std::uint64_t truncations() const { return rival_->truncations(); }

    /// Recovers.
    void open() {
        close();
        region_.emplace(region_parts{.begin = memory_.get(), .bytes = bytes_, .sessions = 2, .log_bytes = log_bytes_});
        rival_.emplace(*region_);
    }
    void close() {
        rival_.reset();
        region_.reset();
    }
    model content() {
        model found;
        for (std::size_t i = 0; i < word_count; ++i) found.values[i] = root()->words[i].value;
        const workload::rbtree tree(workload::plain_access{}, &root()->tree);
        EXPECT_STREQ(tree.check().problem, nullptr);
        for (std::uint64_t key = 0; key < keys; ++key) {
            std::int64_t value = 0;
            if (tree.get(static_cast<std::int64_t>(key), value)) found.tree[static_cast<std::int64_t>(key)] = value;
        }
        return found;
    }

private:
    std::size_t bytes_;
    std::unique_ptr<std::byte[], free_memory> memory_;
    std::uint64_t log_bytes_;
    std::optional<region> region_;
    std::optional<tl2_memory<Log>> rival_;
};

/// Runs transactions in two sessions until the cut, and says what may be there afterwards.
template <class Log>
class run_to_cut {
public:
    run_to_cut(life<Log>& on, model state, std::uint64_t seed, bool interleaved)
        : life_(on), random_(seed), state_(std::move(state)), medium_(on.bytes(), seed) {
        if (interleaved) medium_.between([this] { other_session(); });
    }

    /// Returns whether the cut came.
    bool run(unsigned transactions, std::uint64_t cut) {
        medium_.cut_at(cut);
        try {
            for (unsigned i = 0; i < transactions; ++i) {
                // One session commits several times while the other does not.
                if (random_() % 6 == 0) session_ = 1 - session_;
                open_ = step{random_()};
                EXPECT_TRUE(open_->run(life_.access(session_), life_.root()));
                open_->run(state_);
                open_.reset();
            }
        } catch (const persist::simulated_crash&) {
        }
        medium_.between({});
        return medium_.was_cut();
    }
    std::uint64_t calls() const { return medium_.calls(); }

    /// With or without each transaction that was not acknowledged.
    std::vector<model> allowed() const {
        std::vector<model> all{state_};
        for (const auto& each : {open_, open_inside_}) {
            if (!each) continue;
            for (std::size_t i = 0, count = all.size(); i < count; ++i) {
                model with = all[i];
                each->run(with);
                all.push_back(with);
            }
        }
        return all;
    }

private:
    /// In the middle of a transaction of one session, one of the other, on other words.
    void other_session() {
        if (!open_ || random_() % 8 != 0) return;
        step inside{random_(), {}, false};
        for (const auto& [at, value] : open_->stores()) inside.avoided.insert(at);
        if (inside.stores().empty()) return;
        open_inside_ = inside;
        EXPECT_TRUE(inside.run(life_.access(1 - session_), life_.root()));
        inside.run(state_);
        open_inside_.reset();
    }

    life<Log>& life_;
    std::mt19937_64 random_;
    model state_;
    unsigned session_ = 0;
    std::optional<step> open_;
    std::optional<step> open_inside_;
    test::cut_memory medium_;
};

/// Recovers, cut now and then, until it comes through.
template <class Log>
void recover(life<Log>& on, std::mt19937_64& random) {
    for (;;) {
        test::cut_memory medium(on.bytes(), random());
        medium.cut_at(random() % 2 == 0 ? 1 + random() % 40 : 0);
        try {
            on.open();
            return;
        } catch (const persist::simulated_crash&) {
            on.close();
        }
    }
}

/// Cuts one run after another, each one call later. One in two goes on from where the last one was recovered, and no
/// more: what crashes leak fills the region.
template <class Log>
void cut_everywhere(std::uint64_t log_bytes, unsigned transactions, bool interleaved, std::uint64_t seed) {
    std::unique_ptr<life<Log>> lives;
    std::mt19937_64 random(seed);
    model state;
    for (std::uint64_t cut = 1;; ++cut) {
        SCOPED_TRACE("seed " + std::to_string(seed) + " cut " + std::to_string(cut));
        if (cut % 2 == 1) {
            lives = std::make_unique<life<Log>>(log_bytes);
            state = lives->content();
        }
        life<Log>& on = *lives;
        std::vector<model> allowed;
        bool was_cut = false;
        {
            run_to_cut<Log> run(on, state, random(), interleaved);
            was_cut = run.run(transactions, cut);
            allowed = run.allowed();
        }
        on.close();
        recover(on, random);
        state = on.content();
        ASSERT_NE(std::find(allowed.begin(), allowed.end(), state), allowed.end())
            << "neither with nor without what was open, of which there are " << allowed.size() - 1;
        if (!was_cut) return;
    }
}

template <class Log>
class Tl2Cut : public testing::Test {};
using logs = testing::Types<undo_each, undo_once, redo_aside>;
TYPED_TEST_SUITE(Tl2Cut, logs);

TYPED_TEST(Tl2Cut, ATransactionIsThereAsAWholeOrNotAtAll) {
    for (const std::uint64_t seed : {1u, 2u}) cut_everywhere<TypeParam>(64 << 10, 12, false, seed);
}

TYPED_TEST(Tl2Cut, SoItIsWhileAnotherSessionCommitsInTheMiddle) {
    for (const std::uint64_t seed : {1u, 2u}) cut_everywhere<TypeParam>(64 << 10, 12, true, seed);
}

TYPED_TEST(Tl2Cut, SoItIsWhereTheLogWraps) {
    // A ring of a few transactions.
    for (const std::uint64_t seed : {1u, 2u}) cut_everywhere<TypeParam>(4 << 10, 30, false, seed);
}

TEST(Tl2CutWhereTheLogWraps, TheRedoLogIsTruncatedSeveralTimes) {
    life<redo_aside> on(4 << 10);
    for (std::uint64_t i = 0; i < 60; ++i) ASSERT_TRUE(step{i * 0x9E3779B97F4A7C15}.run(on.access(i % 2), on.root()));
    EXPECT_GT(on.truncations(), 2u);
}

TYPED_TEST(Tl2Cut, ATransactionThatTheLogCannotHoldDoesNothing) {
    life<TypeParam> on(4 << 10);
    const auto memory = on.access(0);
    const model before = on.content();
    EXPECT_FALSE(memory.atomically([&] {
        auto* const large = static_cast<std::uint64_t*>(memory.allocate(8192));
        for (std::size_t i = 0; i < 1024; ++i) memory.store(large + i, 1);
        memory.store(&on.root()->words[0].value, 7);
    }));
    EXPECT_EQ(on.content(), before);
}

}  // namespace
}  // namespace holdfast::bench
