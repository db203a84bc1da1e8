// The bucket array of hash_map: linear hashing, so that growing never moves more than one bucket.
// Source: W. Litwin, Linear Hashing: A New Tool for File and Table Addressing, VLDB 1980.
#pragma once

#include <holdfast/container/element.hpp>

#include <algorithm>
#include <bit>
#include <cstdint>
#include <vector>

namespace holdfast::detail {

/// Numbers of linear hashing with segments that double: segment 0 has the first 16 buckets, segment
/// s >= 1 the 16 * 2^(s-1) behind those. A bucket is written when it comes to life, so a new
/// segment costs its allocation and nothing else.
struct bucket_place {
    static constexpr std::uint64_t first_segment = 16;
    static constexpr std::uint64_t segment_limit = 32;
    static constexpr std::uint64_t bucket_limit = first_segment << (segment_limit - 1);

    std::uint64_t segment;
    std::uint64_t index;

    static constexpr bucket_place containing(std::uint64_t bucket) noexcept {
        if (bucket < first_segment) return {0, bucket};
        const auto segment = static_cast<std::uint64_t>(std::bit_width(bucket)) - 4;
        return {segment, bucket - segment_size(segment)};
    }
    static constexpr std::uint64_t segment_size(std::uint64_t segment) noexcept {
        return segment == 0 ? first_segment : first_segment << (segment - 1);
    }
    /// The bucket of a hash among `buckets` > 0.
    static constexpr std::uint64_t bucket_of(std::uint64_t hash, std::uint64_t buckets) noexcept {
        const std::uint64_t mask = std::bit_ceil(buckets) - 1;
        const std::uint64_t bucket = hash & mask;
        return bucket < buckets ? bucket : bucket & (mask >> 1);
    }
    /// The bucket that splits when `bucket` > 0 comes to life, and takes its nodes when it goes.
    static constexpr std::uint64_t buddy_of(std::uint64_t bucket) noexcept { return bucket ^ std::bit_floor(bucket); }
};
static_assert(bucket_place::containing(15).segment == 0 && bucket_place::containing(16).segment == 1);
static_assert(bucket_place::containing(32).segment == 2 && bucket_place::containing(63).index == 31);
static_assert(bucket_place::bucket_of(13, 6) == 5 && bucket_place::bucket_of(7, 6) == 3);

/// Chains of nodes by bucket. Node has `next`, a field of Node*, and `hash()`.
/// Zero bytes are a table without buckets. All members that change something: inside a transaction.
template <class Node, class Engine>
class bucket_table {
public:
    using link = basic_field<Engine, Node*>;

    static constexpr std::uint64_t first_buckets = 4;

    std::uint64_t buckets() const { return buckets_.get(); }

    /// The location of the buckets, for readers while the table holds others.
    struct shape {
        basic_field<Engine, link*>* directory;
        std::uint64_t buckets;

        link& head(std::uint64_t bucket) const {
            const bucket_place place = bucket_place::containing(bucket);
            return directory[place.segment].get()[place.index];
        }
        std::uint64_t segments() const { return buckets == 0 ? 0 : bucket_place::containing(buckets - 1).segment + 1; }
    };
    shape now() const { return {segments(), buckets()}; }

    link& head(std::uint64_t bucket) const {
        const bucket_place place = bucket_place::containing(bucket);
        return segments()[place.segment].get()[place.index];
    }
    /// Requires: there are buckets.
    link& head_of_hash(std::uint64_t hash) const { return head(bucket_place::bucket_of(hash, buckets())); }

