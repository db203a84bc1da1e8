// STAMP's genome: a gene is put together from many short segments of it, which overlap.
//
//   1  Duplicates are removed: each thread enters its part of the segments into a hash table, a transaction for each.
//      A segment that is not there yet becomes a piece.
//   2  For each length of an overlap, the longest first, pieces are linked. Each thread enters its part of the pieces
//      that have nothing before them under the hash of their first letters, a transaction for each. Then it looks
//      there, by the hash of the last letters, for what could follow a piece that has nothing behind it, and links the
//      two: a transaction for each, which finds out again that both are free.
//   3  One thread goes from piece to piece and writes the gene.
//
// Shared are the table, the pieces, and the table of first letters. Private are the segments' letters, the lists of
// pieces that each thread works through, and the gene that comes out.
//
// A resumed run clears the table of first letters and goes through all steps again. A segment that was entered is
// found; a link that was made stays, and what could not be linked with a longer overlap cannot be now. So the gene is
// the same.
//
// A transaction loads 6.1 and stores 0.3 words on average, since most segments are there already, and half of the time
// is in transactions (one thread, `value`). In the published table they are of medium length, have medium sets, take
// nearly all of the time and seldom meet.
#pragma once

#include <workload/gen/gene.hpp>
#include <workload/hash.hpp>
#include <workload/stamp/frame.hpp>
#include <workload/stamp/private_array.hpp>

namespace holdfast::workload {

template <access Access>
class genome_program;

/// The letters in brackets are STAMP's.
struct genome_parameters {
    template <class Access>
    using program = genome_program<Access>;

    std::uint64_t gene_length = 256;     ///< (g)
    std::uint64_t segment_length = 16;   ///< (s)
    std::uint64_t segments = 16384;      ///< (n)
    std::uint64_t seed = 1;
};

inline constexpr stamp_set<genome_parameters> genome_sets[]{
    {"genome", "small", {}},
    {"genome", "+", {.gene_length = 512, .segment_length = 32, .segments = 32768}},
    {"genome", "++", {.gene_length = 16384, .segment_length = 64, .segments = 16777216}},
};

/// A segment that is there once.
struct genome_piece {
    std::uint64_t begin;      ///< where it was read
    genome_piece* next;       ///< what follows
    genome_piece* first;      ///< of the pieces that are linked, kept up to date at the last one
    genome_piece* last;       ///< the same, kept at the first one
    std::uint64_t overlap;    ///< with the next one
    std::uint64_t has_before; ///< 1 if it is the next of another
    genome_piece* same_hash;  ///< another one that is entered under its first letters
};

struct genome_root {
    hash_uncounted_root pieces;  ///< by the hash of all their letters
    genome_piece** starts;       ///< by the hash of their first letters; as many as pieces has buckets
};

template <access Access>
class genome_program {
public:
    using root_type = genome_root;

    genome_program(Access memory, genome_root* root, const genome_parameters& given)
        : memory_(memory),
          root_(root),
          given_(given),
          pieces_(memory, &root->pieces),
          gene_(given.gene_length),
          segments_(given.segments),
          built_(2 * given.gene_length) {
        const gene_generator generator(given.seed, given.gene_length, given.segment_length);
        generator.gene(gene_.data());
        generator.segments(segments_.data(), given.segments);
    }

    bool begin(std::uint64_t) {
        built_length_ = 0;
        if (!pieces_.create(given_.gene_length)) return false;
        genome_piece** starts = nullptr;
        const std::uint64_t count = pieces_.buckets();
        const bool made = memory_.atomically([&] {
            starts = static_cast<genome_piece**>(memory_.allocate(count * sizeof(genome_piece*)));
            memory_.store(&root_->starts, starts);
        });
        return made && clear_all_starts();
    }

    bool resume(std::uint64_t) {
        built_length_ = 0;
        return clear_all_starts();
    }

    /// Pieces are under the hash of their letters, and linked ones overlap and know of each other.
    check_report look() const {
        check_report report = pieces_.check();
        if (!report.ok()) return report;
        std::uint64_t linked = 0, followers = 0;
        pieces_.each(0, pieces_.buckets(), [&](std::int64_t key, std::int64_t value) {
            const genome_piece* const piece = piece_of(value);
            const std::uint64_t begin = memory_.load(&piece->begin);
            if (begin + given_.segment_length > given_.gene_length ||
                static_cast<std::int64_t>(hash_of(begin, given_.segment_length)) != key)
                return void(report.problem = "a piece is under another hash");
            followers += memory_.load(&piece->has_before);
            const genome_piece* const next = memory_.load(&piece->next);
            if (next == nullptr) return;
            ++linked;
            const std::uint64_t overlap = memory_.load(&piece->overlap);
            if (memory_.load(&next->has_before) != 1 ||
                !are_equal(begin + given_.segment_length - overlap, memory_.load(&next->begin), overlap))
                report.problem = "a link is torn";
        });
        if (report.ok() && linked != followers) report.problem = "a piece follows nothing";
        return report;
    }

