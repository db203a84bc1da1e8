// Every engine at level power, the power cut at random calls of the seam, also inside recovery.
#include <holdfast/engine/engine_lists_test.hpp>
#include <holdfast/engine/power_cut_test_support.hpp>
#include <holdfast/engine/redo.hpp>
#include <holdfast/engine/undo.hpp>
#include <holdfast/handle/pool.hpp>

#include <gtest/gtest.h>

#include <array>
#include <cstdlib>
#include <filesystem>
#include <map>
#include <optional>
#include <random>

namespace holdfast {
namespace {

constexpr std::size_t counters = 24;
constexpr std::size_t list_limit = 12;

/// What a workload does to the pool, done to ordinary memory: the oracle.
struct model {
    std::array<std::uint64_t, counters> values{};
    std::vector<std::pair<std::uint64_t, std::uint64_t>> list;  ///< value and block bytes, newest first
    friend bool operator==(const model&, const model&) = default;
};

template <class Engine>
struct node {
    typename Engine::template field<node*> next;
    typename Engine::template field<std::uint64_t> value;
    typename Engine::template field<std::uint64_t> bytes;
};

template <class Engine>
struct data {
    typename Engine::template field<std::uint64_t> values[counters];
    typename Engine::template field<node<Engine>*> first;
    typename Engine::template field<std::uint8_t> small[16];  ///< low bytes of values 0…15
};

/// One random transaction, applied to both sides; about one in eight throws and changes nothing.
template <class Engine>
struct step {
    std::uint64_t seed;

    /// Now and then a large block, whose stores are not logged.
    static std::uint64_t draw_bytes(std::mt19937_64& random) {
        return random() % 10 == 0 ? 20000 + random() % 9000 : sizeof(node<Engine>) + 8 + random() % 200;
    }

    void on_pool(data<Engine>& root) const {
        std::mt19937_64 random(seed);
        const unsigned stores = static_cast<unsigned>(random() % 6);
        for (unsigned i = 0; i < stores; ++i) {
            const std::size_t at = random() % counters;
            const std::uint64_t value = random();
            root.values[at] = value;
            if (at < 16) root.small[at] = static_cast<std::uint8_t>(value);
        }
        list(root, random);
        if (random() % 8 == 0) throw 1;
    }
    static void list(data<Engine>& root, std::mt19937_64& random) {
        const auto kind = random() % 3;
        const std::uint64_t bytes = draw_bytes(random);
        const std::uint64_t value = random();
        if (kind == 0 && length(root) < list_limit) {
            auto* made = reinterpret_cast<node<Engine>*>(Engine::allocate(bytes));
            made->value = value;
            made->bytes = bytes;
            made->next = root.first.get();
            // The last word too, so that a large block's far end is checked.
            store_value(current_transaction<Engine>(), last_word(made, bytes), value);
            root.first = made;
        } else if (kind == 1 && root.first.get() != nullptr) {
            node<Engine>* first = root.first;
            root.first = first->next.get();
            Engine::deallocate(first);
        }
    }
    static std::size_t length(const data<Engine>& root) {
        std::size_t count = 0;
        for (node<Engine>* at = root.first; at != nullptr; at = at->next) ++count;
        return count;
    }
    static std::uint64_t* last_word(node<Engine>* at, std::uint64_t bytes) {
        return reinterpret_cast<std::uint64_t*>(reinterpret_cast<std::byte*>(at) + bytes / 8 * 8 - 8);
    }