    /// Prepares a table for one more bucket: nothing, a segment, or its first segment and the directory. This is every
    /// step that can fail for lack of space.
    struct growth {
        new_block<Engine> directory;
        new_block<Engine> segment;
        bool wanted = false;
    };
    /// Requires: there are no buckets.
    growth prepare_first_buckets() const {
        return {new_block<Engine>(bucket_place::segment_limit * sizeof(link*), 16), make_segment(0), true};
    }
    growth prepare_split() const {
        const std::uint64_t made = buckets();
        if (made == bucket_place::bucket_limit) return {};
        const bucket_place place = bucket_place::containing(made);
        if (place.index == 0 && place.segment > 0) return {{}, make_segment(place.segment), true};
        return {{}, {}, true};
    }
    /// Says what a split will write. Requires: its segment is there.
    void hint_split() const {
        const std::uint64_t made = buckets();
        link& from = head(bucket_place::buddy_of(made));
        Engine::will_write(&buckets_, sizeof buckets_);
        Engine::will_write(&from, sizeof from);
        Engine::will_write(&head(made), sizeof(link));
        for (Node* at = from.get(); at != nullptr; at = at->next.get()) Engine::will_write(&at->next, sizeof(link));
    }
    void grow(growth& by) {
        if (!by.wanted) return;
        if (by.directory) {
            directory_ = by.directory.template as<basic_field<Engine, link*>>();
            adopt_segment(0, by.segment);
            for (std::uint64_t i = 0; i < first_buckets; ++i) head(i) = nullptr;
            buckets_ = first_buckets;
            by.directory.keep();
        } else {
            if (by.segment) adopt_segment(bucket_place::containing(buckets()).segment, by.segment);
            split_one();
        }
    }

    /// Prepares a table for that number of buckets: every step that can fail for lack of space.
    struct reservation {
        new_block<Engine> directory;
        std::vector<new_block<Engine>> segments;
        std::uint64_t buckets;
    };
    /// Requires: `wanted` > 0. Throws failure: out_of_space.
    reservation prepare(std::uint64_t wanted) const {
        if (wanted > bucket_place::bucket_limit)
            fail(errc::out_of_space, "the hash map would be larger than a pool can be");
        reservation by{{}, {}, wanted < first_buckets ? first_buckets : wanted};
        if (by.buckets <= buckets()) return by;
        const std::uint64_t last = bucket_place::containing(by.buckets - 1).segment;
        by.segments.reserve(last + 1);
        for (std::uint64_t i = segment_count(); i <= last; ++i) by.segments.push_back(make_segment(i));
        if (buckets() == 0) by.directory = new_block<Engine>(bucket_place::segment_limit * sizeof(link*), 16);
        return by;
    }
    /// `is_empty`: no bucket has a node.
    void grow(reservation& by, bool is_empty) {
        std::uint64_t segment = segment_count();
        if (by.directory) {
            directory_ = by.directory.template as<basic_field<Engine, link*>>();
            by.directory.keep();
        }
        for (new_block<Engine>& each : by.segments) adopt_segment(segment++, each);
        if (is_empty) {
            add_empty_buckets(by.buckets);
        } else {
            while (buckets() < by.buckets) split_one();
        }
    }

    /// Takes the last bucket away and gives its nodes to its buddy.
    void merge_one() {
        const std::uint64_t last = buckets() - 1;
        if (last < first_buckets) return;
        link& leaving = head(last);
        link& into = head(bucket_place::buddy_of(last));
        Engine::will_write(&buckets_, sizeof buckets_);
        if (Node* const first = leaving.get(); first != nullptr) {
            link* tail = &leaving;
            while (tail->get() != nullptr) tail = &tail->get()->next;
            if (into.get() != nullptr) *tail = into.get();
            into = first;
        }
        buckets_ = last;
        const bucket_place place = bucket_place::containing(last);
        if (place.index == 0 && place.segment > 0) Engine::deallocate(segments()[place.segment].get());
    }