    template <class Thread>
    void work(Thread& me) {
        const stamp_part segments = me.part_of(given_.segments);
        for (std::uint64_t i = segments.first; i < segments.last && !me.failed(); ++i) enter_segment(me, segments_[i]);
        me.wait();
        const private_array<genome_piece*> mine = pieces_of(me);
        for (std::uint64_t overlap = given_.segment_length - 1; overlap > 0; --overlap) {
            for (genome_piece* const each : mine) enter_start(me, each, overlap);
            me.wait();
            for (genome_piece* const each : mine) link_next(me, each, overlap);
            me.wait();
            clear_starts(me);
            me.wait();
        }
        if (me.number() == 0 && !me.failed()) build();
    }

    /// What was built is the gene, letter by letter.
    check_report check() const {
        check_report report;
        if (built_length_ != given_.gene_length) return report.problem = "the gene has another length", report;
        for (; report.count < built_length_; ++report.count)
            if (built_[report.count] != gene_[report.count]) return report.problem = "a letter is another", report;
        return report;
    }

    std::uint64_t hash() const {
        stamp_hash all;
        for (std::uint64_t i = 0; i < built_length_; ++i) all.add(static_cast<unsigned char>(built_[i]));
        pieces_.each(0, pieces_.buckets(), [&](std::int64_t key, std::int64_t value) {
            all.add(static_cast<std::uint64_t>(key));
            all.add(memory_.load(&piece_of(value)->begin));
        });
        return all.value();
    }

    bool end() {
        const bool good = each_few(memory_, {0, pieces_.buckets()}, at_once, [&](std::uint64_t bucket) {
            pieces_.each(bucket, bucket + 1, [&](std::int64_t, std::int64_t value) { memory_.free(piece_of(value)); });
            pieces_.clear(bucket, bucket + 1);
        });
        return good && memory_.atomically([&] {
            genome_piece** const starts = memory_.load(&root_->starts);
            memory_.store(&root_->starts, nullptr);
            memory_.free(starts);
            pieces_.dispose();
        });
    }

private:
    static constexpr std::uint64_t at_once = 64;  ///< buckets or starts in a transaction

    static genome_piece* piece_of(std::int64_t value) noexcept { return reinterpret_cast<genome_piece*>(value); }

    bool clear_all_starts() const {
        genome_piece** const starts = memory_.load(&root_->starts);
        return each_few(memory_, {0, pieces_.buckets()}, at_once,
                        [&](std::uint64_t i) { memory_.store(starts + i, nullptr); });
    }

    std::uint64_t hash_of(std::uint64_t begin, std::uint64_t count) const {
        stamp_hash letters;
        for (std::uint64_t i = begin; i < begin + count; ++i) letters.add(static_cast<unsigned char>(gene_[i]));
        return letters.value();
    }
    bool are_equal(std::uint64_t a, std::uint64_t b, std::uint64_t count) const {
        for (std::uint64_t i = 0; i < count; ++i)
            if (gene_[a + i] != gene_[b + i]) return false;
        return true;
    }

    template <class Thread>
    void enter_segment(Thread& me, std::uint64_t begin) const {
        // 64 bits tell segments apart. If they did not, a piece would be missing, which check finds.
        const auto key = static_cast<std::int64_t>(hash_of(begin, given_.segment_length));
        me.atomically(memory_, [=, this, pieces = pieces_] {
            std::int64_t known = 0;
            if (pieces.get(key, known)) return;
            auto* const made = static_cast<genome_piece*>(memory_.allocate(sizeof(genome_piece)));
            memory_.will_write(made);
            memory_.store(&made->begin, begin);
            memory_.store(&made->next, nullptr);
            memory_.store(&made->first, made);
            memory_.store(&made->last, made);
            memory_.store(&made->overlap, 0);
            memory_.store(&made->has_before, 0);
            memory_.store(&made->same_hash, nullptr);
            pieces.insert(key, reinterpret_cast<std::int64_t>(made));
        });
    }