    model on_model(model before) const {
        std::mt19937_64 random(seed);
        model after = before;
        const unsigned stores = static_cast<unsigned>(random() % 6);
        for (unsigned i = 0; i < stores; ++i) {
            const std::size_t at = random() % counters;
            after.values[at] = random();
        }
        const auto kind = random() % 3;
        const std::uint64_t bytes = draw_bytes(random);
        const std::uint64_t value = random();
        if (kind == 0 && after.list.size() < list_limit) {
            after.list.insert(after.list.begin(), {value, bytes});
        } else if (kind == 1 && !after.list.empty()) {
            after.list.erase(after.list.begin());
        }
        return random() % 8 == 0 ? before : after;
    }
};

template <class Engine>
model read_model(data<Engine>& root) {
    model found;
    for (std::size_t i = 0; i < counters; ++i) {
        found.values[i] = root.values[i];
        const auto low_byte = static_cast<std::uint8_t>(found.values[i]);
        if (i < 16 && root.small[i].get() != low_byte) found.values[i] = ~found.values[i];
    }
    for (node<Engine>* at = root.first; at != nullptr; at = at->next) {
        if (find_open_pool(at) == nullptr || at->bytes.get() > 30000 || found.list.size() > list_limit) {
            // Torn: say so by a state that no model has.
            found.list.emplace_back(~std::uint64_t{0}, ~std::uint64_t{0});
            break;
        }
        const bool ends_right = *step<Engine>::last_word(at, at->bytes) == at->value.get();
        found.list.emplace_back(ends_right ? at->value.get() : 0, at->bytes.get());
    }
    return found;
}

template <class Engine>
std::vector<const void*> owners(data<Engine>& root) {
    std::vector<const void*> blocks{&root};
    for (node<Engine>* at = root.first; at != nullptr; at = at->next) blocks.push_back(at);
    return blocks;
}

template <class Engine>
struct scenario {
    std::string path;
    create_options options;
    std::uint64_t seed = 0;
    bool grows = false;
    std::uint64_t least_bytes = 0;  ///< of the pool, after growths that returned
    std::uint64_t most_bytes = 0;   ///< after one that was cut
    std::string trace;  ///< what happened so far, for a failure's message

    using pool_type = typename Engine::pool;
    using observed = std::optional<power_cut::medium>;

    /// Installs a medium that takes what the file holds now for durable.
    void watch(observed& medium, std::uint64_t seed_of_medium, std::uint64_t cut) {
        medium.emplace(path, seed_of_medium);
        const bool lines = options.tmpfs_is_nvram;
        if (lines) medium->attach(reinterpret_cast<const std::byte*>(options.base));
        medium->cut_at(cut);
        persist::observe(&*medium);
    }

    /// Grows by a zone, or by most of what is reserved.
    void grow(pool_type& pool, std::mt19937_64& random) {
        const std::uint64_t now = pool.core().size();
        most_bytes = now + (random() % 4 == 0 ? 128 << 10 : 12 << 10);
        if (most_bytes > options.reserved_bytes) return;
        auto grown = pool.grow(most_bytes);
        EXPECT_TRUE(grown) << grown.error().text();
        least_bytes = most_bytes;
    }

    /// Runs transactions until the cut; returns the states allowed after recovery.
    std::vector<model> run_to_cut(std::mt19937_64& random, model state, std::uint64_t cut) {
        observed medium;
        std::optional<pool_type> pool;
        pool.emplace(pool_type::open(path, options).value());
        auto* root = pool->template root<data<Engine>>("data").value();
        EXPECT_EQ(read_model(*root), state);
        watch(medium, random(), cut);
        std::vector<model> allowed{state};
        try {
            for (int i = 0; i < 60; ++i) {
                if (grows && random() % 16 == 0) grow(*pool, random);
                const step<Engine> next{random()};
                const model after = next.on_model(state);
                allowed = {state, after};
                try {
                    auto done = pool->atomically([&] { next.on_pool(*root); });
                    EXPECT_TRUE(done) << done.error().text();
                } catch (int) {
                }
                state = after;
                allowed = {state};
            }
            EXPECT_TRUE(pool->checkpoint());
        } catch (const persist::simulated_crash&) {
        }
        persist::observe(nullptr);
        trace += medium->was_cut() ? " run cut at " : " run to the end";
        if (medium->was_cut()) trace += name_of(medium->cut_site());
        const auto image = medium->image();
        pool->abandon();
        power_cut::write_file(path, image);
        return allowed;
    }

