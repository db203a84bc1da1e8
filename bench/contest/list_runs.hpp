// Suite dnv-list in the programs that run it: a circular, doubly linked list, whatever its transactions are.
// Source: DNV Memory, section 5.3, Figures 5 to 8.
#pragma once

#include <bench/contest/cpu_clock.hpp>
#include <bench/contest/serve.hpp>

#include <workload/random.hpp>

#include <algorithm>
#include <cstdint>
#include <string>
#include <utility>
#include <vector>

namespace holdfast::bench {

struct list_job {
    std::uint64_t elements = 0;
    std::uint64_t bytes = 0;  ///< of an element's payload: whole words
};

/// A longer list is linked in random order, so that each step is to memory that no cache has.
inline constexpr std::uint64_t most_ordered_elements = 1'000'000;

/// What a walk through the whole list found.
struct list_report {
    std::uint64_t elements = 0;
    std::uint64_t sum = 0;      ///< of the payloads' first words
    bool links_agree = true;    ///< each element is its next one's previous
    bool payloads_agree = true; ///< all other words of payloads are those of the payload that was given
};

/// Batches on a `List`, each of whose calls is one transaction:
///   push_back(payload), pop_front() -> the payload's first word,
///   read() -> the sum of all first words, write(), which adds one to each,
///   look(payload) -> list_report, and for random order make(payload) -> node and append(node);
///   stored_bytes() -> what it has stored to a pool, if that is known.
///
/// Element number i is pushed with i + writes so far, so that its first word is i + all writes at any time: every pop
/// and every read is compared with what it must find, and after each batch the whole list is. A wrong list ends the
/// program by child_failed.
template <class List>
class list_runs {
public:
    list_runs(List list, const list_job& job)
        : list_(std::move(list)), job_(job), end_(job.elements), payload_(job.bytes / sizeof(std::uint64_t)) {
        for (std::size_t i = 0; i < payload_.size(); ++i) payload_[i] = i * 0x9E3779B97F4A7C15u;
    }

    /// Makes the elements that the batches expect. The list is empty.
    void fill() {
        end_ = 0;
        if (job_.elements <= most_ordered_elements) {
            push(job_.elements);
        } else {
            fill_in_random_order();
        }
        check();
    }

    batch run(const std::string& name, std::uint64_t transactions) {
        timed_parts parts;
        const auto timed = [&](auto&& part) {
            const std::uint64_t before = stored_bytes();
            parts.add(part);
            parts.stored_bytes += stored_bytes() - before;
        };
        if (name == "push_back") {
            in_rounds(transactions, [&](std::uint64_t some) {
                timed([&] { push(some); });
                pop(some);
            });
        } else if (name == "pop_front") {
            in_rounds(transactions, [&](std::uint64_t some) {
                push(some);
                timed([&] { pop(some); });
            });
        } else if (name == "read") {
            timed([&] { read(transactions); });
        } else if (name == "write") {
            timed([&] { write(transactions); });
        } else {
            child_failed("there is no case '" + name + "'");
        }
        check();
        batch done{parts.ns, transactions, costs{}};
        done.spent->medium = parts.spent;
        if constexpr (requires { list_.stored_bytes(); })
            done.seen.push_back({"stored_bytes_per_tx", "B",
                                 static_cast<double>(parts.stored_bytes) / static_cast<double>(transactions)});
        if (name == "read" || name == "write")
            done.seen.push_back({"ns_per_element", "ns",
                                 done.ns / static_cast<double>(transactions) / static_cast<double>(job_.elements)});
        return done;
    }

private:
    std::uint64_t stored_bytes() const {
        if constexpr (requires { list_.stored_bytes(); }) return list_.stored_bytes();
        return 0;
    }

    /// Pushes or pops in a row: few beside the list, whose size they change, and many beside a reading of the clock.
    static constexpr std::uint64_t most_in_a_row = 64;

    struct timed_parts {
        undisturbed_clock clock;
        double ns = 0;
        persist::counters spent;
        std::uint64_t stored_bytes = 0;

        template <class F>
        void add(F&& part) {
            const persist::counters before = persist::thread_counters();
            const double begin_ns = clock.now_ns();
            part();
            ns += clock.now_ns() - begin_ns;
            spent = spent + (persist::thread_counters() - before);
        }
    };

    template <class F>
    static void in_rounds(std::uint64_t transactions, F&& round) {
        for (std::uint64_t left = transactions; left != 0;) {
            const std::uint64_t some = std::min(left, most_in_a_row);
            round(some);
            left -= some;
        }
    }

    void push(std::uint64_t some) {
        for (std::uint64_t i = 0; i < some; ++i) list_.push_back(next_payload());
    }
    void pop(std::uint64_t some) {
        for (std::uint64_t i = 0; i < some; ++i)
            if (list_.pop_front() != begin_++ + writes_) child_failed("the first element is not the oldest one");
    }
    void read(std::uint64_t transactions) {
        const std::uint64_t expected = expected_sum();
        for (std::uint64_t i = 0; i < transactions; ++i)
            if (list_.read() != expected) child_failed("what was read is not what was written");
    }
    void write(std::uint64_t transactions) {
        for (std::uint64_t i = 0; i < transactions; ++i) list_.write();
        writes_ += transactions;
    }

    void fill_in_random_order() {
        std::vector<decltype(list_.make(nullptr))> nodes;
        nodes.reserve(job_.elements);
        while (end_ < job_.elements) nodes.push_back(list_.make(next_payload()));
        workload::random numbers(1);
        for (std::uint64_t left = nodes.size(); left > 1; --left)
            std::swap(nodes[left - 1], nodes[numbers.below(left)]);
        for (const auto& node : nodes) list_.append(node);
    }

    const std::uint64_t* next_payload() {
        payload_[0] = end_++ + writes_;
        return payload_.data();
    }

    std::uint64_t expected_sum() const {
        const std::uint64_t elements = end_ - begin_;
        return (begin_ + end_ - 1) * elements / 2 + writes_ * elements;
    }

    void check() {
        const list_report found = list_.look(payload_.data());
        if (found.elements != end_ - begin_)
            child_failed("the list has " + std::to_string(found.elements) + " elements, expected " +
                         std::to_string(end_ - begin_));
        if (!found.links_agree) child_failed("an element is not its next one's previous");
        if (!found.payloads_agree) child_failed("a payload is not what was pushed");
        if (found.sum != expected_sum()) child_failed("a payload's first word is not what was written");
    }

    List list_;
    list_job job_;
    std::uint64_t begin_ = 0;  ///< number of the oldest element
    std::uint64_t end_;        ///< behind the newest one's
    std::uint64_t writes_ = 0;
    std::vector<std::uint64_t> payload_;
};

}  // namespace holdfast::bench
