// Crashes a run that was watched, in the order of time: what became durable until then, over the image at the
// beginning, is what the crash leaves. Ten thousand crashes take seconds, since from one to the next only what changed
// is looked at, and what recovery wrote is taken back.
#pragma once

#include <sim/machine/crash_witness_test.hpp>

#include <optional>
#include <random>
#include <unordered_map>
#include <unordered_set>

namespace holdfast::sim::test {

struct verdict {
    std::uint64_t crashes = 0;
    /// After which some word is not as the transactions before a moment left it, all of them as a whole.
    std::uint64_t wrong = 0;
    /// After which words are so, but the last transactions that were acknowledged are missing; and how many at most.
    std::uint64_t lost = 0, lost_most = 0;
    std::uint64_t recovered = 0;  ///< words that recovery wrote
};

/// A memory_image whose changes can be taken back.
class recovered_image {
public:
    explicit recovered_image(memory_image& image) : image_(image) {}

    void read_bytes(address from, std::span<std::byte> into) const { image_.read_bytes(from, into); }
    void write_bytes(address to, std::span<const std::byte> bytes) {
        std::vector<std::byte> before(bytes.size());
        image_.read_bytes(to, before);
        changes_.push_back({to, std::move(before)});
        image_.write_bytes(to, bytes);
    }
    template <class F>
    void for_each_changed_word(F&& f) const {
        for (const change& each : changes_) {
            const std::uint64_t last = each.where.value + each.before.size() - 1;
            for (std::uint64_t word = each.where.value & ~7ull; word <= last; word += 8) f(word);
        }
    }
    void take_back() {
        for (auto each = changes_.rbegin(); each != changes_.rend(); ++each)
            image_.write_bytes(each->where, each->before);
        changes_.clear();
    }

private:
    struct change {
        address where;
        std::vector<std::byte> before;
    };
    memory_image& image_;
    std::vector<change> changes_{};
};

class crash_judge {
public:
    explicit crash_judge(const crash_witness& run) : run_(run), next_write_(run.durable.begin()) {
        run.at_first.for_each_page([&](address page, std::span<const std::byte> bytes) {
            durable_.write_bytes(page, bytes);
        });
        for (const auto& [word, value] : run.words_at_first) expect(word, value);
        for (const auto& [hart, all] : run.of_harts) {
            first_open_.push_back({&all, 0});
            for (const seen_transaction& each : all) {
                acknowledged_.emplace(each.acknowledged, &each);
                if (each.acknowledged != never) commits_.emplace(each.order, &each);
            }
        }
        for (const auto& [order, each] : commits_)
            for (const auto& [word, value] : each->words) versions_[word].push_back({order, value});
        next_ = acknowledged_.begin();
    }

    /// `recover` brings an image to a consistent state and returns how many words it wrote.
    template <class Recover>
    verdict crash(std::uint64_t crashes, std::uint64_t seed, Recover&& recover) {
        std::mt19937_64 random(seed);
        std::vector<std::uint64_t> moments;
        const std::uint64_t length = (run_.end - run_.begin_at).picoseconds;
        for (std::uint64_t i = 0; i < crashes; ++i) moments.push_back(run_.begin_at.picoseconds + random() % length);
        std::sort(moments.begin(), moments.end());
        verdict found;
        for (const std::uint64_t each : moments) {
            advance({each});
            recovered_image survives(durable_);
            found.recovered += recover(survives);
            look_at(survives, {each}, found);
            survives.take_back();
            ++found.crashes;
        }
        return found;
    }

private:
    using words = std::map<std::uint64_t, std::uint64_t>;
    struct version {
        std::uint64_t order, value;
    };
    struct open_transaction {
        const std::vector<seen_transaction>* all;
        std::size_t at;
    };

    std::uint64_t there(std::uint64_t word) const {
        std::uint64_t value = 0;
        durable_.read_bytes({word}, std::as_writable_bytes(std::span(&value, 1)));
        return value;
    }
    void expect(std::uint64_t word, std::uint64_t value) {
        expected_[word] = value;
        note_difference(word, value);
    }
    void note_difference(std::uint64_t word, std::uint64_t expected) {
        if (there(word) == expected) differing_.erase(word);
        else differing_.insert(word);
    }
    void advance(time to) {
        for (; next_write_ != run_.durable.end() && next_write_->first <= to; ++next_write_) {
            durable_.write(next_write_->second);
            const std::uint64_t line = next_write_->second.line.value;
            for (std::uint64_t word = line; word < line + line_bytes; word += 8) {
                const auto found = expected_.find(word);
                if (found != expected_.end()) note_difference(word, found->second);
            }
        }
        for (; next_ != acknowledged_.end() && next_->first <= to; ++next_)
            for (const auto& [word, value] : next_->second->words) expect(word, value);
        for (open_transaction& each : first_open_)
            while (each.at < each.all->size() && (*each.all)[each.at].acknowledged <= to) ++each.at;
    }

