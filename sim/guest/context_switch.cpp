// Several software threads on each hart, which is changed between them in the middle of their transactions: a scheduler
// that saves the transaction register of the thread that it leaves, and restores that of the next one.
#include <sim/guest/context_switch.hpp>
#include <sim/guest/lock.hpp>
#include <sim/guest/operations.hpp>
#include <sim/guest/parameters.hpp>
#include <sim/guest/threads.hpp>
#include <workload/random.hpp>

namespace holdfast::guest {
namespace {

/// A thread without a stack: what it does between two changes is one step.
struct software_thread {
    std::uint64_t saved = 0;  ///< its transaction register while it does not run
    std::uint32_t number = 0;
    std::uint32_t stores = 0;  ///< of the transaction that is open
    std::uint64_t transactions = 0;

    std::uint64_t& word(std::uint32_t which) const noexcept {
        return *reinterpret_cast<std::uint64_t*>(sim::word_of_thread(number, which).value);
    }
    /// All threads give their transactions the same id: hardware has to tell them apart.
    void step() noexcept {
        if (stores == 0) begin_transaction(1);
        word(stores) = transactions + 1;
        if (++stores < sim::words_of_a_thread) return;
        commit_transaction();
        stores = 0;
        ++transactions;
    }
    bool is_right() const noexcept {
        for (std::uint32_t which = 0; which < sim::words_of_a_thread; ++which)
            if (word(which) != transactions) return false;
        return true;
    }
};

class program {
public:
    explicit program(const parameters& given) noexcept : given_(given), all_there_(given.threads) {
        const std::uint32_t threads = given.threads * sim::threads_of_a_hart;
        map_memory(sim::arena_begin.value, threads * sim::words_of_a_thread * sim::line_bytes);
        for (std::uint32_t i = 0; i < threads; ++i) threads_[i].number = i;
    }

    void work_as(std::uint32_t hart) noexcept {
        all_there_.arrive_and_wait();
        if (hart == 0) begin_region_of_interest();
        software_thread* const mine = threads_ + hart * sim::threads_of_a_hart;
        workload::random numbers(given_.seed * most_threads + hart);
        std::uint64_t left = given_.operations / given_.threads;
        while (left > 0) {
            const std::uint64_t before = mine[0].transactions + mine[1].transactions;
            run(mine[numbers.below(sim::threads_of_a_hart)]);
            left -= mine[0].transactions + mine[1].transactions - before;
        }
        for (std::uint32_t i = 0; i < sim::threads_of_a_hart; ++i)
            while (mine[i].stores != 0) run(mine[i]);
        all_there_.arrive_and_wait();
        if (hart == 0) end_region_of_interest();
    }

    int verify() const noexcept {
        std::uint64_t transactions = 0;
        for (std::uint32_t i = 0; i < given_.threads * sim::threads_of_a_hart; ++i) {
            if (!threads_[i].is_right()) {
                write_line("failed: ", "a word has another transaction's value");
                return 1;
            }
            transactions += threads_[i].transactions;
        }
        line().add("context_switch verified: ").add_decimal(transactions).add(" transactions").write();
        return 0;
    }

private:
    static void run(software_thread& next) noexcept {
        restore_transaction(next.saved);
        next.step();
        save_transaction(&next.saved);
    }

    parameters given_;
    software_thread threads_[most_threads * sim::threads_of_a_hart]{};
    barrier all_there_;
};

}  // namespace
}  // namespace holdfast::guest

int main(int count, char** arguments) {
    using namespace holdfast::guest;
    const parameters given = read_parameters(count, arguments);
    static program all(given);
    auto work = [](std::uint32_t hart) { all.work_as(hart); };
    run_threads(given.threads, work);
    return all.verify();
}
