// Two threads under one combining_mutex: each has words and a block of its own, and functions that store over the other
// thread's words and then fail. A function hands on when it begins, so that the other thread's comes into its group.
// Recovered in memory. Instrumented.
#pragma once

#include <crash/subjects/slices_subject.hpp>

#include <algorithm>
#include <thread>

namespace holdfast::crash {

template <class Engine>
struct words_bytes_and_block {
    static constexpr std::size_t words = 6;
    typename Engine::template field<std::uint64_t> values[words];
    typename Engine::template field<std::uint8_t> bytes[8];
    typename Engine::template field<const std::uint64_t*> block;

    void add_words(contents& to) const {
        for (const auto& each : values) to.push_back(each.get());
        for (const auto& each : bytes) to.push_back(each.get());
    }
};

template <class Engine>
class combining_subject final : public slices_subject<Engine, words_bytes_and_block<Engine>, 2> {
    using slice = words_bytes_and_block<Engine>;
    using base = slices_subject<Engine, slice, 2>;
    using typename base::pool;
    using base::expected_;
    using base::kind_of;
    using base::root_;
    using base::thread_of;
    enum kind : unsigned { sets, replaces, fails };

public:
    explicit combining_subject(persist::record_way records)
        : base(records, {"set words", "replace the block", "store over all and fail"}) {}
    std::string_view name() const override {
        return base::writes_records_back() ? "combining_written_back" : "combining";
    }

private:
    static void set_words(slice& to, std::uint64_t value) {
        for (auto& each : to.values) each = value;
        // Bytes of a word that the other thread's function may have in the record already, with a mask.
        for (std::size_t i = 0; i < std::size(to.bytes); i += 2) to.bytes[i] = static_cast<std::uint8_t>(value);
    }
    result<void> run_operation(pool& in, combining_mutex& lock, unsigned operation, std::uint64_t value) {
        slice& own = root_->slices[thread_of(operation)];
        return in.atomically(lock, [&]() -> result<void> {
            std::this_thread::yield();
            switch (kind_of(operation)) {
                case sets: set_words(own, value); return {};
                case replaces: base::replace_block(own, value); return {};
                default: break;
            }
            for (slice& each : root_->slices) {
                set_words(each, value);
                each.bytes[1] = static_cast<std::uint8_t>(value);
                base::replace_block(each, value);
            }
            return error{.code = errc::aborted, .what = "it fails as it is to"};
        });
    }

    void prepare(pool& in) override {
        combining_mutex lock;
        for (unsigned operation = 0; operation < base::universe(); ++operation)
            static_cast<void>(run_operation(in, lock, operation, 10 + operation));
    }

    trace record_as(const workload& operations, const model& how, const schedule& order, std::size_t) override {
        pool recorded_pool = base::make_pool(how);
        combining_mutex lock;
        trace recorded = base::record_in(recorded_pool, operations, how, order, [&](std::size_t i) {
            const auto done = run_operation(recorded_pool, lock, operations[i], value_of(i));
            if (done.has_value() == (kind_of(operations[i]) == fails))
                fail(errc::misuse, "a function has the result of another");
        });
        expect(operations);
        recorded_pool.abandon();
        return recorded;
    }

    static std::uint64_t value_of(std::size_t place) { return 100 + place; }

    void expect(const workload& operations) {
        for (std::size_t i = 0; i < operations.size(); ++i) {
            const unsigned thread = thread_of(operations[i]);
            contents next = expected_.last(thread);
            if (kind_of(operations[i]) == sets) {
                std::fill_n(next.begin(), slice::words, value_of(i));
                for (std::size_t byte = slice::words; byte < slice::words + 8; byte += 2) next[byte] = value_of(i);
            }
            if (kind_of(operations[i]) == replaces) next.back() = value_of(i);
            expected_.add(std::move(next), thread);
        }
    }
};

}  // namespace holdfast::crash