    /// Frees the segments. Requires: no nodes.
    static void free_segments(const shape& of) {
        for (std::uint64_t i = 0; i < of.segments(); ++i) Engine::deallocate(of.directory[i].get());
        Engine::deallocate(of.directory);
    }
    void free_all() { free_segments(now()); }
    void set_none() {
        if (directory_.get() != nullptr) directory_ = nullptr;
        if (buckets() != 0) buckets_ = 0;
    }
    void release() {
        free_all();
        set_none();
    }
    /// Has the buckets of `other`, which has none then.
    void take(bucket_table& other) {
        const shape taken = other.now();
        other.set_none();
        directory_ = taken.directory;
        buckets_ = taken.buckets;
    }
    void exchange(bucket_table& other) {
        swap(directory_, other.directory_);
        swap(buckets_, other.buckets_);
    }

    template <class F>
    void visit_blocks(F& f) const {
        if (directory_.get() == nullptr) return;
        f(static_cast<const void*>(segments()));
        for (std::uint64_t i = 0; i < segment_count(); ++i) f(static_cast<const void*>(segments()[i].get()));
    }

    result<void> check(const bounds& pool) const {
        if (buckets() == 0) {
            if (directory_.get() != nullptr) return pool.broken(this, "a hash map with segments and no buckets", 0, 1);
            return {};
        }
        if (buckets() < first_buckets || buckets() > bucket_place::bucket_limit)
            return pool.broken(this, "a hash map's number of buckets cannot be", first_buckets, buckets());
        if (!pool.hold(segments(), bucket_place::segment_limit * sizeof(link*)))
            return pool.broken_pointer(this, "a hash map's directory is out of bounds");
        for (std::uint64_t i = 0; i < segment_count(); ++i)
            if (!pool.hold(segments()[i].get(), bucket_place::segment_size(i) * sizeof(link)))
                return pool.broken_pointer(segments() + i, "a hash map's segment is out of bounds");
        return {};
    }

private:
    /// Brings all up to bucket `count` to life at once.
    void add_empty_buckets(std::uint64_t count) {
        for (std::uint64_t from = buckets(); from < count;) {
            const bucket_place place = bucket_place::containing(from);
            const std::uint64_t here = std::min(bucket_place::segment_size(place.segment) - place.index, count - from);
            Engine::fill_zero(&head(from), here * sizeof(link));
            from += here;
        }
        if (buckets() < count) buckets_ = count;
    }
    /// Brings one more bucket to life and moves the nodes that belong there from its buddy. Requires: its segment is
    /// there.
    void split_one() {
        const std::uint64_t made = buckets();
        link& from = head(bucket_place::buddy_of(made));
        hint_split();
        // Both chains keep their order; a link is stored only where it changes.
        link* stay = &from;
        link* go = &head(made);
        bool go_is_stored = false;
        for (Node* at = from.get(); at != nullptr;) {
            Node* const next = at->next.get();
            link*& tail = bucket_place::bucket_of(at->hash(), made + 1) == made ? go : stay;
            const bool first_to_go = &tail == &go && !go_is_stored;
            if (first_to_go || tail->get() != at) *tail = at;
            if (first_to_go) go_is_stored = true;
            tail = &at->next;
            at = next;
        }
        if (stay->get() != nullptr) *stay = nullptr;
        if (!go_is_stored || go->get() != nullptr) *go = nullptr;
        buckets_ = made + 1;
    }
    basic_field<Engine, link*>* segments() const { return directory_.get(); }
    std::uint64_t segment_count() const {
        return buckets() == 0 ? 0 : bucket_place::containing(buckets() - 1).segment + 1;
    }
    static new_block<Engine> make_segment(std::uint64_t segment) {
        return new_block<Engine>(bucket_place::segment_size(segment) * sizeof(link), 16);
    }
    void adopt_segment(std::uint64_t segment, new_block<Engine>& block) {
        segments()[segment] = block.template as<link>();
        block.keep();
    }

    basic_field<Engine, basic_field<Engine, link*>*> directory_;
    basic_field<Engine, std::uint64_t> buckets_;
};

}  // namespace holdfast::detail
