// What subjects share whose operations run in several threads. Instrumented, as what it is made of.
#pragma once

#include <crash/record/scheduler.hpp>
#include <crash/subjects/in_memory_subject.hpp>

#include <algorithm>
#include <condition_variable>
#include <cstddef>
#include <cstdint>
#include <functional>
#include <mutex>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

namespace holdfast::crash {

/// A workload is recorded with no preemption, or one after any step, whoever begins, and each in a pool that begins in
/// one of several ways. One operation alone is not interleaved. `Base` says how images are recovered.
template <class Base = in_memory_subject<>, unsigned Threads = 2>
class interleaved_subject : public Base {
public:
    unsigned universe() const final { return kinds() * threads; }
    std::string describe(unsigned operation) const final {
        return std::string(names_[kind_of(operation)]) + " (thread " + std::to_string(thread_of(operation)) + ")";
    }
    std::uint64_t images_of_a_cut() const final { return needs_all_threads() ? 2 : 16; }
    unsigned longest_workload(unsigned wanted) const final {
        if (wanted <= 2) return 1;
        return needs_all_threads() ? threads : 2;
    }

    std::size_t schedules(const workload& operations, const model& how) final {
        if (operations.size() < 2) return is_shown_alone(operations[0]) ? beginnings_ : 0;
        if (needs_all_threads() && !is_one_of_each_thread(operations)) return 0;
        return beginnings_ * threads * schedules_of_each(operations, how);
    }
    trace record(const workload& operations, const model& how, std::size_t number) final {
        const std::size_t beginning = number % beginnings_;
        number /= beginnings_;
        const std::size_t of_each = operations.size() < 2 ? 1 : schedules_of_each(operations, how);
        schedule order{static_cast<unsigned>(number / of_each % threads), {}};
        if (number % of_each != 0) order.preemptions = {number % of_each};
        return record_as(operations, how, order, beginning);
    }

protected:
    static constexpr unsigned threads = Threads;
    static_assert(threads < threads_at_most, "one is left for what follows a recovery");

    /// Every thread has an operation of each name. `arguments` are those of `Base`.
    template <class... Arguments>
    explicit interleaved_subject(std::vector<std::string_view> names, std::size_t beginnings = 1,
                                 Arguments&&... arguments)
        : Base(std::forward<Arguments>(arguments)...), names_(std::move(names)), beginnings_(beginnings) {}

    unsigned kind_of(unsigned operation) const { return operation % kinds(); }
    unsigned thread_of(unsigned operation) const { return operation / kinds(); }

    /// Whether only workloads are recorded in which each thread has one operation, in the order of the threads: another
    /// subject shows what happens between two.
    virtual bool needs_all_threads() const { return false; }
    /// Whether the operation has a workload of its own. Threads are alike, so that the first one's will do.
    virtual bool is_shown_alone(unsigned operation) const { return thread_of(operation) == 0; }

    virtual trace record_as(const workload& operations, const model& how, const schedule& order,
                            std::size_t beginning) = 0;

    /// Runs f(i) for each operation, by its place in the workload, in its thread.
    template <class F>
    void run_interleaved(const workload& operations, const schedule& order, F&& f) {
        std::mutex mutex;
        std::condition_variable changed;
        unsigned running = threads;
        std::vector<std::function<void()>> functions;
        for (unsigned thread = 0; thread < threads; ++thread)
            functions.push_back([&, thread] {
                for (std::size_t i = 0; i < operations.size(); ++i)
                    if (thread_of(operations[i]) == thread) f(i);
                // The lane of one that ends is given to the next.
                std::unique_lock lock(mutex);
                if (--running == 0) changed.notify_all();
                changed.wait(lock, [&] { return running == 0; });
            });
        steps_ = run_threads(functions, order).value();
    }

private:
    bool is_one_of_each_thread(const workload& operations) const {
        if (operations.size() != threads) return false;
        for (unsigned thread = 0; thread < threads; ++thread)
            if (thread_of(operations[thread]) != thread) return false;
        return true;
    }
    unsigned kinds() const { return static_cast<unsigned>(names_.size()); }

    /// How many begin with one thread: no step is preempted, or any, of the longest run without.
    std::size_t schedules_of_each(const workload& operations, const model& how) {
        if (operations != measured_ || how.name != measured_under_) {
            most_steps_ = 0;
            for (std::size_t beginning = 0; beginning < beginnings_; ++beginning)
                for (unsigned first = 0; first < threads; ++first) {
                    static_cast<void>(record_as(operations, how, {first, {}}, beginning));
                    most_steps_ = std::max(most_steps_, steps_);
                }
            measured_ = operations;
            measured_under_ = how.name;
        }
        return most_steps_ + 1;
    }

    std::vector<std::string_view> names_;
    std::size_t beginnings_;
    std::size_t steps_ = 0;  ///< of the last recording
    std::size_t most_steps_ = 0;
    workload measured_;
    std::string_view measured_under_;
};

}  // namespace holdfast::crash
