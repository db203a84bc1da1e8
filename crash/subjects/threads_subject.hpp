// Two threads, each with words and a block of its own, in a pool whose log is nearly full, or, where it is paced, in
// the middle of a round or empty: their transactions meet in the log, in its truncation, and in the heap. Recovered in
// memory. Instrumented.
#pragma once

#include <crash/subjects/slices_subject.hpp>

#include <algorithm>
#include <array>
#include <optional>

namespace holdfast::crash {

template <class Engine>
struct words_and_block {
    static constexpr std::size_t words = 12;
    typename Engine::template field<std::uint64_t> values[words];
    typename Engine::template field<const std::uint64_t*> block;

    void add_words(contents& to) const {
        for (const auto& each : values) to.push_back(each.get());
    }
};

/// The last slice is the one that fills the log.
template <class Engine>
class threads_subject final : public slices_subject<Engine, words_and_block<Engine>, 3> {
    using slice = words_and_block<Engine>;
    using base = slices_subject<Engine, slice, 3>;
    using typename base::pool;
    using base::expected_;
    using base::kind_of;
    using base::root_;
    using base::thread_of;
    static constexpr std::size_t fillings = 2;

public:
    /// It begins with no segment free, or one.
    explicit threads_subject(persist::record_way records)
        : base(records, {"set words", "replace the block"}, fillings) {}
    std::string_view name() const override { return base::writes_records_back() ? "threads_written_back" : "threads"; }
    /// Its log is full: a recovery stores thousands of words.
    std::uint64_t nested_less_often() const override { return 16; }

private:
    bool shares_steps() const override { return !base::writes_records_back(); }
    static void set_words(slice& to, std::uint64_t value) {
        for (auto& each : to.values) each = value;
    }
    void run_operation(pool& in, unsigned operation, std::uint64_t value) {
        slice& own = root_->slices[thread_of(operation)];
        const auto run = [&] { kind_of(operation) == 0 ? set_words(own, value) : base::replace_block(own, value); };
        in.atomically(run).value();
    }

    /// Transactions on the last slice.
    void fill_log(pool& in, unsigned transactions) {
        for (unsigned i = 0; i < transactions; ++i)
            in.atomically([&] { set_words(root_->slices[base::threads], 1000 + i); }).value();
    }
    /// How many leave no segment free, and how many one: a thread takes it, and the other has to truncate. Found by
    /// trying. Where segments are emptied without others' help: as many as fill the thread's own.
    std::array<unsigned, fillings> transactions_to_fill(const model& how) {
        constexpr unsigned enough = 2000;
        pool trial = base::make_pool(how);
        unsigned first = 0;
        unsigned second = 0;
        for (unsigned count = 1; count <= enough && second == 0; ++count) {
            fill_log(trial, 1);
            const std::uint64_t truncations = trial.core().lanes()->truncations();
            if (truncations == 1 && first == 0) first = count;
            if (truncations == 2) second = count;
        }
        const unsigned segments = base::geometry_of(trial.core()).segment_count();
        trial.abandon();
        // The first truncation leaves all segments but the one that is taken next.
        const unsigned of_a_segment = (second - first) / (segments - 1) + 1;
        if (first == 0) return {0, 0};
        return {first - 1, first > 2 * of_a_segment ? first - of_a_segment - 1 : first - 1};
    }

    void prepare(pool& in) override {
        for (unsigned operation = 0; operation < base::universe(); ++operation)
            run_operation(in, operation, 10 * (kind_of(operation) + 1) + thread_of(operation));
    }

    trace record_as(const workload& operations, const model& how, const schedule& order,
                    std::size_t free_segments) override {
        if (!filling_ || filled_for_ != how.streams_are_durable) filling_ = transactions_to_fill(how);
        filled_for_ = how.streams_are_durable;
        pool recorded_pool = base::make_pool(how);
        fill_log(recorded_pool, (*filling_)[free_segments]);
        trace recorded = base::record_in(recorded_pool, operations, how, order, [&](std::size_t i) {
            run_operation(recorded_pool, operations[i], 100 * (i + 1) + operations[i]);
        });
        expect(operations);
        recorded_pool.abandon();
        return recorded;
    }

    void expect(const workload& operations) {
        for (std::size_t i = 0; i < operations.size(); ++i) {
            const unsigned thread = thread_of(operations[i]);
            contents next = expected_.last(thread);
            const std::uint64_t value = 100 * (i + 1) + operations[i];
            if (kind_of(operations[i]) == 0) std::fill_n(next.begin(), slice::words, value);
            if (kind_of(operations[i]) != 0) next.back() = value;
            expected_.add(std::move(next), thread);
        }
    }

    std::optional<std::array<unsigned, fillings>> filling_;
    bool filled_for_ = false;  ///< a model whose streams are durable
};

}  // namespace holdfast::crash