    /// Opens, perhaps cut again inside recovery, up to three times; returns the recovered state.
    model recover(std::mt19937_64& random, const std::vector<model>& allowed) {
        for (int depth = 0; depth < 3; ++depth) {
            observed medium;
            watch(medium, random(), random() % 40 + 1);
            bool opened = false;
            try {
                auto pool = pool_type::open(path, options);
                opened = true;
                persist::observe(nullptr);
                EXPECT_TRUE(pool) << pool.error().text();
                if (pool) pool->abandon();
            } catch (const persist::simulated_crash&) {
            }
            persist::observe(nullptr);
            if (opened) break;
            trace += ", recovery cut at " + std::string(name_of(medium->cut_site()));
            // A crash in the middle of opening leaves no handle; the file is all there is.
            power_cut::write_file(path, medium->image());
        }
        auto pool = pool_type::open(path, options);
        if (!pool) {
            ADD_FAILURE() << "seed " << seed << ":" << trace << ": " << pool.error().text();
            return {};
        }
        auto* root = pool->template root<data<Engine>>("data").value();
        const std::uint64_t bytes = pool->core().size();
        EXPECT_TRUE(bytes == least_bytes || bytes == most_bytes) << "seed " << seed << ":" << trace << "; " << bytes;
        least_bytes = most_bytes = bytes;
        const model found = read_model(*root);
        EXPECT_TRUE(std::find(allowed.begin(), allowed.end(), found) != allowed.end())
            << "seed " << seed << ":" << trace << "; differs in" << describe(found, allowed);
        const auto blocks = owners(*root);
        pool->abandon();
        audit(blocks);
        return found;
    }

    static std::string describe(const model& found, const std::vector<model>& allowed) {
        std::string text;
        for (const model& each : allowed) {
            for (std::size_t i = 0; i < counters; ++i)
                if (each.values[i] != found.values[i]) text += " value" + std::to_string(i);
            for (std::size_t i = 0; i < std::max(each.list.size(), found.list.size()); ++i) {
                const auto wanted = i < each.list.size() ? each.list[i].second : 0;
                const auto got = i < found.list.size() ? found.list[i].second : 0;
                const bool same = i < each.list.size() && i < found.list.size() && each.list[i] == found.list[i];
                if (same) continue;
                text += " list" + std::to_string(i) + "(" + std::to_string(wanted) + "/" + std::to_string(got) + ")";
            }
            text += " |";
        }
        return text;
    }

