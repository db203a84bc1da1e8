// Persistent memory with caches before it, on which saves are tried: what is not durable may be there or not after a
// cut.
#pragma once

#include <linux/types.h>

#include <workload/random.hpp>

#include <algorithm>
#include <cstddef>
#include <cstdint>
#include <functional>
#include <utility>
#include <vector>

namespace holdfast::kernel {

using words = std::vector<__u64>;

/// `now` is what processors see. A word is durable when its line was written back and a fence came after that. Until
/// then it is in the cache of the processor that saves, or of another one, which nobody writes back but itself.
class save_medium {
public:
    explicit save_medium(std::size_t size) : now_(size), durable_(size), where_(size, place::durable) {}

    /// Called after each store, write-back and fence.
    std::function<void()> happened = [] {};
    workload::random random{1};

    words& now() noexcept { return now_; }
    bool has(const __u64* at) const noexcept { return at >= now_.data() && at < now_.data() + now_.size(); }

    void store(__u64* at, __u64 value, bool by_another = false) {
        *at = value;
        const std::size_t index = index_of(at);
        if (where_[index] == place::durable) pending_.push_back(index);
        where_[index] = by_another ? place::cache_of_another : place::cache;
        evict();
        happened();
    }
    void write_back(const void* begin, __u64 bytes) {
        const std::size_t first = index_of(begin) & ~std::size_t{7}, end = (index_of(begin) + bytes / 8 + 7) & ~7ull;
        for (const std::size_t index : pending_)
            if (index >= first && index < end) where_[index] = place::written_back;
        happened();
    }
    void write_back_all(bool of_another) {
        for (const std::size_t index : pending_)
            if (where_[index] == (of_another ? place::cache_of_another : place::cache))
                where_[index] = place::written_back;
        happened();
    }
    void fence() {
        settle_if([&](std::size_t index) { return where_[index] == place::written_back; });
        happened();
    }

    /// What a cut leaves: of each word that is not durable, or of each line, it is there or not.
    words image() {
        words left = durable_;
        const bool by_line = random.below(2) == 0;
        const std::uint64_t kept = random.next();
        for (const std::size_t index : pending_) {
            const bool is_kept = by_line ? (kept >> index / 8 % 64 & 1) != 0 : random.below(2) == 0;
            if (is_kept) left[index] = now_[index];
        }
        return left;
    }
    /// The machine starts with this.
    void start_with(const words& left) {
        now_ = durable_ = left;
        pending_.clear();
        std::ranges::fill(where_, place::durable);
    }

private:
    enum class place : unsigned char { durable, cache, cache_of_another, written_back };

    std::size_t index_of(const void* at) const {
        return static_cast<std::size_t>(static_cast<const __u64*>(at) - now_.data());
    }
    /// Caches write back when they like.
    void evict() {
        if (random.below(4) != 0) return;
        const std::size_t chosen = pending_[random.below(pending_.size())];
        settle_if([&](std::size_t index) { return index == chosen; });
    }
    template <class Which>
    void settle_if(Which which) {
        std::erase_if(pending_, [&](std::size_t index) {
            if (!which(index)) return false;
            durable_[index] = now_[index];
            where_[index] = place::durable;
            return true;
        });
    }

    words now_, durable_;
    std::vector<place> where_;
    std::vector<std::size_t> pending_;
};

}  // namespace holdfast::kernel
