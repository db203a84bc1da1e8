// Random histories of three interleaved transactions against a plain map of what must be allocated.
// Each failure prints the seed and the shortest history that shows it.
#include <holdfast/heap/heap_test_support.hpp>

#include <rapidcheck/gtest.h>

#include <algorithm>
#include <array>
#include <cstdint>
#include <cstdlib>

namespace holdfast::heap_test {
namespace {

using extents = std::map<std::byte*, std::size_t>;

bool overlaps(const extents& all, std::byte* begin, std::size_t bytes) {
    auto after = all.lower_bound(begin + bytes);
    return after != all.begin() && std::prev(after)->first + std::prev(after)->second > begin;
}

class history {
public:
    history(std::size_t zone_pages, storing how) : pool_(zone_pages) {
        for (auto& each : open_) each = std::make_unique<open_transaction>(pool_, how);
    }

    void step(std::uint32_t word) {
        open_transaction& mine = *open_[word >> 4 & 1u ? 0 : (word >> 5) % open_.size()];
        const std::uint32_t rest = word >> 8;
        switch (word % 16) {
            case 0: end(mine, true); break;
            case 1: rest % 3 == 0 ? end(mine, false) : end(mine, true); break;
            case 2: if (rest % 13 == 0) restart(); break;
            case 3: pool_.heap().truncated_to(rest % 2 == 0 ? test_transaction::last_sequence.load() : 0); break;
            case 4:
            case 5:
            case 6:
            case 7:
            case 8: release(mine, rest); break;
            default: allocate(mine, rest); break;
        }
    }
    void finish() {
        for (auto& each : open_) end(*each, true);
        check();
        for (const auto& [address, bytes] : committed_) open_[0]->tx.release(address);
        open_[0]->tx.commit();
        committed_.clear();
        check();
        RC_ASSERT(open_[0]->tx.allocate(pool_.page_count() * page).bytes == pool_.page_count() * page);
        open_[0]->tx.roll_back();
        check();
    }

private:
    struct open_transaction {
        open_transaction(const heap_in_memory& pool, storing how) : tx(pool, how) {}
        test_transaction tx;
        extents allocated;
        extents released;
    };

    static unsigned char pattern_of(const std::byte* address) {
        return static_cast<unsigned char>(reinterpret_cast<std::uintptr_t>(address) / 16 % 251 + 1);
    }
    void check_contents(std::byte* address, std::size_t bytes) const {
        const auto wanted = std::byte{pattern_of(address)};
        RC_ASSERT(std::all_of(address, address + bytes, [wanted](std::byte each) { return each == wanted; }));
    }

    void allocate(open_transaction& mine, std::uint32_t rest) {
        static constexpr std::size_t sizes[] = {1, 16, 40, 64, 100, 128, 256, 448, 512, 700, 1024, 2048, 3000, 3500};
        std::size_t bytes = sizes[rest % std::size(sizes)];
        if (rest / 16 % 6 == 0) bytes = (1 + rest / 128 % (pool_.page_count() / 2 + 1)) * page - rest % 100;
        heap_block block;
        const std::size_t stores = mine.tx.writer.store_count();
        try {
            block = mine.tx.allocate(bytes, std::size_t{1} << rest % 7);
        } catch (const failure& full) {
            RC_ASSERT(full.reason().code == errc::out_of_space);
            RC_ASSERT(mine.tx.writer.store_count() == stores);
            return;
        }
        RC_ASSERT(block.bytes >= bytes);
        RC_ASSERT(!overlaps(committed_, block.address, block.bytes));
        for (const auto& each : open_) RC_ASSERT(!overlaps(each->allocated, block.address, block.bytes));
        mine.allocated[block.address] = block.bytes;
        // What is not clean is logged, as an engine must: a rollback may need what stood there.
        const std::vector<std::byte> contents(block.bytes, std::byte{pattern_of(block.address)});
        if (block.clean) {
            std::memcpy(block.address, contents.data(), contents.size());
        } else {
            mine.tx.writer.store(block.address, contents.data(), contents.size());
        }
        check_stores_apart();
    }

