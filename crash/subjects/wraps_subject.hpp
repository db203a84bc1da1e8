// Two threads whose wraps write the same words, under one lock, some of them two beside each other. Recovered in
// memory. Instrumented.
#pragma once

#include <crash/cut/randomness.hpp>
#include <crash/record/recorder.hpp>
#include <crash/subjects/interleaved_subject.hpp>

#include <holdfast/handle/wrap.hpp>

#include <algorithm>
#include <mutex>
#include <optional>
#include <span>
#include <string>
#include <thread>
#include <vector>

namespace holdfast::crash {

template <class Engine>
class wraps_subject final : public interleaved_subject<> {
    using pool = basic_pool<Engine>;
    /// A wrap's record is three lines: the first, one that is sent early and changes again, and a rest.
    static constexpr std::size_t words = 13;
    struct shared {
        std::uint64_t values[words];
        std::uint64_t others[words];
        std::uint64_t filler[240];  ///< nearly half a segment of the log
    };

public:
    wraps_subject() : interleaved_subject(operations()) {}
    std::string_view engine() const override { return Engine::description.name; }
    std::string_view name() const override { return "wraps"; }

protected:
    std::optional<std::string> check_pool(const open_pool& recovered, const progress& made) override {
        const auto roots = list_roots(recovered);
        if (!roots) return "the roots are damaged: " + roots.error().text();
        return expected_.judge(found(), made);
    }
    contents found() const override { return contents_of(*root_); }

private:
    static std::vector<std::string_view> operations() {
        std::vector<std::string_view> all{"a wrap", "two wraps beside each other", "checkpoint"};
        if (Engine::has_shared_aliases) all.push_back("a wrap larger than an alias table");
        return all;
    }

    static contents contents_of(const shared& all) {
        contents both;
        for (const std::uint64_t& each : all.values) both.push_back(read_value<Engine>(&each));
        for (const std::uint64_t& each : all.others) both.push_back(read_value<Engine>(&each));
        return both;
    }

    /// The state after everything that was closed, in the order of the lock, is what the next one changes.
    void expect(std::size_t first, std::size_t count, std::uint64_t value) {
        contents next = expected_.last();
        std::fill_n(next.begin() + static_cast<std::ptrdiff_t>(first), count, value);
        expected_.add(std::move(next));
    }

    void one_wrap(pool& in, std::uint64_t value, recorder& seen) {
        wrapped_lock region(in, lock_);
        seen.operation_begins();
        expect(0, words, value);
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
        expect(words, words, value + 1);
        beside.close().value();
        seen.operation_done();
        seen.operation_begins();
        expect(0, words, value);
        region.close().value();
        seen.operation_done();
    }

    void larger_wrap(pool& in, std::uint64_t value, recorder& seen) {
        wrapped_lock region(in, lock_);
        seen.operation_begins();
        expect(0, 2 * words, value);
        for (std::size_t i = 0; i < words; ++i) {
            region->store(&root_->others[i], value);
            region->store(&root_->values[i], value);
        }
        region.close().value();
        seen.operation_done();
    }

    static void unseen_wrap(pool& in, std::span<std::uint64_t> what) {
        auto id = OpenWrap(in);
        for (std::uint64_t& each : what) id.store(&each, std::uint64_t{7});
        id.close().value();
    }
    /// The log's second bucket comes to stand behind its third: who begins writes behind who comes later.
    void turn_buckets(pool& in) {
        std::thread([&] {
            unseen_wrap(in, root_->filler);
            std::thread([&] { unseen_wrap(in, root_->others); }).join();
            unseen_wrap(in, root_->filler);
            unseen_wrap(in, root_->filler);
        }).join();
    }

    trace record_as(const workload& operations, const model& how, const schedule& order, std::size_t) override {
        randomness.seed(0);
        const std::string path = recorded_path();
        create_options options = recorded_pool_options(how);
        // Two wraps of the same words fit, and no wrap of all.
        options.wraps.alias_words = 2 * words + 1;
        pool recorded_pool = pool::create(path, options).value();
        ::unlink(path.c_str());
        root_ = recorded_pool.template plain_root<shared>(explored_root).value();
        turn_buckets(recorded_pool);
        remember(recorded_pool.core(), how);
        expected_.begin(contents_of(*root_));
        recorder seen({recorded_pool.core().base(), recorded_pool.core().size()});
        const auto run_operation = [&](std::size_t i) {
            const std::uint64_t value = 100 * (i + 1) + 10 * operations[i];
            switch (kind_of(operations[i])) {
                case 0: one_wrap(recorded_pool, value, seen); break;
                case 1: two_wraps(recorded_pool, value, seen); break;
                case 2: recorded_pool.checkpoint().value(); break;
                default: larger_wrap(recorded_pool, value, seen);
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
