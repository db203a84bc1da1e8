// Objects in cache lines, without a log. Each thread has a ring of them; transaction n fills the object n mod its size.
#include "lines.hpp"

#include <holdfast/handle/line_pool.hpp>
#include <holdfast/line/line.hpp>
#include <holdfast/line/lines.hpp>

#include <algorithm>
#include <cstddef>
#include <thread>

namespace holdfast::rig {
namespace {

constexpr std::size_t ring_size = 16;

template <std::size_t Words>
struct numbered {
    std::uint64_t number = 0;
    std::uint64_t words[Words] = {};

    void fill(std::uint64_t seed, std::uint64_t with) {
        number = with;
        for (std::size_t at = 0; at < Words; ++at) words[at] = stored_word(seed, with, at);
    }
    bool holds(std::uint64_t seed, std::uint64_t wanted) const {
        numbered right;
        if (wanted != 0) right.fill(seed, wanted);
        return number == right.number && std::equal(words, words + Words, right.words);
    }
};

struct one_line {
    using ring = line_array<numbered<2>, ring_size>;
};
struct many_lines {
    using ring = lines_array<numbered<40>, ring_size>;
};

create_options options() {
    create_options of_pool;
    of_pool.bytes = 4 << 20;
    of_pool.durability = level::power;
    return of_pool;
}

template <class Kind>
std::vector<typename Kind::ring*> rings_of(line_pool& pool, std::uint64_t threads) {
    std::vector<typename Kind::ring*> rings;
    for (std::uint64_t thread = 0; thread < threads; ++thread)
        rings.push_back(pool.root<typename Kind::ring>("thread " + std::to_string(thread)).value());
    return rings;
}

std::uint64_t seed_of(const request& of, std::uint64_t thread) { return of.seed + thread; }

template <class Ring>
std::uint64_t newest_in(const Ring& ring) {
    std::uint64_t newest = 0;
    for (std::size_t at = 0; at < ring_size; ++at) newest = std::max(newest, ring[at]->number);
    return newest;
}

template <class Kind>
void work_on_lines(const request& of) {
    line_pool pool = line_pool::open_or_create(of.path, options()).value();
    const auto rings = rings_of<Kind>(pool, of.threads);
    const auto work_as = [&](std::uint64_t thread) {
        try {
            auto& ring = *rings[thread];
            for (std::uint64_t number = newest_in(ring) + 1;; ++number) {
                ring[number % ring_size].transact([&](auto& now) { now.fill(seed_of(of, thread), number); });
                acknowledge(thread, number);
            }
        } catch (const std::exception& reason) {
            give_up(thread, reason);
        }
    };
    std::vector<std::jthread> others;
    for (std::uint64_t thread = 1; thread < of.threads; ++thread) others.emplace_back(work_as, thread);
    work_as(0);
}

/// The ring holds exactly the last transactions.
template <class Kind>
findings verify_lines(const request& of) {
    findings found;
    found.done.resize(of.threads);
    auto opened = line_pool::open(of.path, options());
    if (!opened && opened.error().code == errc::not_found) return found;
    line_pool pool = std::move(opened).value();
    const auto rings = rings_of<Kind>(pool, of.threads);
    for (std::uint64_t thread = 0; thread < of.threads; ++thread) {
        const std::uint64_t newest = found.done[thread] = newest_in(*rings[thread]);
        for (std::uint64_t back = 0; back < ring_size; ++back) {
            const std::size_t at = (newest + ring_size - back) % ring_size;
            const std::uint64_t wanted = newest > back ? newest - back : 0;
            const auto& is = *(*rings[thread])[at];
            if (!is.holds(seed_of(of, thread), wanted))
                found.problems.push_back("object " + std::to_string(at) + " of thread " + std::to_string(thread) +
                                         " has number " + std::to_string(is.number) + ", expected transaction " +
                                         std::to_string(wanted) + ", whole");
        }
    }
    pool.close().value();
    return found;
}

}  // namespace

const workload of_line{&work_on_lines<one_line>, &verify_lines<one_line>};
const workload of_lines{&work_on_lines<many_lines>, &verify_lines<many_lines>};

}  // namespace holdfast::rig
