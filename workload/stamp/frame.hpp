// What the STAMP programs have in common: C. Cao Minh, J. Chung, C. Kozyrakis, K. Olukotun, "STAMP: Stanford
// Transactional Applications for Multi-Processing", IISWC 2008. They are written anew from that description.
//
// A program is a class template over Access. P<Access> has:
//
//   using root_type              where its shared data begin; all zero: there are none
//   P(Access, root_type*, given) makes its input, private, from the seed in its parameters
//   bool begin(threads)          makes the shared data of a run. Outside a transaction, one thread. False when a
//                                transaction failed
//   void work(Thread& me)        the run on each thread, which `me` is (stamp_thread): what is measured
//   check_report check()         whether the result is right, without trusting the code under test; `count` says of
//                                how many things. After the work of all threads, one thread
//   std::uint64_t hash()         of the result: with one thread the same in every form
//   bool end()                   takes the shared data away: the root is all zero. False when a transaction failed
//
// and what another process needs that has the shared data after this one died:
//
//   check_report look()          whether they are sound, in the middle of a run too; while no thread works
//   bool resume(threads)         instead of begin, when the process died in work() or resume(): makes this one's
//                                private data, so that work() finishes the run. As many threads as begin had. False
//                                when a transaction failed
//
// and, if what it does depends on how threads are interleaved, `std::uint64_t units()`, how many pieces of work the
// last run had, and `static constexpr const char* unit`, what one is called. It can run any number of times.
//
// The shared data are all that is reached from the root, and only Access is used on them: in the persistent forms they
// are in a pool. What is private, and why, stands at the head of each program, and what it does when it resumes. When
// the process died in begin() or end(), end() takes away what is there; whether begin() had returned is to be kept
// beside the root. Where memory outlives the process, programs may keep notes of how far they are (notes.hpp), stored
// by the transactions of the work: their number stays the same.
//
// Inputs are in no file: a program makes its own once, for all of its runs. That takes at most 0.02 s for the sets
// small and +; for ++ it takes 1.3 s in yada, 1.0 s in intruder and ssca2, 0.5 s in genome, 0.3 s in bayes, which also
// counts its records then, and less in the others. A run takes 4.0, 201, 1.2, 2.9 and 0.2 s, from begin to end (one
// thread, ordinary memory). To read an input from a file, of up to 600 MB, and compare a checksum would take 0.1 to
// 0.6 s if the file is in memory still. The ten seconds of vacation's larger tables are not for input: those are shared
// data, which transactions make. inputs_test.hpp has a checksum of each input: figures of different times are of the
// same work.
#pragma once

#include <workload/access.hpp>

namespace holdfast::workload {

/// Numbers from `first` to before `last`.
struct stamp_part {
    std::uint64_t first;
    std::uint64_t last;
};

/// f(i) for all of `numbers` in turn, `at_once` of them in each transaction. False when one failed.
template <access Access, class F>
bool each_few(const Access& memory, stamp_part numbers, std::uint64_t at_once, F&& f) {
    bool good = true;
    for (std::uint64_t first = numbers.first; good && first < numbers.last; first += at_once)
        good = memory.atomically([&] {
            for (std::uint64_t i = first; i < first + at_once && i < numbers.last; ++i) f(i);
        });
    return good;
}

/// One thread of a run, made by whoever starts it. A `Barrier` has arrive_and_wait(), as std::barrier has.
///
/// A transaction that fails, for want of room, is not forgotten: the run is worth nothing, and the thread still goes to
/// all barriers, so that no other waits for it.
template <class Barrier>
class stamp_thread {
public:
    /// Requires: number < threads; `all` is for as many.
    stamp_thread(std::uint64_t number, std::uint64_t threads, Barrier& all) noexcept
        : number_(number), threads_(threads), all_(&all) {}

    std::uint64_t number() const noexcept { return number_; }
    std::uint64_t threads() const noexcept { return threads_; }

    /// Waits until all threads have come here.
    void wait() { all_->arrive_and_wait(); }

    /// This thread's share of `count` things that lie in a row.
    stamp_part part_of(std::uint64_t count) const noexcept {
        return {count * number_ / threads_, count * (number_ + 1) / threads_};
    }

    /// f() as one transaction. True when it committed.
    template <access Access, class F>
    bool atomically(const Access& memory, F&& f) {
        const bool committed = memory.atomically(f);
        transactions_ += committed ? 1u : 0u;
        failed_ = failed_ || !committed;
        return committed;
    }

    /// How many committed.
    std::uint64_t transactions() const noexcept { return transactions_; }
    bool failed() const noexcept { return failed_; }

private:
    std::uint64_t number_;
    std::uint64_t threads_;
    Barrier* all_;
    std::uint64_t transactions_ = 0;
    bool failed_ = false;
};

/// The parameters of a program under their usual names. `Parameters` has `template <class Access> using program`.
template <class Parameters>
struct stamp_set {
    const char* name;  ///< kmeans-low
    const char* size;  ///< small, + or ++
    Parameters parameters;
};

/// A number that depends on every number given to it, and on their order.
class stamp_hash {
public:
    constexpr void add(std::uint64_t number) noexcept {
        value_ = (value_ ^ number) * 0x9FB21C651E98DF25ull;
        value_ ^= value_ >> 32;
    }
    constexpr std::uint64_t value() const noexcept { return value_; }

private:
    std::uint64_t value_ = 0xCBF29CE484222325ull;
};

}  // namespace holdfast::workload
