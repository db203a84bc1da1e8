// Small programs over the queue for the machine of explored_test.hpp, and what must hold in each of their states.
#pragma once

#include <holdfast/htm/blue_red_queue.hpp>
#include <holdfast/htm/explored_test.hpp>

#include <array>
#include <string>

namespace holdfast::htm::test {

/// Writers with transactions, and threads that retire.
struct program_shape {
    unsigned writers;
    unsigned transactions;  ///< of each writer
    std::size_t ring;
    std::uint64_t withdrawn = 0;  ///< a bit for each transaction, those of the first writer first
    unsigned retirers = 1;
};

/// One program, with the queue and what is known of its transactions. All of it are words that the machine puts back.
class queue_program {
public:
    static constexpr std::size_t most_slots = 16;
    static constexpr unsigned most_threads = 8;
    static constexpr unsigned most_transactions = 32;

    explicit queue_program(const program_shape& shape)
        : shape_(shape), queue_({ring_.data(), shape.ring}),
          machine_(this, shape.writers + shape.retirers, [this](unsigned thread) { return next_call(thread); },
                   [this](unsigned thread) { return is_over(thread); }, [this] { look(); }) {}

    machine& run() noexcept { return machine_; }

private:
    enum stage : std::uint64_t { not_begun, in_flight, gone };
    struct transaction {
        std::uint64_t now = not_begun;
        std::uint64_t id = 0;
        std::uint64_t stamp = 0;  ///< 0: none yet
    };
    using queue_type = blue_red_queue<transaction, explored_atomics>;

    std::uint64_t total() const { return std::uint64_t{shape_.writers} * shape_.transactions; }
    bool is_over(unsigned thread) const {
        return thread < shape_.writers ? calls_[thread] == 3 * shape_.transactions : gone_ == total();
    }

    machine::call next_call(unsigned thread) {
        if (thread >= shape_.writers) {
            const bool retired = queue_.try_retire([this](transaction* of) { retire(of); });
            return retired ? machine::call::over : machine::call::turned_away;
        }
        const std::uint64_t which = thread * shape_.transactions + calls_[thread] / 3;
        transaction& own = transactions_[which];
        switch (calls_[thread] % 3) {
        case 0: return start(thread, own);
        case 1: (shape_.withdrawn >> which & 1) != 0 ? withdraw(own) : end(own); break;
        default:
            if ((shape_.withdrawn >> which & 1) == 0) queue_.commit(own.id, &own);
        }
        machine::put(calls_[thread], calls_[thread] + 1);
        return machine::call::over;
    }

    machine::call start(unsigned thread, transaction& own) {
        const std::optional<std::uint64_t> id = queue_.notify_start();
        const bool was_full = was_full_[thread] != 0;
        machine::put(was_full_[thread], 0);
        if (!id) {
            if (!was_full) machine_.fail("a transaction was turned away although there was room");
            return machine::call::turned_away;
        }
        for (const transaction& each : transactions_)
            if (each.now == in_flight && (each.id - *id) % shape_.ring == 0) machine_.fail("a slot in use was drawn");
        machine::put(own.id, *id);
        machine::put(own.now, in_flight);
        machine::put(calls_[thread], calls_[thread] + 1);
        return machine::call::over;
    }
    void end(transaction& own) {
        const std::uint64_t stamp = machine::access([this, &own] {
            machine::put(clock_, clock_ + 1);
            machine::put(own.stamp, clock_);
            return clock_;
        });
        queue_.notify_end(own.id, stamp);
    }
    void withdraw(transaction& own) {
        machine::access([this, &own] {
            machine::put(own.now, gone);
            machine::put(gone_, gone_ + 1);
            return own.id;
        });
        queue_.withdraw(own.id);
    }

    void retire(transaction* of) {
        machine::access([this, of]() -> std::uint64_t {
            if (of == nullptr || of->stamp == 0) {
                machine_.fail("a transaction retired without its payload");
                return 0;
            }
            if (of->now != in_flight) machine_.fail("a transaction retired twice");
            for (const transaction& each : transactions_)
                if (each.now == in_flight && each.stamp != 0 && each.stamp < of->stamp)
                    machine_.fail("a transaction retired before one with a smaller stamp");
            machine::put(of->now, gone);
            machine::put(gone_, gone_ + 1);
            return 0;
        });
    }

    /// After each step.
    void look() {
        for (const transaction& each : transactions_)
            if (each.now == in_flight && each.id < queue_.observed_min()) machine_.fail("TxMin passed an id");
        if (queue_.span() >= shape_.ring)
            for (unsigned each = 0; each < shape_.writers; ++each) machine::put(was_full_[each], 1);
    }

    const program_shape shape_;
    std::array<queue_type::slot, most_slots> ring_;
    queue_type queue_;
    std::array<transaction, most_transactions> transactions_;
    std::array<std::uint64_t, most_threads> calls_{};
    std::array<std::uint64_t, most_threads> was_full_{};  ///< since the call began
    std::uint64_t clock_ = 0;
    std::uint64_t gone_ = 0;
    machine machine_;
};

/// What goes wrong in the first schedule that is wrong; empty: in none.
inline std::string explored(const program_shape& shape, unsigned most_preemptions, std::uint64_t* states = nullptr) {
    queue_program program(shape);
    program.run().explore(most_preemptions);
    if (states != nullptr) *states += program.run().states();
    return program.run().violation();
}
inline std::string run_at_random(program_shape shape, std::uint64_t seed) {
    shape.withdrawn = seed * 0x9E3779B97F4A7C15 & (seed ^ seed * 0xBF58476D1CE4E5B9);
    queue_program program(shape);
    program.run().run_randomly(seed);
    return program.run().violation();
}

}  // namespace holdfast::htm::test