    /// Those in this thread's part of the buckets. No transaction changes these any more.
    template <class Thread>
    private_array<genome_piece*> pieces_of(Thread& me) const {
        const stamp_part mine = me.part_of(pieces_.buckets());
        std::uint64_t count = 0;
        pieces_.each(mine.first, mine.last, [&](std::int64_t, std::int64_t) { ++count; });
        private_array<genome_piece*> all(count);
        genome_piece** next = all.data();
        pieces_.each(mine.first, mine.last, [&](std::int64_t, std::int64_t value) { *next++ = piece_of(value); });
        return all;
    }

    genome_piece** start_of(std::uint64_t hash) const {
        return memory_.load(&root_->starts) + (hash & (pieces_.buckets() - 1));
    }

    template <class Thread>
    void enter_start(Thread& me, genome_piece* piece, std::uint64_t overlap) const {
        // Only links store to it, which are made between other barriers.
        if (memory_.load(&piece->has_before) != 0) return;
        genome_piece** const start = start_of(hash_of(memory_.load(&piece->begin), overlap));
        me.atomically(memory_, [=, this] {
            memory_.store(&piece->same_hash, memory_.load(start));
            memory_.store(start, piece);
        });
    }

    /// Finds what follows a piece and links it. What is entered under first letters does not change meanwhile; what is
    /// linked does.
    template <class Thread>
    void link_next(Thread& me, genome_piece* piece, std::uint64_t overlap) const {
        // Only this thread stores to it.
        if (memory_.load(&piece->next) != nullptr) return;
        const std::uint64_t end = memory_.load(&piece->begin) + given_.segment_length - overlap;
        genome_piece* other = memory_.load(start_of(hash_of(end, overlap)));
        for (bool linked = false; other != nullptr && !linked; other = memory_.load(&other->same_hash)) {
            if (!are_equal(end, memory_.load(&other->begin), overlap)) continue;
            genome_piece* const found = other;
            me.atomically(memory_, [=, this, &linked] { linked = link(piece, found, overlap); });
        }
    }

    /// False if another piece is before `next` already, or if the two would become a ring. Inside a transaction.
    bool link(genome_piece* piece, genome_piece* next, std::uint64_t overlap) const {
        if (memory_.load(&next->has_before) != 0) return false;
        genome_piece* const first = memory_.load(&piece->first);
        if (first == next) return false;
        genome_piece* const last = memory_.load(&next->last);
        memory_.will_write(piece);
        memory_.will_write(next);
        memory_.store(&piece->next, next);
        memory_.store(&piece->overlap, overlap);
        memory_.store(&next->has_before, 1);
        memory_.store(&first->last, last);
        memory_.store(&last->first, first);
        return true;
    }

    template <class Thread>
    void clear_starts(Thread& me) const {
        const stamp_part mine = me.part_of(pieces_.buckets());
        genome_piece** const starts = memory_.load(&root_->starts);
        for (std::uint64_t first = mine.first; first < mine.last; first += at_once)
            me.atomically(memory_, [=, this] {
                for (std::uint64_t i = first; i < first + at_once && i < mine.last; ++i)
                    if (memory_.load(starts + i) != nullptr) memory_.store(starts + i, nullptr);
            });
    }

    /// The longest row of pieces as letters. After all transactions.
    void build() {
        const genome_piece* first = nullptr;
        pieces_.each(0, pieces_.buckets(), [&](std::int64_t, std::int64_t value) {
            const genome_piece* const piece = piece_of(value);
            if (memory_.load(&piece->has_before) == 0 && (first == nullptr || is_longer(piece, first))) first = piece;
        });
        std::uint64_t overlap = 0;
        for (const genome_piece* at = first; at != nullptr; at = memory_.load(&at->next)) {
            const std::uint64_t begin = memory_.load(&at->begin);
            for (std::uint64_t i = overlap; i < given_.segment_length && built_length_ < built_.count(); ++i)
                built_[built_length_++] = gene_[begin + i];
            overlap = memory_.load(&at->overlap);
        }
    }
    bool is_longer(const genome_piece* a, const genome_piece* b) const {
        while (a != nullptr && b != nullptr) {
            a = memory_.load(&a->next);
            b = memory_.load(&b->next);
        }
        return a != nullptr;
    }

    Access memory_;
    genome_root* root_;
    genome_parameters given_;
    hash_table<Access, hash_uncounted_root> pieces_;
    private_array<char> gene_;               ///< segments are parts of it
    private_array<std::uint64_t> segments_;  ///< where they begin
    private_array<char> built_;
    std::uint64_t built_length_ = 0;
};

}  // namespace holdfast::workload
