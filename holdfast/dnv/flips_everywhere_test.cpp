// Bits that flip anywhere in a dnv pool between two operations: with codes they are corrected, elsewhere named or
// without effect. HOLDFAST_SEED replays a run.
#include <holdfast/dnv/dnv_test_support.hpp>

#include <holdfast/ecc/repair.hpp>
#include <holdfast/format/superblock.hpp>
#include <holdfast/heap/heap_format.hpp>
#include <holdfast/pool/superblock.hpp>

#include <array>
#include <map>

namespace holdfast::dnv::test {
namespace {

constexpr unsigned most_flips = 6;

class FlipsAnywhere : public Dnv {
protected:
    static constexpr long nodes = 60;

    /// Nodes of many sizes, free blocks of others, a block with counters.
    void fill() {
        make_counters();
        push_some(nodes + 20);
        for (int i = 0; i < 20; ++i) pop_front();
    }
    /// Without a change of what is there, as far as it is looked at.
    static void operate(workload::random& random) {
        switch (random.below(5)) {
            case 0: transfer(static_cast<unsigned>(random.below(64)), static_cast<unsigned>(random.below(64))); break;
            case 1: push_front(5, random.below(300)), pop_front(); break;
            case 2: push_and_cancel(); break;
            case 3: dnv_free(dnv_malloc(random.below(4000))); break;
            default: step_pair_of(random); break;
        }
    }
    static void step_pair_of(workload::random& random) {
        auto* const pair = static_cast<std::uint64_t*>(dnv_malloc(16 + random.below(100)));
        fill_words(pair, 2, random.next());
        EXPECT_TRUE(step_pair(pair));
        dnv_free(pair);
    }
    static void expect_all() {
        expect_sound_list(nodes);
        EXPECT_EQ(sum_of_counters(), 64'000u);
    }
};

/// Places of words with codes, by what they are part of.
class coded_places {
public:
    ecc::coded_word* draw(workload::random& random) const {
        switch (random.below(7)) {
            case 0: return place_of(&any_bin(random));
            case 1: return place_of(&the_space.staged->chunks[random.below(random.below(2) == 0 ? 8 : most_chunks)]);
            case 2: return place_of(&the_space.staged->parked[random.below(classes)]);
            case 3: return place_of(reinterpret_cast<const stm::word*>(the_placement.statics_begin) +
                                    random.below(the_placement.statics_bytes / 8));
            case 4: return word_of_free_block(random);
            case 5: return word_of_node(random);
            default: return word_of_chunk(random);
        }
    }

private:
    /// More often one that is in use.
    static const stm::word& any_bin(workload::random& random) {
        const unsigned heap = random.below(4) != 0 ? 1 : static_cast<unsigned>(random.below(heaps));
        const bin& each = the_space.staged->bins[heap][random.below(random.below(4) != 0 ? 24 : classes)];
        const stm::word* const words[] = {&each.free, &each.unused, &each.unused_end};
        return *words[random.below(3)];
    }
    static std::uint64_t word_at(const void* at) { return ecc::repair(*place_of(at)).right.word; }
    /// A link, or what is behind it.
    static ecc::coded_word* word_of_free_block(workload::random& random) {
        for (;;) {
            const bin& each = the_space.staged->bins[1][random.below(40)];
            auto* at = reinterpret_cast<const stm::word*>(word_at(&each.free));
            if (at == nullptr) continue;
            for (auto further = random.below(5); further > 0 && word_at(at) != 0; --further)
                at = reinterpret_cast<const stm::word*>(word_at(at));
            return place_of(at + random.below(2));
        }
    }
    /// The id, the link, the size, or the first word of the payload.
    static ecc::coded_word* word_of_node(workload::random& random) {
        const auto* at = reinterpret_cast<const stm::word*>(first_node());
        for (auto further = random.below(50); further > 0; --further)
            at = reinterpret_cast<const stm::word*>(word_at(at + 1));
        return place_of(at + random.below(4));
    }
    static ecc::coded_word* word_of_chunk(workload::random& random) {
        for (;;) {
            const auto found = the_space.chunks.at_slot(static_cast<unsigned>(random.below(32)));
            if (!found) continue;
            return place_of(reinterpret_cast<const stm::word*>(found->which.begin) + random.below(found->bytes / 8));
        }
    }
};

TEST_F(FlipsAnywhere, UpToSixBitsOfWordsWithCodesAreCorrectedBetweenAnyTwoOperations) {
    workload::random random(seed_of_run());
    open();
    fill();
    const unsigned rounds = at_full_length() ? 40'000 : 1500;
    const coded_places places;
    unsigned flipped = 0;
    for (unsigned round = 1; round <= rounds; ++round) {
        std::map<ecc::coded_word*, bool> of_round;
        for (auto words = 1 + random.below(3); words > 0; --words) {
            ecc::coded_word* const place = places.draw(random);
            // One that was found before is as good as it was.
            if (!of_round.emplace(place, true).second || !ecc::is_valid(*place)) continue;
            const auto flips = 1 + static_cast<unsigned>(random.below(most_flips));
            *place = ecc::flipped_by(*place, ecc::random_pattern(flips, random));
            ++flipped;
        }
        operate(random);
        if (round % 50 != 0) continue;
        expect_all();
        const audit_report mended = audit_open_pool(true);
        for (const error& each : mended.problems) ADD_FAILURE() << each.text();
        expect_sound_pool(nodes + 1);
        if (round % 250 == 0) reopen();
        if (HasFailure()) FAIL() << "round " << round;
    }
    std::printf("%u words flipped\n", flipped);
}

/// A part of the file that has no codes.
struct plain_part {
    const char* name;
    std::uint64_t offset;
    std::uint64_t bytes;
};

/// Of the open pool.
std::vector<plain_part> plain_parts() {
    const pool_info info = the_space.pool->info();
    const root& in_pool = *the_space.in_pool;
    const auto offset_of = [](const void* at) {
        return static_cast<std::uint64_t>(static_cast<const std::byte*>(at) - the_space.pool->base());
    };
    std::vector<plain_part> parts{
        {"superblock 1", format::superblock_offset[0], sizeof(format::superblock)},
        {"superblock 2", format::superblock_offset[1], sizeof(format::superblock)},
        {"roots", format::roots_offset, format::page_bytes},
        {"log header", format::log_offset, 4096},
        {"log", format::log_offset, info.log_bytes},
        {"root of dnv", offset_of(&in_pool), sizeof(root)},
        {"directory", in_pool.directory.get(), 8 * sizeof(directory_entry)},
        {"directory, unused", in_pool.directory.get(), most_chunks * sizeof(directory_entry)},
        {"names", in_pool.names.get(), in_pool.names_bytes.get()}};
    for (const heap_zone& zone : the_space.pool->zones()) {
        const auto header = heap_format::header_for(zone.offset, zone.bytes);
        parts.push_back({"zone header", zone.offset, sizeof header});
        parts.push_back({"page table", header.table_offset, header.page_count * 8});
        // The states of its blocks are first in a slab, as the one of the root has them.
        const std::uint64_t page = offset_of(&in_pool) / heap_format::page_bytes * heap_format::page_bytes;
        parts.push_back({"states of a slab", page, 64});
    }
    return parts;
}

class FlipsInPlainParts : public FlipsAnywhere {
protected:
    /// Flips bits of one word of the part. Returns the word as it was.
    static std::uint64_t flip(std::uint64_t word, workload::random& random) {
        std::uint64_t bits = 0;
        const auto wanted = 1 + random.below(most_flips);
        while (static_cast<std::uint64_t>(std::popcount(bits)) < wanted) bits |= std::uint64_t{1} << random.below(64);
        return word ^ bits;
    }
    void flip_in_file(const std::string& where, std::uint64_t offset, workload::random& random) {
        auto file = persist::file::open(where, persist::file::access::read_write).value();
        std::uint64_t word = 0;
        file.read_at(offset, &word, sizeof word).value();
        word = flip(word, random);
        file.write_at(offset, &word, sizeof word, persist::site::measure).value();
    }
    /// The offset of a word that a record, or what leads to it, may be in.
    static std::uint64_t used_word_of_log(const std::string& where, workload::random& random) {
        auto file = persist::file::open(where, persist::file::access::read_only).value();
        const std::uint64_t bytes = read_superblock(file).value().log_bytes;
        for (std::uint64_t word = 0;;) {
            const std::uint64_t offset = format::log_offset + random.below(bytes / 8) * 8;
            file.read_at(offset, &word, sizeof word).value();
            if (word != 0) return offset;
        }
    }
    static bool is_named(const std::string& where) {
        const auto checked = check_pool(where, check_contents);
        return !checked || !checked->sound() || checked->worn();
    }
    /// Whether opening it gives what was there, or what was there before the newest commit.
    bool is_right(const std::string& where) {
        if (!dnv_open(where, options_)) return false;
        const list_summary found = summary();
        const audit_report audit = audit_open_pool(false);
        const bool right = found.count == nodes && found.said == nodes && found.payloads_right &&
                           found.sum_of_ids == found.sum_said && sum_of_counters() == 64'000 &&
                           audit.problems.empty() && audit.blocks == nodes + 1;
        return dnv_close() && right;
    }
    /// A closed pool with something of everything.
    std::vector<plain_part> parts_of_closed_pool() {
        options_.bytes = 2 << 20;
        open();
        fill();
        std::vector<plain_part> parts = plain_parts();
        EXPECT_TRUE(dnv_close());
        return parts;
    }
    /// Flips a word of each part in turn, in copies of the pool's file, by `damage(copy, offset, round)`, which returns
    /// whether the flip is named.
    void expect_named_or_harmless(const std::vector<plain_part>& parts, unsigned rounds, workload::random& random,
                                  const std::function<bool(const std::string&, std::uint64_t, unsigned)>& damage) {
        const std::string copy = directory_ + "/copy";
        fs::copy_file(path(), copy, fs::copy_options::overwrite_existing);
        ASSERT_FALSE(is_named(copy)) << "nothing was flipped";
        unsigned named = 0, harmless = 0;
        for (unsigned round = 0; round < rounds; ++round) {
            const plain_part& part = parts[round % parts.size()];
            const std::uint64_t offset = part.offset + random.below(part.bytes / 8) * 8;
            fs::copy_file(path(), copy, fs::copy_options::overwrite_existing);
            if (damage(copy, offset, round)) {
                ++named;
                continue;
            }
            ++harmless;
            EXPECT_TRUE(is_right(copy)) << part.name << ", offset " << offset << ", round " << round;
        }
        std::printf("%u flips named, %u without effect\n", named, harmless);
        EXPECT_GT(named, 0u);
        EXPECT_GT(harmless, 0u);
    }
};

TEST_F(FlipsInPlainParts, FlipsInAClosedPoolAreNamedOrWithoutEffect) {
    workload::random random(seed_of_run());
    expect_named_or_harmless(parts_of_closed_pool(), at_full_length() ? 20'000 : 200, random,
                             [&](const std::string& copy, std::uint64_t offset, unsigned) {
        flip_in_file(copy, offset, random);
        if (!is_named(copy)) return false;
        // Whatever it is opened for may be wrong, and must not bring the program down.
        if (dnv_open(copy, options_)) static_cast<void>(dnv_close());
        return true;
    });
}

TEST_F(FlipsInPlainParts, FlipsInAnOpenPoolAreNamedOnceItIsClosedOrWithoutEffect) {
    workload::random random(seed_of_run());
    expect_named_or_harmless(parts_of_closed_pool(), at_full_length() ? 20'000 : 100, random,
                             [&](const std::string& copy, std::uint64_t offset, unsigned round) {
        // At `power` the log holds what is home.
        options_.durability = round % 2 == 0 ? level::process : level::power;
        options_.tmpfs_is_nvram = round % 2 != 0;
        open_at(copy);
        rotate();
        auto* const word = reinterpret_cast<std::uint64_t*>(the_space.pool->base() + offset);
        *word = flip(*word, random);
        rotate();
        transfer(static_cast<unsigned>(random.below(64)), static_cast<unsigned>(random.below(64)));
        return !dnv_close() || is_named(copy);
    });
}

/// Records whose homes may be half durable: what a flip makes of the newest is what a torn commit is, and gone.
TEST_F(FlipsInPlainParts, FlipsInTheLogOfAKilledPoolAreNamedOrCostTheNewestCommit) {
    constexpr std::size_t words = 8;
    constexpr std::uint64_t commits = 100;
    workload::random random(seed_of_run());
    options_.bytes = 2 << 20;
    use_nvram();
    open();
    fill();
    auto* const block = static_cast<std::uint64_t*>(dnv_malloc(words * 8));
    ASSERT_TRUE(dnv_close());
    in_killed_child([&] {
        for (std::uint64_t value = 1; value <= commits; ++value) fill_words(block, words, value);
    });
    const std::string copy = directory_ + "/copy";
    fs::copy_file(path(), copy, fs::copy_options::overwrite_existing);
    ASSERT_FALSE(is_named(copy)) << "nothing was flipped";
    unsigned named = 0, harmless = 0, newest_gone = 0;
    for (unsigned round = 0; round < (at_full_length() ? 20'000u : 100u); ++round) {
        fs::copy_file(path(), copy, fs::copy_options::overwrite_existing);
        const std::uint64_t offset = used_word_of_log(copy, random);
        flip_in_file(copy, offset, random);
        if (is_named(copy)) {
            ++named;
            continue;
        }
        open_at(copy);
        const std::uint64_t found = read_in_block(block);
        EXPECT_EQ(sum_of_words(block, words), words * found) << "offset " << offset;
        EXPECT_TRUE(found == commits || found == commits - 1) << found << ", offset " << offset;
        ++(found == commits ? harmless : newest_gone);
        expect_sound_list(nodes);
        expect_sound_pool(nodes + 2);
        ASSERT_TRUE(dnv_close());
    }
    std::printf("%u flips named, %u without effect, %u with the newest commit\n", named, harmless, newest_gone);
    EXPECT_GT(named, 0u);
    EXPECT_GT(harmless, 0u);
}

}  // namespace
}  // namespace holdfast::dnv::test