    void audit(const std::vector<const void*>& blocks) {
        auto pool = pool_type::open(path, options);
        const auto found = heap::audit(pool->core().base(), pool->core().zones(), blocks, true);
        EXPECT_TRUE(found.clean()) << "seed " << seed << ": "
                                   << (found.problems.empty() ? std::string("leaks") : found.problems.front());
        EXPECT_TRUE(pool->close());
    }
};

template <class Engine>
void cut_again_and_again(const std::string& directory, bool nvram, std::uint64_t first, int rounds,
                         bool grows = false) {
    for (int round = 0; round < rounds && !testing::Test::HasFailure(); ++round) {
        const std::uint64_t seed = first + static_cast<std::uint64_t>(round);
        scenario<Engine> scene;
        scene.seed = seed;
        scene.path = directory + "/holdfast-cut-" + std::to_string(::getpid()) + ".pool";
        scene.grows = grows;
        scene.options.bytes = grows ? 256 << 10 : 512 << 10;
        scene.least_bytes = scene.most_bytes = scene.options.bytes;
        scene.options.log_bytes = 64 << 10;
        scene.options.reserved_bytes = 1 << 20;
        scene.options.base = HOLDFAST_TEST_BASE_ADDRESS;
        // So that tables come home often, and in this thread.
        scene.options.wraps.alias_words = 24;
        scene.options.wraps.retires_in_background = false;
        scene.options.pace = {.percent = seed % 3 == 0 ? 0u : 25u, .write_back = retiring::cooperative};
        scene.options.tmpfs_is_nvram = nvram;
        scene.options.records = seed % 2 == 0 ? persist::record_way::streamed : persist::record_way::written_back;
        std::filesystem::remove(scene.path);
        std::mt19937_64 random(seed);
        {
            auto pool = Engine::pool::create(scene.path, scene.options);
            ASSERT_TRUE(pool) << pool.error().text();
            ASSERT_TRUE(pool->template root<data<Engine>>("data"));
            ASSERT_TRUE(pool->close());
        }
        model state;
        for (int cut = 0; cut < 6 && !testing::Test::HasFailure(); ++cut)
            state = scene.recover(random, scene.run_to_cut(random, state, random() % 900 + 1));
        std::filesystem::remove(scene.path);
    }
}

/// HOLDFAST_SEED replays one seed, the one that a failure names.
std::uint64_t first_seed(std::uint64_t usual) {
    const char* given = std::getenv("HOLDFAST_SEED");
    return given != nullptr ? std::strtoull(given, nullptr, 10) : usual;
}

int rounds() {
    if (std::getenv("HOLDFAST_SEED") != nullptr) return 1;
    return std::getenv("HOLDFAST_SOAK") != nullptr ? 1000 : 40;
}

template <class Engine>
class PowerCut : public ::testing::Test {};
TYPED_TEST_SUITE(PowerCut, test::recovering_engines);

TYPED_TEST(PowerCut, KeepsEveryAcknowledgedTransactionOnByteAddressableMedia) {
    cut_again_and_again<TypeParam>("/dev/shm", true, first_seed(1000), rounds());
}
TYPED_TEST(PowerCut, KeepsEveryAcknowledgedTransactionOnAFile) {
    if constexpr (TypeParam::description.power_on_files) {
        cut_again_and_again<TypeParam>(".", false, first_seed(4000), std::max(1, rounds() / 8));
    } else {
        create_options options;
        options.durability = level::power;
        EXPECT_FALSE(TypeParam::pool::create("refused", options));
    }
}

TEST(PowerCutOfGrowth, RedoGrowsToTheOldPoolOrTheNewOnByteAddressableMedia) {
    cut_again_and_again<redo>("/dev/shm", true, first_seed(5000), rounds(), true);
}
TEST(PowerCutOfGrowth, UndoGrowsToTheOldPoolOrTheNewOnByteAddressableMedia) {
    cut_again_and_again<undo>("/dev/shm", true, first_seed(6000), rounds(), true);
}
TEST(PowerCutOfGrowth, RedoGrowsToTheOldPoolOrTheNewOnAFile) {
    cut_again_and_again<redo>(".", false, first_seed(7000), std::max(1, rounds() / 8), true);
}

/// Cuts one growth at that call; false when it has none so late. What arrives follows from the seed.
template <class Engine>
bool cut_growth(const std::string& directory, bool nvram, std::uint64_t call, std::uint64_t seed) {
    scenario<Engine> scene;
    scene.seed = seed;
    scene.path = directory + "/holdfast-cut-" + std::to_string(::getpid()) + ".pool";
    scene.options.bytes = scene.least_bytes = 256 << 10;
    scene.most_bytes = 320 << 10;
    scene.options.reserved_bytes = 1 << 20;
    scene.options.base = HOLDFAST_TEST_BASE_ADDRESS;
    scene.options.tmpfs_is_nvram = nvram;
    std::filesystem::remove(scene.path);
    auto pool = Engine::pool::create(scene.path, scene.options).value();
    auto* root = pool.template root<data<Engine>>("data").value();
    pool.atomically([&] { root->values[3] = 7; }).value();
    pool.checkpoint().value();
    const model state = read_model(*root);
    std::optional<power_cut::medium> medium;
    scene.watch(medium, seed, call);
    try {
        EXPECT_TRUE(pool.grow(scene.most_bytes));
    } catch (const persist::simulated_crash&) {
    }
    persist::observe(nullptr);
    const bool was_cut = medium->was_cut();
    if (!was_cut) scene.least_bytes = scene.most_bytes;
    scene.trace = was_cut ? std::string(name_of(medium->cut_site())) : "the end";
    const auto image = medium->image();
    pool.abandon();
    power_cut::write_file(scene.path, image);
    std::mt19937_64 random(seed);
    scene.recover(random, {state});
    std::filesystem::remove(scene.path);
    return was_cut;
}

/// How many calls a growth has, after each of which it was cut.
template <class Engine>
std::uint64_t cut_growth_at_every_call(const std::string& directory, bool nvram) {
    for (std::uint64_t call = 1;; ++call) {
        bool was_cut = false;
        for (std::uint64_t seed = 0; seed < 8; ++seed) was_cut |= cut_growth<Engine>(directory, nvram, call, seed);
        if (!was_cut || testing::Test::HasFailure()) return call - 1;
    }
}

TEST(PowerCutOfGrowth, EveryCallOfGrowingLeavesTheOldPoolOrTheNew) {
    // The header, its sync and two superblocks.
    EXPECT_EQ(cut_growth_at_every_call<redo>("/dev/shm", true), 4u);
    EXPECT_EQ(cut_growth_at_every_call<undo>("/dev/shm", true), 4u);
    EXPECT_EQ(cut_growth_at_every_call<redo>(".", false), 4u);
}

}  // namespace
}  // namespace holdfast
