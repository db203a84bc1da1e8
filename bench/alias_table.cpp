// The tables are used as a transaction uses one: from addresses of words to small numbers, emptied whenever it ends.
// The packaged ones are those that were fastest among the open-addressing tables of Debian: Boost's, whose hash is the
// multiplication that ours has, since its own costs more, and robin_map with its own, which is none. Each has grown to
// what its transactions need and no further: that favours tables that walk over all of themselves to become empty.
#include <bench/alias_table.hpp>
#include <bench/contest/threads.hpp>
#include <bench/suites.hpp>

#include <holdfast/base/word_map.hpp>

#include <workload/random.hpp>

#include <tsl/robin_map.h>
// From Boost 1.81 on, whose package cannot be installed beside that of the Boost that others depend on: so it takes
// part where it is there already.
#if __has_include(<boost/unordered/unordered_flat_map.hpp>)
#include <boost/unordered/unordered_flat_map.hpp>
#define HOLDFAST_HAS_BOOST_FLAT_MAP
#endif

namespace holdfast::bench {
namespace {

constexpr std::uint64_t alias_entries[]{1, 16, 128, 512, 4096};

class own_table {
public:
    void clear() noexcept { words_.clear(); }
    void store(std::uint64_t key, std::uint32_t value) { *words_.find_or_insert(key, value).value = value; }
    const std::uint32_t* find(std::uint64_t key) noexcept { return words_.find(key); }

private:
    word_map words_;
};

template <class Map>
class packaged_table {
public:
    void clear() noexcept { words_.clear(); }
    void store(std::uint64_t key, std::uint32_t value) { words_.insert_or_assign(key, value); }
    const std::uint32_t* find(std::uint64_t key) {
        const auto found = words_.find(key);
        return found == words_.end() ? nullptr : &found->second;
    }

private:
    Map words_;
};

#ifdef HOLDFAST_HAS_BOOST_FLAT_MAP
__extension__ using wide_product = unsigned __int128;

struct multiplying_hash {
    using is_avalanching = void;  ///< Boost then does not mix it again
    std::size_t operator()(std::uint64_t key) const noexcept {
        const auto product = static_cast<wide_product>(key) * 0x9E3779B97F4A7C15ull;
        return static_cast<std::size_t>(product) ^ static_cast<std::size_t>(product >> 64);
    }
};

using boost_table = packaged_table<boost::unordered_flat_map<std::uint64_t, std::uint32_t, multiplying_hash>>;
#endif

using robin_table = packaged_table<tsl::robin_map<std::uint64_t, std::uint32_t>>;

/// Keys of `count` words of a pool: runs of eight, as nodes of a tree change, at random places.
std::vector<std::uint64_t> words_of_nodes(std::uint64_t count, std::uint64_t seed) {
    constexpr std::uint64_t run = 8, node_words = 64, nodes = 1u << 21;
    workload::random numbers(seed);
    std::vector<std::uint64_t> all;
    while (all.size() < count) {
        const std::uint64_t begin = numbers.below(nodes) * node_words + numbers.below(node_words - run);
        for (std::uint64_t i = 0; i < run && all.size() < count; ++i) all.push_back(begin + i);
    }
    return all;
}

/// One table, kept between transactions and between batches.
template <class Table>
class alias_contestant final : public contestant {
public:
    alias_contestant(bool stores, std::uint64_t entries) : stores_(stores), entries_(entries) {
        for (std::uint64_t seed = 0; seed < key_sets; ++seed) present_.push_back(words_of_nodes(entries, seed));
        absent_ = words_of_nodes(entries, key_sets);
        constexpr std::uint64_t behind_all_nodes = 1u << 30;
        for (auto& key : absent_) key += behind_all_nodes;
    }

    batch run(const std::string&, std::uint64_t operations) override {
        const std::uint64_t transactions = std::max<std::uint64_t>(operations / (2 * entries_), 1);
        const auto& first = present_[batches_++ % key_sets];
        fill(first);
        const auto begin = clock::now();
        for (std::uint64_t i = 0; i < transactions; ++i) {
            if (stores_) {
                fill(present_[i % key_sets]);
                store(present_[i % key_sets]);
            } else {
                load(first);
                load(absent_);
            }
        }
        return {ns_since(begin), transactions * 2 * entries_, std::nullopt, {}};
    }

private:
    /// Each transaction has other words than the one before.
    static constexpr std::uint64_t key_sets = 16;

    void fill(const std::vector<std::uint64_t>& keys) {
        table_.clear();
        store(keys);
    }
    void store(const std::vector<std::uint64_t>& keys) {
        for (const std::uint64_t key : keys) table_.store(key, ++value_);
    }
    void load(const std::vector<std::uint64_t>& keys) {
        std::uint32_t sum = 0;
        for (const std::uint64_t key : keys)
            if (const std::uint32_t* const found = table_.find(key)) sum += *found;
        loaded_ = sum;
    }

    Table table_;
    bool stores_;
    std::uint64_t entries_;
    std::vector<std::vector<std::uint64_t>> present_;
    std::vector<std::uint64_t> absent_;
    std::uint64_t batches_ = 0;
    std::uint32_t value_ = 0;
    volatile std::uint32_t loaded_ = 0;  ///< so that the compiler keeps the lookups
};

}  // namespace

match make_alias_table_match(const options& asked) {
    match made;
    made.suite = "wrap";
    made.title = "wrap: tables of aliases   level process   medium dram   threads 1   (tx: one operation)";
    made.limits.wanted_ns = asked.quick ? 4e6 : 20e6;
    const auto add = [&]<class Table>(std::type_identity<Table>, const std::string& name, bool stores,
                                      std::uint64_t entries) {
        if (!chosen(asked, name)) return;
        made.entries.push_back({name, std::make_unique<alias_contestant<Table>>(stores, entries), {"alias-table"},
                                {{"level", std::string("process")},
                                 {"medium", std::string("dram")},
                                 {"delay_ns", std::uint64_t{0}},
                                 {"operation", std::string(stores ? "store" : "load")},
                                 {"entries", entries}}});
    };
    for (const bool stores : {false, true}) {
        for (const std::uint64_t entries : alias_entries) {
            add(std::type_identity<own_table>{}, "word_map", stores, entries);
#ifdef HOLDFAST_HAS_BOOST_FLAT_MAP
            add(std::type_identity<boost_table>{}, "boost_flat_map", stores, entries);
#endif
            add(std::type_identity<robin_table>{}, "robin_map", stores, entries);
        }
    }
    return made;
}

}  // namespace holdfast::bench
