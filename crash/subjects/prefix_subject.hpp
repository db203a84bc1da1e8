// Threads whose transactions meet in the same words, under an engine that numbers commits in the order of their
// effects: what a cut leaves is what a prefix of them stored, and lacks at most as many as its level allows.
// Instrumented.
#pragma once

#include <crash/record/scheduler.hpp>
#include <crash/record/seam_recorder.hpp>
#include <crash/subjects/interleaved_subject.hpp>
#include <crash/subjects/opened_pool_subject.hpp>

#include <algorithm>
#include <array>
#include <optional>
#include <string>
#include <utility>
#include <vector>

namespace holdfast::crash {

/// A pool with words in it, opened from images as a program opens it.
template <class Engine>
class words_pool_subject : public opened_pool_subject<Engine> {
    using opened = opened_pool_subject<Engine>;

public:
    /// Those of all are in one line, those of a thread each in the next: `versioned` locks lines, and a commit that
    /// has read one may store to the other.
    static constexpr std::size_t first_own_word = 8;
    static constexpr std::size_t words = first_own_word + 4;

    bool knows(const model& how) const final { return !how.is_saved; }

    std::optional<std::string> check(const progress& made) final {
        if (wrong_) return wrong_;
        const auto roots = list_roots(pool_->core());
        if (!roots) return "the roots are damaged: " + roots.error().text();
        root_ = reinterpret_cast<object*>(object_of(pool_->core(), *roots));
        if (root_ == nullptr) return "the root is lost";
        return expected_.judge(now(), made);
    }
    trace enter_recovery(const lazy_memory& image, const progress& made, bool killed, const workload*) final {
        return opened::record_recovery_of(image, killed, [&](seam_recorder& seen) {
            seen.operation_begins(thread_afterwards);
            const bool is_open = !opened::recover(image) && !check(made);
            seen.operation_done(thread_afterwards);
            expected_.enter_recovery(is_open ? now() : contents{}, made, killed);
            if (!is_open) return;
            seen.operation_begins(thread_afterwards);
            pool_->atomically([&] { root_->values[words - 1] = 7777; }).value();
            // At `lag` it might be missing although it has returned.
            if (options_.durability == level::lag) pool_->fence().value();
            seen.operation_done(thread_afterwards);
            expected_.add_afterwards(now());
            pool_->checkpoint().value();
        });
    }

protected:
    using typename opened::pool;
    using opened::expected_;
    using opened::options_;
    using opened::pool_;
    struct alignas(64) object {
        std::array<basic_field<Engine, std::uint64_t>, words> values;
    };

    contents now() const {
        contents all;
        for (const auto& each : root_->values) all.push_back(each.get());
        return all;
    }

    void make_pool(const model& how, level durability, const lag_options& lag) {
        opened::begin_recording(how);
        if (options_.durability == level::power) options_.durability = durability;
        options_.lag = lag;
        options_.lag.backlog = 1;
        options_.lag.retire = retiring::cooperative;
        pool_.emplace(pool::create(opened::path_, options_).value());
        root_ = pool_->template root<object>(explored_root).value();
        pool_->atomically([&] {
                 for (auto& each : root_->values) each = 0;
             })
            .value();
        pool_->checkpoint().value();
    }

    object* root_ = nullptr;
    std::optional<std::string> wrong_;  ///< with the recording, whatever the cut
};

template <class Engine, unsigned Threads>
class prefix_subject final : public interleaved_subject<words_pool_subject<Engine>, Threads> {
    using interleaved = interleaved_subject<words_pool_subject<Engine>, Threads>;
    using interleaved::kind_of;
    using interleaved::pool_;
    using interleaved::root_;
    using interleaved::thread_of;
    enum kind : unsigned { count_on, copy, set, count_and_copy };

public:
    /// Few places for aliases, where they are not in pages: who commits often waits for them.
    prefix_subject(std::string name, level durability, const lag_options& lag)
        : interleaved({"count on", "copy", "set", "count on and copy"}),
          name_(std::move(name)),
          durability_(durability),
          lag_(lag) {}

