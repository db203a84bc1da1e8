// Two threads whose wraps write the same words, under one lock, some of them two beside each other. Recovered in
// memory. Instrumented.
#pragma once

#include <crash/in_memory_subject.hpp>
#include <crash/randomness.hpp>
#include <crash/recorder.hpp>
#include <crash/scheduler.hpp>

#include <holdfast/engine/wrap.hpp>

#include <algorithm>
#include <functional>
#include <mutex>
#include <optional>
#include <string>
#include <vector>

namespace holdfast::crash {

template <class Engine>
class wraps_subject final : public in_memory_subject<> {
    using pool = basic_pool<Engine>;
    static constexpr unsigned threads = 2;
    /// A wrap's record is three lines: the first, one that is sent early and changes again, and a rest.
    static constexpr std::size_t words = 13;
    struct shared {
        std::uint64_t values[words];
        std::uint64_t others[words];
    };

public:
    std::string_view engine() const override { return Engine::description.name; }
    std::string_view name() const override { return "wraps"; }
    unsigned universe() const override { return kinds * threads; }
    std::string describe(unsigned operation) const override {
        constexpr std::string_view names[kinds] = {"a wrap", "two wraps beside each other", "checkpoint"};
        return std::string(names[operation % kinds]) + " (thread " + std::to_string(thread_of(operation)) + ")";
    }
    std::uint64_t images_of_a_cut() const override { return 16; }
    unsigned longest_workload(unsigned wanted) const override { return wanted > 2 ? 2 : 1; }

    /// No preemption, or one after any step, whoever begins.
    std::size_t schedules(const workload& operations, const model& how) override {
        if (operations.size() < 2) return 1;
        return threads * (steps_of(operations, how) + 1);
    }
    trace record(const workload& operations, const model& how, std::size_t number) override {
        const std::size_t of_each = operations.size() < 2 ? 1 : steps_of(operations, how) + 1;
        schedule order{static_cast<unsigned>(number / of_each % threads), {}};
        if (number % of_each != 0) order.preemptions = {number % of_each};
        return record_as(operations, how, order);
    }

protected:
    std::optional<std::string> check_pool(const open_pool& recovered, const progress& made) override {
        const auto roots = list_roots(recovered);
        if (!roots) return "the roots are damaged: " + roots.error().text();
        return expected_.judge(found(), made);
    }
    contents found() const override { return of(*root_); }

private:
    static constexpr unsigned kinds = 3;
    static unsigned thread_of(unsigned operation) { return operation / kinds; }

    static contents of(const shared& all) {
        contents both(all.values, all.values + words);
        both.insert(both.end(), all.others, all.others + words);
        return both;
    }

    /// The state after everything that was closed, in the order of the lock, is what the next one changes.
    void expect(std::size_t first, std::uint64_t value) {
        contents next = expected_.last();
        std::fill_n(next.begin() + static_cast<std::ptrdiff_t>(first), words, value);
        expected_.add(std::move(next));
    }

    void one_wrap(pool& in, std::uint64_t value, recorder& seen) {
        wrapped_lock region(in, lock_);
        seen.operation_begins();
        expect(0, value);
        for (std::uint64_t& each : root_->values) region->store(&each, value + 1);
        for (std::uint64_t& each : root_->values) region->store(&each, value);
        region.close().value();
        seen.operation_done();
    }
    void two_wraps(pool& in, std::uint64_t value, recorder& seen) {
        wrapped_lock region(in, lock_);
        auto beside = OpenWrap(in);
        for (std::size_t i = 0; i < words; ++i) {
            beside.store(&root_->others[i], value + 1);
            region->store(&root_->values[i], value);
        }
        seen.operation_begins();
        expect(words, value + 1);
        beside.close().value();
        seen.operation_done();
        seen.operation_begins();
        expect(0, value);
        region.close().value();
        seen.operation_done();
    }

    std::size_t steps_of(const workload& operations, const model& how) {
        if (operations != measured_ || how.name != measured_under_) {
            static_cast<void>(record_as(operations, how, {}));
            measured_ = operations;
            measured_under_ = how.name;
        }
        return steps_;
    }

    trace record_as(const workload& operations, const model& how, const schedule& order) {
        randomness.seed(0);
        const std::string path = recorded_path();
        pool recorded_pool = pool::create(path, recorded_pool_options(how)).value();
        ::unlink(path.c_str());
        root_ = recorded_pool.template root<shared>(explored_root).value();
        remember(recorded_pool.core(), how);
        expected_.begin(of(*root_));
        recorder seen({recorded_pool.core().base(), recorded_pool.core().size()});
        std::vector<std::function<void()>> functions;
        for (unsigned thread = 0; thread < threads; ++thread)
            functions.push_back([&, thread] {
                for (std::size_t i = 0; i < operations.size(); ++i) {
                    if (thread_of(operations[i]) != thread) continue;
                    const std::uint64_t value = 100 * (i + 1) + 10 * operations[i];
                    switch (operations[i] % kinds) {
                        case 0: one_wrap(recorded_pool, value, seen); break;
                        case 1: two_wraps(recorded_pool, value, seen); break;
                        default: recorded_pool.checkpoint().value();
                    }
                }
            });
        // Alone it runs where the pool was made: a thread's first wrap has no place for lines sent early.
        if (operations.size() < 2) {
            functions[thread_of(operations[0])]();
        } else {
            steps_ = run_threads(functions, order).value();
        }
        trace recorded = seen.take().value();
        recorded_pool.abandon();
        return recorded;
    }

    shared* root_ = nullptr;
    std::mutex lock_;
    std::size_t steps_ = 0;
    workload measured_;
    std::string_view measured_under_;
};

}  // namespace holdfast::crash
