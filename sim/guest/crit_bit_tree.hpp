// A crit-bit tree: a node for each bit in which keys below it differ first, and a leaf for each key. As the ctree
// example of PMDK, which WHISPER measures.
#pragma once

#include <workload/access.hpp>

namespace holdfast::guest {

struct crit_bit_leaf {
    std::int64_t key;
    std::int64_t value;
};
/// Left are the keys without the bit. A link whose last bit is set leads to a node, any other one to a leaf.
struct crit_bit_node {
    std::uint64_t links[2];
    std::uint64_t bit;
};
struct crit_bit_root {
    std::uint64_t first;  ///< 0: there is no key
    std::uint64_t count;
};

/// A map like workload::hash_table, with the same contracts.
template <class Access>
class crit_bit_tree {
public:
    crit_bit_tree(const Access& memory, crit_bit_root* root) noexcept : memory_(memory), root_(root) {}

    bool get(std::int64_t key, std::int64_t& value) const noexcept {
        const crit_bit_leaf* const leaf = nearest(key);
        if (leaf == nullptr || memory_.load(&leaf->key) != key) return false;
        value = memory_.load(&leaf->value);
        return true;
    }

    bool insert(std::int64_t key, std::int64_t value) const noexcept {
        const crit_bit_leaf* const leaf = nearest(key);
        if (leaf == nullptr) {
            memory_.store(&root_->first, reinterpret_cast<std::uint64_t>(make_leaf(key, value)));
        } else {
            const std::uint64_t different = bits(memory_.load(&leaf->key)) ^ bits(key);
            if (different == 0) return false;
            const std::uint64_t bit = highest_bit(different);
            // Above the first node that decides on a lower bit.
            std::uint64_t* link = &root_->first;
            std::uint64_t at = memory_.load(link);
            while (is_node(at) && memory_.load(&node(at)->bit) > bit) {
                link = &node(at)->links[side(key, memory_.load(&node(at)->bit))];
                at = memory_.load(link);
            }
            auto* const made = static_cast<crit_bit_node*>(memory_.allocate(sizeof(crit_bit_node)));
            memory_.store(&made->bit, bit);
            memory_.store(&made->links[side(key, bit)], reinterpret_cast<std::uint64_t>(make_leaf(key, value)));
            memory_.store(&made->links[side(key, bit) ^ 1], at);
            memory_.store(link, reinterpret_cast<std::uint64_t>(made) | node_mark);
        }
        memory_.store(&root_->count, memory_.load(&root_->count) + 1);
        return true;
    }

    bool remove(std::int64_t key) const noexcept {
        std::uint64_t *above = nullptr, *link = &root_->first;
        std::uint64_t at = memory_.load(link);
        while (is_node(at)) {
            above = link;
            link = &node(at)->links[side(key, memory_.load(&node(at)->bit))];
            at = memory_.load(link);
        }
        if (at == 0 || memory_.load(&leaf(at)->key) != key) return false;
        if (above == nullptr) {
            memory_.store(link, 0);
        } else {
            // The other side takes the place of the node.
            crit_bit_node* const gone = node(memory_.load(above));
            memory_.store(above, memory_.load(&gone->links[link == &gone->links[0] ? 1 : 0]));
            memory_.free(gone);
        }
        memory_.free(leaf(at));
        memory_.store(&root_->count, memory_.load(&root_->count) - 1);
        return true;
    }

    /// Every leaf is where its key leads, bits fall on the way down, and there are as many leaves as counted.
    workload::check_report check() const noexcept {
        workload::check_report report;
        check_below(memory_.load(&root_->first), 64, report);
        if (report.ok() && report.count != memory_.load(&root_->count)) report.problem = "another number than counted";
        return report;
    }

private:
    static constexpr std::uint64_t node_mark = 1;

    static std::uint64_t bits(std::int64_t key) noexcept { return static_cast<std::uint64_t>(key); }
    static std::uint64_t side(std::int64_t key, std::uint64_t bit) noexcept { return bits(key) >> bit & 1; }
    /// The instruction for that is in no extension that the machine has.
    static std::uint64_t highest_bit(std::uint64_t of) noexcept {
        std::uint64_t found = 0;
        for (std::uint64_t step = 32; step != 0; step /= 2) {
            if (of >> step == 0) continue;
            of >>= step;
            found += step;
        }
        return found;
    }
    static bool is_node(std::uint64_t link) noexcept { return (link & node_mark) != 0; }
    static crit_bit_node* node(std::uint64_t link) noexcept {
        return reinterpret_cast<crit_bit_node*>(link & ~node_mark);
    }
    static crit_bit_leaf* leaf(std::uint64_t link) noexcept { return reinterpret_cast<crit_bit_leaf*>(link); }

    /// The leaf that the key's bits lead to, of whatever key.
    const crit_bit_leaf* nearest(std::int64_t key) const noexcept {
        std::uint64_t at = memory_.load(&root_->first);
        while (is_node(at)) at = memory_.load(&node(at)->links[side(key, memory_.load(&node(at)->bit))]);
        return leaf(at);
    }

    crit_bit_leaf* make_leaf(std::int64_t key, std::int64_t value) const noexcept {
        auto* const made = static_cast<crit_bit_leaf*>(memory_.allocate(sizeof(crit_bit_leaf)));
        memory_.store(&made->key, key);
        memory_.store(&made->value, value);
        return made;
    }

    void check_below(std::uint64_t link, std::uint64_t bit_above, workload::check_report& report) const noexcept {
        if (!report.ok() || link == 0) return;
        if (!is_node(link)) {
            if (nearest(memory_.load(&leaf(link)->key)) != leaf(link)) report.problem = "a leaf is in the wrong place";
            ++report.count;
            return;
        }
        const std::uint64_t bit = memory_.load(&node(link)->bit);
        if (bit >= bit_above) {
            report.problem = "a node decides on a higher bit than the one above it";
            return;
        }
        for (const std::uint64_t each : node(link)->links) check_below(each, bit, report);
    }

    Access memory_;
    crit_bit_root* root_;
};

}  // namespace holdfast::guest
