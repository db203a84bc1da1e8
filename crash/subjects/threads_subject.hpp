// Two threads, each with words and a block of its own, in a pool whose log is nearly full: their
// transactions meet in the log, in its truncation, and in the heap. Recovered in memory. Instrumented.
#pragma once

#include <crash/cut/randomness.hpp>
#include <crash/record/recorder.hpp>
#include <crash/subjects/interleaved_subject.hpp>

#include <holdfast/handle/pool.hpp>

#include <algorithm>
#include <array>
#include <optional>
#include <string>
#include <vector>

namespace holdfast::crash {

template <class Engine>
class threads_subject final : public interleaved_subject {
    using pool = basic_pool<Engine>;
    static constexpr std::size_t fillings = 2;
    static constexpr std::size_t words = 12;
    struct slice {
        typename Engine::template field<std::uint64_t> values[words];
        typename Engine::template field<const std::uint64_t*> block;
    };
    struct shared {
        slice slices[threads + 1];  ///< the last is the one that fills the log
        template <class F>
        void visit_blocks(F&& f) const {
            for (const slice& each : slices)
                if (each.block.get() != nullptr) f(each.block.get());
        }
    };

public:
    /// It begins with no segment free, or one.
    threads_subject() : interleaved_subject({"set words", "replace the block"}, fillings) {}
    std::string_view engine() const override { return Engine::description.name; }
    std::string_view name() const override { return "threads"; }
    /// Its log is full: a recovery stores thousands of words.
    std::uint64_t nested_less_often() const override { return 16; }

protected:
    std::optional<std::string> check_pool(const open_pool& recovered, const progress& made) override {
        const auto roots = list_roots(recovered);
        if (!roots) return "the roots are damaged: " + roots.error().text();
        if (auto wrong = expected_.judge(found(), made)) return wrong;
        return audit_heap(recovered, *roots, *root_);
    }
    contents found() const override {
        contents all;
        for (const slice& each : root_->slices) {
            const contents part = contents_of(each);
            all.insert(all.end(), part.begin(), part.end());
        }
        return all;
    }

private:
    static contents contents_of(const slice& from) {
        contents all;
        for (const auto& each : from.values) all.push_back(each.get());
        all.push_back(from.block.get() == nullptr ? 0 : read_value<Engine>(from.block.get()));
        return all;
    }

    static void set_words(slice& to, std::uint64_t value) {
        for (auto& each : to.values) each = value;
    }
    /// What it frees first, a thread that may reuse it at once would overwrite.
    static void replace_block(slice& in, std::uint64_t value) {
        Engine::deallocate(in.block.get());
        in.block = Engine::template make<const std::uint64_t>(value);
    }
    void run_operation(pool& in, unsigned operation, std::uint64_t value) {
        slice& own = root_->slices[thread_of(operation)];
        in.atomically([&] { kind_of(operation) == 0 ? set_words(own, value) : replace_block(own, value); }).value();
    }

    /// Transactions on the last slice.
    void fill_log(pool& in, unsigned transactions) {
        for (unsigned i = 0; i < transactions; ++i)
            in.atomically([&] { set_words(root_->slices[threads], 1000 + i); }).value();
    }
    /// How many leave no segment free, and how many one: a thread takes it, and the other has to truncate. Found by
    /// trying. Where segments are emptied without others' help: as many as fill the thread's own.
    std::array<unsigned, fillings> transactions_to_fill(const model& how) {
        constexpr unsigned enough = 2000;
        pool trial = make_pool(how);
        unsigned first = 0;
        unsigned second = 0;
        for (unsigned count = 1; count <= enough && second == 0; ++count) {
            fill_log(trial, 1);
            const std::uint64_t truncations = trial.core().lanes()->truncations();
            if (truncations == 1 && first == 0) first = count;
            if (truncations == 2) second = count;
        }
        const unsigned segments = geometry_of(trial.core()).segment_count();
        trial.abandon();
        // The first truncation leaves all segments but the one that is taken next.
        const unsigned of_a_segment = (second - first) / (segments - 1) + 1;
        if (first == 0) return {0, 0};
        return {first - 1, first > 2 * of_a_segment ? first - of_a_segment - 1 : first - 1};
    }

    pool make_pool(const model& how) {
        const std::string path = recorded_path();
        auto made = pool::create(path, recorded_pool_options(how)).value();
        ::unlink(path.c_str());
        root_ = made.template root<shared>(explored_root).value();
        for (unsigned operation = 0; operation < universe(); ++operation)
            run_operation(made, operation, 10 * (kind_of(operation) + 1) + thread_of(operation));
        return made;
    }

    trace record_as(const workload& operations, const model& how, const schedule& order,
                    std::size_t free_segments) override {
        randomness.seed(0);
        if (!filling_ || filled_for_ != how.streams_are_durable) filling_ = transactions_to_fill(how);
        filled_for_ = how.streams_are_durable;
        randomness.seed(0);
        pool recorded_pool = make_pool(how);
        fill_log(recorded_pool, (*filling_)[free_segments]);
        remember(recorded_pool.core(), how);
        std::vector<contents> first;
        for (const slice& each : root_->slices) first.push_back(contents_of(each));
        expected_.begin(first);

        recorder seen({recorded_pool.core().base(), recorded_pool.core().size()});
        run_interleaved(operations, order, [&](std::size_t i) {
            seen.operation_begins();
            run_operation(recorded_pool, operations[i], 100 * (i + 1) + operations[i]);
            seen.operation_done();
        });
        trace recorded = seen.take().value();
        expect(operations);
        recorded_pool.abandon();
        return recorded;
    }

    void expect(const workload& operations) {
        for (std::size_t i = 0; i < operations.size(); ++i) {
            const unsigned thread = thread_of(operations[i]);
            contents next = expected_.last(thread);
            const std::uint64_t value = 100 * (i + 1) + operations[i];
            if (kind_of(operations[i]) == 0) std::fill_n(next.begin(), words, value);
            if (kind_of(operations[i]) != 0) next.back() = value;
            expected_.add(std::move(next), thread);
        }
    }

    std::optional<std::array<unsigned, fillings>> filling_;
    bool filled_for_ = false;  ///< a model whose streams are durable
    shared* root_ = nullptr;
};

}  // namespace holdfast::crash
