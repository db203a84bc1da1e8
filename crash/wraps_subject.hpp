// Two threads whose wraps write the same words, under one lock, some of them two beside each other. Recovered in
// memory. Instrumented.
#pragma once

#include <crash/interleaved_subject.hpp>
#include <crash/randomness.hpp>
#include <crash/recorder.hpp>

#include <holdfast/engine/wrap.hpp>

#include <algorithm>
#include <mutex>
#include <optional>
#include <string>
#include <vector>

namespace holdfast::crash {

template <class Engine>
class wraps_subject final : public interleaved_subject {
    using pool = basic_pool<Engine>;
    /// A wrap's record is three lines: the first, one that is sent early and changes again, and a rest.
    static constexpr std::size_t words = 13;
    struct shared {
        std::uint64_t values[words];
        std::uint64_t others[words];
    };

public:
    wraps_subject() : interleaved_subject({"a wrap", "two wraps beside each other", "checkpoint"}) {}
    std::string_view engine() const override { return Engine::description.name; }
    std::string_view name() const override { return "wraps"; }

protected:
    std::optional<std::string> check_pool(const open_pool& recovered, const progress& made) override {
        const auto roots = list_roots(recovered);
        if (!roots) return "the roots are damaged: " + roots.error().text();
        return expected_.judge(found(), made);
    }
    contents found() const override { return of(*root_); }

private:
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

    trace record_as(const workload& operations, const model& how, const schedule& order, std::size_t) override {
        randomness.seed(0);
        const std::string path = recorded_path();
        pool recorded_pool = pool::create(path, recorded_pool_options(how)).value();
        ::unlink(path.c_str());
        root_ = recorded_pool.template root<shared>(explored_root).value();
        remember(recorded_pool.core(), how);
        expected_.begin(of(*root_));
        recorder seen({recorded_pool.core().base(), recorded_pool.core().size()});
        const auto run_operation = [&](std::size_t i) {
            const std::uint64_t value = 100 * (i + 1) + 10 * operations[i];
            switch (kind_of(operations[i])) {
                case 0: one_wrap(recorded_pool, value, seen); break;
                case 1: two_wraps(recorded_pool, value, seen); break;
                default: recorded_pool.checkpoint().value();
            }
        };
        // Alone it runs where the pool was made: a thread's first wrap has no place for lines sent early.
        if (operations.size() < 2) {
            run_operation(0);
        } else {
            run_interleaved(operations, order, run_operation);
        }
        trace recorded = seen.take().value();
        recorded_pool.abandon();
        return recorded;
    }

    shared* root_ = nullptr;
    std::mutex lock_;
};

}  // namespace holdfast::crash
