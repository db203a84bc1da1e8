#include "records.hpp"

#include "region_test_support.hpp"

#include <holdfast/persist/seam.hpp>

#include <thread>

namespace holdfast::rig {
namespace {

namespace site {
constexpr persist::site_name rig_record{"rig_record"};
constexpr persist::site_name rig_published{"rig_published"};
}  // namespace site

/// Long enough that most cuts of a control hit the middle of one.
constexpr std::size_t record_words = 32768;
constexpr std::size_t slots = 7;
/// Whole pages of 2 MiB, as a device wants them.
constexpr std::size_t thread_bytes = std::size_t{2} << 20;

/// A thread's part of the region: the number of the record published last, and behind its line the slots.
struct part {
    std::uint64_t published;
    std::uint64_t rest_of_line[7];
    std::uint64_t records[slots][record_words];
};
static_assert(sizeof(part) <= thread_bytes);

enum class order { right, published_first, acknowledged_first };

part& part_of(const mapped_region& region, std::uint64_t thread) {
    return *reinterpret_cast<part*>(region.data() + thread * thread_bytes);
}

const persist::line_path path{};

void store_record(part& into, std::uint64_t seed, std::uint64_t number) {
    std::uint64_t* const record = into.records[number % slots];
    for (std::size_t at = 0; at < record_words; ++at)
        persist::store_word(record + at, stored_word(seed, number, at), 0xFF, site::rig_record);
    persist::write_back(path, record, record_words * sizeof *record, site::rig_record);
    persist::fence(path, site::rig_record);
}

void publish(part& into, std::uint64_t number) {
    persist::store_word(&into.published, number, 0xFF, site::rig_published);
    persist::write_back(path, &into.published, sizeof into.published, site::rig_published);
    persist::fence(path, site::rig_published);
}

template <order In>
void work_as(part& into, std::uint64_t thread, std::uint64_t seed) {
    for (std::uint64_t number = into.published + 1;; ++number) {
        if (In == order::acknowledged_first) acknowledge(thread, number);
        if (In == order::published_first) publish(into, number);
        store_record(into, seed, number);
        if (In != order::published_first) publish(into, number);
        if (In != order::acknowledged_first) acknowledge(thread, number);
    }
}

template <order In>
void work_on_records(const request& of) {
    const mapped_region region(of.path, of.threads * thread_bytes);
    std::vector<std::jthread> others;
    for (std::uint64_t thread = 1; thread < of.threads; ++thread)
        others.emplace_back([&, thread] { work_as<In>(part_of(region, thread), thread, of.seed + thread); });
    work_as<In>(part_of(region, 0), 0, of.seed);
}

/// The published record is whole, and so are those before it, but for the one whose slot the next record takes.
findings verify_records(const request& of) {
    const mapped_region region(of.path, of.threads * thread_bytes);
    findings found;
    for (std::uint64_t thread = 0; thread < of.threads; ++thread) {
        const part& is = part_of(region, thread);
        found.done.push_back(is.published);
        for (std::uint64_t back = 0; back + 1 < slots && back < is.published; ++back) {
            const std::uint64_t number = is.published - back;
            const std::uint64_t* const record = is.records[number % slots];
            std::size_t at = 0;
            while (at < record_words && record[at] == stored_word(of.seed + thread, number, at)) ++at;
            if (at == record_words) continue;
            found.problems.push_back("record " + std::to_string(number) + " of thread " + std::to_string(thread) +
                                     " was published and is torn from byte " + std::to_string(at * 8) + " of " +
                                     std::to_string(record_words * 8));
        }
    }
    return found;
}

}  // namespace

const workload of_records{&work_on_records<order::right>, &verify_records};
const workload of_records_published_first{&work_on_records<order::published_first>, &verify_records};
const workload of_records_acknowledged_first{&work_on_records<order::acknowledged_first>, &verify_records};

}  // namespace holdfast::rig
