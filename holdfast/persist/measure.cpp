#include <holdfast/persist/measure.hpp>

#include <holdfast/persist/file.hpp>
#include <holdfast/persist/record_way.hpp>
#include <holdfast/persist/seam.hpp>
#include <holdfast/persist/sites.hpp>

#include <algorithm>
#include <array>
#include <chrono>
#include <cstring>
#include <vector>

namespace holdfast::persist {
namespace {

using clock = std::chrono::steady_clock;

constexpr std::uint64_t ring_bytes = 4u << 20;
constexpr std::size_t repetitions_max = 9;
constexpr std::uint64_t sync_file_bytes = 1u << 20;

double ns_between(clock::time_point begin, clock::time_point end) {
    return std::chrono::duration<double, std::nano>(end - begin).count();
}

measured_cost summarize(std::vector<double> values_ns) {
    std::sort(values_ns.begin(), values_ns.end());
    return {values_ns[values_ns.size() / 2], values_ns.front(), values_ns.back(), static_cast<int>(values_ns.size())};
}

/// `operation(i)` for i = 0, 1, … through `repetitions_max` repetitions of about 1 ms, after one to warm up.
template <class Operation>
measured_cost time_in_memory(Operation operation) {
    constexpr std::uint64_t operations = 4096;
    std::vector<double> values_ns;
    std::uint64_t i = 0;
    for (std::size_t repetition = 0; repetition <= repetitions_max; ++repetition) {
        const auto begin = clock::now();
        for (std::uint64_t end = i + operations; i < end; ++i) operation(i);
        const double passed_ns = ns_between(begin, clock::now());
        if (repetition > 0) values_ns.push_back(passed_ns / static_cast<double>(operations));
    }
    return summarize(std::move(values_ns));
}

/// `operation(i)`, which asks the device, one at a time or as many as fit into 10 ms, for at most
/// 110 ms, but once at least.
template <class Operation>
result<measured_cost> time_on_device(Operation operation) {
    constexpr double repetition_ns_max = 10e6;
    constexpr double total_ns_max = 110e6;
    std::vector<double> values_ns;
    std::uint64_t i = 0;
    const auto start = clock::now();
    while (values_ns.empty() ||
           (values_ns.size() < repetitions_max && ns_between(start, clock::now()) < total_ns_max)) {
        const auto begin = clock::now();
        int operations = 0;
        double passed_ns = 0;
        do {
            if (auto done = operation(i++); !done) return done.error();
            ++operations;
            passed_ns = ns_between(begin, clock::now());
        } while (passed_ns < repetition_ns_max);
        values_ns.push_back(passed_ns / operations);
    }
    return summarize(std::move(values_ns));
}

void measure_lines(std::byte* ring, const line_path& path, measured_costs& costs) {
    const auto store_line = [&](std::uint64_t line, std::uint64_t value) {
        auto* home = ring + line * line_bytes % ring_bytes;
        store_word(reinterpret_cast<std::uint64_t*>(home), value, 0xFF, site::measure);
        write_back(path, home, 8, site::measure);
    };
    alignas(line_bytes) std::array<std::uint64_t, 32> record{};
    const auto append = [&](std::uint64_t i, std::size_t bytes) {
        record[0] = i;
        stream(path, ring + i * bytes % ring_bytes, record.data(), bytes, site::measure);
        fence(path, site::measure);
    };
    costs.fence = time_in_memory([&](std::uint64_t) { fence(path, site::measure); });
    costs.line = time_in_memory([&](std::uint64_t i) {
        store_line(i, i);
        fence(path, site::measure);
    });
    costs.lines8 = time_in_memory([&](std::uint64_t i) {
        for (std::uint64_t line = 8 * i; line < 8 * i + 8; ++line) store_line(line, i);
        fence(path, site::measure);
    });
    costs.append64 = time_in_memory([&](std::uint64_t i) { append(i, 64); });
    costs.append256 = time_in_memory([&](std::uint64_t i) { append(i, 256); });
    costs.streamed_from_bytes = choose_streamed_from(record_way::measured, path, {ring, ring_bytes});
}

result<void> measure_syncs(file& scratch, measured_costs& costs) {
    // Written and not only allocated: the first write to an allocated block changes metadata.
    std::vector<std::byte> page(sync_file_bytes);
    if (auto filled = scratch.write_at(0, page.data(), page.size(), site::measure); !filled) return filled.error();
    if (auto synced = scratch.sync(site::measure); !synced) return synced.error();
    page.resize(4096);

    const auto sync = time_on_device([&](std::uint64_t i) -> result<void> {
        std::memcpy(page.data(), &i, sizeof i);
        if (auto written = scratch.write_at(i * 4096 % sync_file_bytes, page.data(), 4096, site::measure); !written)
            return written.error();
        return scratch.sync(site::measure);
    });
    if (!sync) return sync.error();
    costs.sync = *sync;

    const auto durable = time_on_device([&](std::uint64_t i) -> result<void> {
        std::memcpy(page.data(), &i, sizeof i);
        const iovec piece{page.data(), 64};
        return scratch.write_durable(i * 64 % sync_file_bytes, {&piece, 1}, site::measure);
    });
    if (!durable) return durable.error();
    costs.durable64 = *durable;
    return {};
}

}  // namespace

result<measured_costs> measure(const std::string& directory, const storage& on) {
    measured_costs costs;
    auto scratch = file::create_unnamed(directory);
    if (!scratch) return scratch.error();
    // Before the mapping exists: a sync of a file with dirty mapped pages would write those as well.
    if (auto measured = measure_syncs(*scratch, costs); !measured) return measured.error();

    if (auto allocated = scratch->allocate(ring_bytes); !allocated) return allocated.error();
    const auto how = on.kind == medium::dax ? mapping::kind::shared_sync : mapping::kind::shared;
    auto ring = mapping::map(*scratch, 0, ring_bytes, ring_bytes, how);
    if (!ring) return ring.error();
    if (auto populated = ring->populate(); !populated) return populated.error();
    measure_lines(ring->data(), on.lines(0), costs);
    return costs;
}

}  // namespace holdfast::persist
