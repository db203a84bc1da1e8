// What a pool must hold that workers died over, whatever killed them: the process alone or the whole machine.
#pragma once

#include "state.hpp"

#include <holdfast/heap/heap.hpp>

#include <algorithm>
#include <array>
#include <cstdint>
#include <deque>
#include <map>
#include <string>
#include <vector>

namespace holdfast::kill {

/// Transactions that `thread` has committed, as the pool says.
template <class Engine>
std::uint64_t transactions_done(basic_pool<Engine>& pool, std::uint64_t thread) {
    return pool.template root<thread_state<Engine>>(thread_root(thread)).value()->done;
}

/// Compares a pool, in which no transaction runs, with models of its threads. Each finding is a sentence.
template <class Engine>
class verifier {
public:
    /// Brings `models`, one for each thread, up to what the pool says is done.
    verifier(basic_pool<Engine>& pool, std::uint64_t seed, std::vector<thread_model>& models)
        : pool_(pool), seed_(seed), models_(models) {}

    /// All that is wrong; the rest is not looked at where a thread's number of transactions is impossible.
    std::vector<std::string> problems() {
        std::uint64_t shared_count = 0;
        for (std::uint64_t thread = 0; thread < models_.size(); ++thread) {
            if (!bring_up(thread)) return problems_;
            const auto& state = *pool_.template root<thread_state<Engine>>(thread_root(thread)).value();
            compare(state, models_[thread], thread);
            shared_count += models_[thread].shared_count;
            visit(state);
        }
        compare_shared(shared_count);
        audit();
        return problems_;
    }

private:
    /// More than any worker does in its lives: a torn number must not make the model run for ever.
    static constexpr std::uint64_t transactions_at_most = 1 << 24;

    bool bring_up(std::uint64_t thread) {
        const std::uint64_t done = transactions_done(pool_, thread);
        thread_model& model = models_[thread];
        const bool possible = done >= model.done && done - model.done <= transactions_at_most;
        expect(possible, "thread " + std::to_string(thread) + " cannot have done " + std::to_string(done) +
                             " transactions: there were " + std::to_string(model.done));
        while (possible && model.done < done) model.run(transaction_of(seed_, thread, model.done + 1));
        return possible;
    }

    void compare(const thread_state<Engine>& state, const thread_model& model, std::uint64_t thread) {
        // Each is looked at, also when one before it is not sound.
        const std::array sound{expect_sound(state.numbers), expect_sound(state.words), expect_sound(state.list),
                               expect_sound(state.line), expect_sound(state.table)};
        if (std::ranges::find(sound, false) != sound.end()) return;
        const std::string whose = " of thread " + std::to_string(thread) + " holds something else";
        std::map<std::uint64_t, std::uint64_t> numbers;
        for (const auto& entry : state.numbers) numbers.emplace(entry.first.get(), entry.second.get());
        expect(numbers == model.numbers, "hash_map" + whose);
        std::map<std::string, std::string> words;
        for (const auto& entry : state.words) words.emplace(entry.first.str(), entry.second.str());
        expect(words == model.words, "btree_map" + whose);
        expect(std::vector<std::uint64_t>(state.list.begin(), state.list.end()) == model.list, "vector" + whose);
        expect(std::deque<std::uint64_t>(state.line.begin(), state.line.end()) == model.line, "queue" + whose);
        expect(std::vector<std::uint64_t>(state.table.begin(), state.table.end()) == model.table,
               "large vector" + whose);
    }

    void compare_shared(std::uint64_t count) {
        const auto& shared = *pool_.template root<shared_state<Engine>>(shared_root).value();
        expect(shared.count == count, "a transaction of several threads' data is torn: " +
                                          std::to_string(shared.count.get()) + " counted, " + std::to_string(count) +
                                          " done");
        for (std::uint64_t thread = 0; thread < models_.size(); ++thread) {
            const auto found = shared.latest.find(thread);
            const std::uint64_t latest = found == shared.latest.end() ? 0 : found->second.get();
            expect(latest == models_[thread].shared_latest,
                   "the latest shared transaction of thread " + std::to_string(thread) + " is " +
                       std::to_string(latest) + ", not " + std::to_string(models_[thread].shared_latest));
        }
        expect_sound(shared.latest);
        shared.latest.visit_blocks([&](const void* block) { owned_.push_back(block); });
    }

    void audit() {
        // Roots that the worker had not made yet were made now: their blocks are the heap's once they are home.
        const auto is_home = pool_.checkpoint();
        expect(is_home.has_value(), is_home ? "" : is_home.error().text());
        const auto roots = pool_.roots().value();
        for (const root_listing& root : roots) owned_.push_back(pool_.core().base() + root.offset);
        const heap_audit found = heap::audit(pool_.core().base(), pool_.core().zones(), owned_, true);
        expect(found.clean(), std::to_string(found.leaked_blocks) + " blocks leaked, " +
                                  std::to_string(found.double_owners) + " owned twice, " +
                                  std::to_string(found.dangling_owners) + " dangling, " +
                                  std::to_string(found.bad_metadata) + " damaged: " +
                                  (found.problems.empty() ? "" : found.problems.front()));
    }

    void visit(const thread_state<Engine>& state) {
        const auto note = [&](const void* block) { owned_.push_back(block); };
        state.numbers.visit_blocks(note);
        state.words.visit_blocks(note);
        state.list.visit_blocks(note);
        state.line.visit_blocks(note);
        state.table.visit_blocks(note);
    }

    template <class Container>
    bool expect_sound(const Container& container) {
        const auto checked = container.check();
        expect(checked.has_value(), checked ? "" : checked.error().text());
        return checked.has_value();
    }

    void expect(bool holds, const std::string& otherwise) {
        if (!holds) problems_.push_back(otherwise);
    }

    basic_pool<Engine>& pool_;
    std::uint64_t seed_;
    std::vector<thread_model>& models_;
    std::vector<const void*> owned_;
    std::vector<std::string> problems_;
};

}  // namespace holdfast::kill