    void release(open_transaction& mine, std::uint32_t rest) {
        extents& from = rest % 4 == 0 ? mine.allocated : committed_;
        if (from.empty()) return;
        const auto picked = std::next(from.begin(), rest / 4 % static_cast<std::uint32_t>(from.size()));
        const bool gone = std::any_of(open_.begin(), open_.end(),
                                      [&](const auto& each) { return each->released.count(picked->first) != 0; });
        if (gone) {
            RC_ASSERT(code_of([&] { mine.tx.release(picked->first); }) == errc::misuse);
            return;
        }
        if (&from == &committed_) check_contents(picked->first, picked->second);
        mine.tx.release(picked->first);
        mine.released.insert(*picked);
        check_stores_apart();
    }

    void end(open_transaction& mine, bool commit) {
        if (commit) {
            mine.tx.commit();
            committed_.insert(mine.allocated.begin(), mine.allocated.end());
            for (const auto& [address, bytes] : mine.released) committed_.erase(address);
        } else {
            mine.tx.roll_back();
        }
        mine.allocated.clear();
        mine.released.clear();
    }

    /// A crash with all three open, recovery, and a new heap over what is left.
    void restart() {
        for (auto each = open_.rbegin(); each != open_.rend(); ++each) {
            (*each)->tx.crash();
            (*each)->allocated.clear();
            (*each)->released.clear();
        }
        check();
        pool_.reopen();
    }

    /// No two open transactions store to the same byte.
    void check_stores_apart() const {
        struct range {
            const std::byte* begin;
            const std::byte* end;
            std::size_t session;
        };
        std::vector<range> all;
        for (std::size_t i = 0; i < open_.size(); ++i)
            for (const auto& [begin, bytes] : open_[i]->tx.writer.stores()) all.push_back({begin, begin + bytes, i});
        std::sort(all.begin(), all.end(), [](const range& a, const range& b) { return a.begin < b.begin; });
        std::array<const std::byte*, 3> ends{};
        for (const range& each : all) {
            for (std::size_t i = 0; i < ends.size(); ++i) RC_ASSERT(i == each.session || ends[i] <= each.begin);
            ends[each.session] = std::max(ends[each.session], each.end);
        }
    }

    void check() const {
        std::vector<const void*> owned;
        std::size_t bytes = 0;
        for (const auto& [address, size] : committed_) {
            owned.push_back(address);
            bytes += size;
            check_contents(address, size);
        }
        const heap_audit found = pool_.audit(owned);
        for (const std::string& problem : found.problems) RC_LOG() << problem << "\n";
        RC_ASSERT(found.clean());
        RC_ASSERT(found.usage.allocated_bytes == bytes);
        const heap_usage& usage = found.usage;
        RC_ASSERT((usage.slab_pages + usage.large_pages + usage.free_pages) * page == usage.capacity_bytes);
    }

    heap_in_memory pool_;
    std::array<std::unique_ptr<open_transaction>, 3> open_;
    extents committed_;
};

void run(storing how) {
    const bool soak = std::getenv("HOLDFAST_SOAK") != nullptr;
    const auto zone_pages = *rc::gen::element<std::size_t>(3, 6, 12, 45, 130);
    const auto length = *rc::gen::inRange(10, soak ? 6000 : 700);
    const auto any_word = rc::gen::resize(rc::kNominalSize, rc::gen::arbitrary<std::uint32_t>());
    const auto words = *rc::gen::container<std::vector<std::uint32_t>>(static_cast<std::size_t>(length), any_word);
    history events(zone_pages, how);
    for (const std::uint32_t word : words) events.step(word);
    events.finish();
}

RC_GTEST_PROP(HeapModel, AnyHistoryAgreesWithAMapWhenStoresWaitForCommit, ()) { run(storing::at_commit); }
RC_GTEST_PROP(HeapModel, AnyHistoryAgreesWithAMapWhenStoresAreInPlace, ()) { run(storing::in_place); }

}  // namespace
}  // namespace holdfast::heap_test