    void look_at(const recovered_image& survives, time at, verdict& found) const {
        words others;  // that are not as acknowledged transactions left them
        const auto compare = [&](std::uint64_t word) {
            const auto expected = expected_.find(word);
            if (expected == expected_.end()) return;
            const std::uint64_t value = there(word);
            if (value != expected->second) others[word] = value;
        };
        for (const std::uint64_t word : differing_) compare(word);
        survives.for_each_changed_word(compare);
        if (has_only_open_ones(others)) return;
        const std::optional<std::uint64_t> lost = lost_at_end(others, at);
        found.wrong += !lost;
        found.lost += lost.value_or(0) != 0;
        found.lost_most = std::max(found.lost_most, lost.value_or(0));
    }
    /// Of a transaction that was open all may be there, or nothing.
    bool has_only_open_ones(words others) const {
        for (const open_transaction& each : first_open_) {
            if (others.empty()) return true;
            if (each.at == each.all->size()) continue;
            const words& of_it = (*each.all)[each.at].words;
            const auto is_there = [&](const auto& word) {
                const auto found = others.find(word.first);
                return (found != others.end() ? found->second : expected_.at(word.first)) == word.second;
            };
            if (!std::all_of(of_it.begin(), of_it.end(), is_there)) continue;
            for (const auto& [word, value] : of_it) others.erase(word);
        }
        return others.empty();
    }

    /// What was in the word behind the commits before `order`.
    std::uint64_t value_before(std::uint64_t word, std::uint64_t order) const {
        const auto found = versions_.find(word);
        if (found == versions_.end()) return run_.words_at_first.at(word);
        const std::vector<version>& all = found->second;
        const auto is_before = [&](const version& each) { return each.order < order; };
        const auto behind = std::partition_point(all.begin(), all.end(), is_before);
        return behind == all.begin() ? run_.words_at_first.at(word) : std::prev(behind)->value;
    }
    /// How many acknowledged transactions are missing, if what is there is what all commits before one of the last
    /// left.
    std::optional<std::uint64_t> lost_at_end(const words& others, time at) const {
        std::uint64_t first_open = ~std::uint64_t{0};
        for (const open_transaction& each : first_open_)
            if (each.at < each.all->size()) first_open = std::min(first_open, (*each.all)[each.at].order);
        auto end = commits_.lower_bound(first_open);
        for (std::size_t i = 0; i < 2 * first_open_.size() && end != commits_.end(); ++i) ++end;
        std::optional<std::uint64_t> lost;
        for (std::size_t window = 64; !lost && window <= 256; window *= 4) {
            auto begin = end;
            for (std::size_t i = 0; i < window && begin != commits_.begin(); ++i) --begin;
            lost = lost_between(begin, end, others, at);
        }
        return lost;
    }
    bool is_stored_behind(std::uint64_t word, std::uint64_t order) const {
        const auto found = versions_.find(word);
        return found != versions_.end() && found->second.back().order >= order;
    }
    using commit_place = std::map<std::uint64_t, const seen_transaction*>::const_iterator;
    std::optional<std::uint64_t> lost_between(commit_place begin, commit_place end, const words& others,
                                              time at) const {
        if (begin == end) return {};
        // What no commit of these has stored to, none of them has brought about.
        const auto is_stored = [&](const auto& each) { return is_stored_behind(each.first, begin->first); };
        if (!std::all_of(others.begin(), others.end(), is_stored)) return {};
        words now;
        for (auto each = begin; each != end; ++each)
            for (const auto& [word, value] : each->second->words) now[word] = value_before(word, begin->first);
        std::size_t different = 0;
        for (const auto& [word, value] : now) different += there(word) != value;
        std::optional<commit_place> last;
        if (different == 0) last = begin;
        for (auto each = begin; each != end; ++each) {
            for (const auto& [word, value] : each->second->words) {
                different -= there(word) != now[word];
                now[word] = value;
                different += there(word) != value;
            }
            if (different == 0) last = std::next(each);
        }
        if (!last) return {};
        const auto is_acknowledged = [&](const auto& each) { return each.second->acknowledged <= at; };
        return static_cast<std::uint64_t>(std::count_if(*last, end, is_acknowledged));
    }

    const crash_witness& run_;
    memory_image durable_{};
    std::unordered_map<std::uint64_t, std::uint64_t> expected_{};
    std::unordered_set<std::uint64_t> differing_{};  ///< words that are not durable as they are expected
    std::multimap<time, line_write>::const_iterator next_write_;
    std::multimap<time, const seen_transaction*> acknowledged_{};
    std::multimap<time, const seen_transaction*>::const_iterator next_{};
    std::vector<open_transaction> first_open_{};
    std::map<std::uint64_t, const seen_transaction*> commits_{};
    std::unordered_map<std::uint64_t, std::vector<version>> versions_{};
};

}  // namespace holdfast::sim::test