    std::string_view name() const override { return name_; }
    bool needs_all_threads() const override { return Threads > 2; }
    /// Cuts inside recoveries are those of two threads.
    std::uint64_t nested_less_often() const override { return Threads > 2 ? 4096 : 16; }

private:
    /// What a transaction read and stored, and the number that it got.
    struct effect {
        std::uint64_t number = 0;
        unsigned thread = 0;
        std::size_t place_in_thread = 0;
        std::vector<std::pair<std::size_t, std::uint64_t>> reads;
        std::vector<std::pair<std::size_t, std::uint64_t>> stores;
    };

    std::uint64_t read(effect& by, std::size_t word) const {
        const std::uint64_t found = root_->values[word];
        by.reads.emplace_back(word, found);
        return found;
    }
    /// What was read may be overwritten before.
    void store(effect& by, std::size_t word, std::uint64_t what) const {
        scheduled::step();
        root_->values[word] = what;
        by.stores.emplace_back(word, what);
    }
    void run_one(unsigned operation, std::uint64_t value, effect& by) {
        const std::size_t own = words_pool_subject<Engine>::first_own_word + thread_of(operation);
        pool_->atomically([&] {
                 by.reads.clear();
                 by.stores.clear();
                 switch (kind_of(operation)) {
                     case count_on: store(by, 0, read(by, 0) + 1); break;
                     case copy: store(by, own, read(by, 0) + 10); break;
                     case set: store(by, 0, value); break;
                     default:
                         store(by, 1, read(by, 1) + 1);
                         store(by, own, read(by, 0) + read(by, own));
                 }
             })
            .value();
        by.number = transaction_runner::of_this_thread<Engine>().number();
    }

    trace record_as(const workload& operations, const model& how, const schedule& order, std::size_t) override {
        this->make_pool(how, durability_, lag_);
        const contents first = this->now();
        std::vector<effect> effects(operations.size());
        std::array<std::size_t, Threads> places{};
        for (std::size_t i = 0; i < operations.size(); ++i) {
            effects[i].thread = thread_of(operations[i]);
            effects[i].place_in_thread = places[thread_of(operations[i])]++;
        }
        trace recorded;
        {
            seam_recorder seen(this->base(), file_now(pool_->core(), this->size()));
            interleaved::run_interleaved(operations, order, [&](std::size_t i) {
                seen.operation_begins(thread_of(operations[i]));
                run_one(operations[i], 100 * (i + 1), effects[i]);
                seen.operation_done(thread_of(operations[i]));
            });
            pool_->checkpoint().value();
            recorded = std::move(seen.recorded());
        }
        expect(first, std::move(effects));
        this->end_recording();
        return recorded;
    }

    /// The states after 0, 1, … commits, in the order of their numbers, which must explain what each of them read.
    void expect(const contents& first, std::vector<effect> effects) {
        std::ranges::sort(effects, {}, &effect::number);
        this->wrong_.reset();
        std::vector<contents> states{first};
        for (const effect& each : effects) {
            contents next = states.back();
            for (const auto& [word, found] : each.reads)
                if (next[word] != found)
                    this->wrong_ = "commit " + std::to_string(each.number) + " has read what a later number stored";
            for (const auto& [word, what] : each.stores) next[word] = what;
            states.push_back(std::move(next));
        }
        if (states.back() != this->now()) this->wrong_ = "the numbers do not lead to what is there";
        this->expected_.begin([states = std::move(states), effects = std::move(effects),
                               most = durability_ == level::lag ? lag_.commits : 0](const progress& made) {
            std::vector<contents> may;
            for (std::size_t commits = 0; commits < states.size(); ++commits)
                if (may_be_left(effects, commits, made, most)) may.push_back(states[commits]);
            return may;
        });
    }
    /// Whether the first `commits` may be what a cut leaves.
    static bool may_be_left(const std::vector<effect>& effects, std::size_t commits, const progress& made,
                            std::size_t most_missing) {
        std::size_t missing = 0;
        for (std::size_t i = 0; i < effects.size(); ++i) {
            const effect& each = effects[i];
            if (i < commits && each.place_in_thread >= made.begun[each.thread]) return false;
            if (i >= commits && each.place_in_thread < made.done[each.thread]) ++missing;
        }
        return missing <= most_missing;
    }

    std::string name_;
    level durability_;
    lag_options lag_;
};

}  // namespace holdfast::crash
