// Mean read latency of mixed traffic under the drain policies, as the table that README.md shows; behind a slash, where
// it is not nothing, how long a write waited on average for a place in the queue, in which time its source stood still.
//
// One random read and one random write in turn, at a fixed rate or, in the last column, as fast as 64 reads in flight
// allow. A pair occupies a bank for 100 + 300 ns, so with 8 banks a pair every 50 ns is all that the DIMM can do.
#include <sim/memory/nvram_controller.hpp>

#include <cstdio>
#include <cstring>

namespace holdfast::sim {

namespace {

struct row_of_table {
    drain_policy policy;
    std::uint32_t high, low;
};

constexpr std::array<row_of_table, 9> rows{{{drain_policy::marks, 48, 40},
                                            {drain_policy::marks, 48, 32},
                                            {drain_policy::marks, 48, 16},
                                            {drain_policy::marks, 48, 0},
                                            {drain_policy::marks, 24, 16},
                                            {drain_policy::marks_block, 48, 16},
                                            {drain_policy::marks_between, 48, 16},
                                            {drain_policy::until_full, 48, 16},
                                            {drain_policy::idle, 48, 16}}};
constexpr std::array<std::uint64_t, 5> pair_every_ns{400, 200, 100, 66, 0};

class traffic {
public:
    explicit traffic(const row_of_table& row, time pair_every) : pair_every_(pair_every) {
        config_.controller.drain = row.policy;
        config_.controller.high_mark = row.high;
        config_.controller.low_mark = row.low;
    }

    struct means {
        double read_ns = 0, write_refused_ns = 0;
    };

    means run(int pairs) {
        port::ports nothing;
        nvram_controller controller(config_, nothing);
        std::array<time, 64> in_flight{};
        time now{};
        line_data into;
        line_write write;
        for (int pair = 0; pair < pairs; ++pair) {
            if (pair_every_ == time{}) now = std::max(now, in_flight[static_cast<std::size_t>(pair) % 64]);
            controller.settle(now);
            in_flight[static_cast<std::size_t>(pair) % 64] = controller.read(any_line(), into, now);
            write.line = any_line();
            // A full queue stops the source.
            now = std::max(now + pair_every_, controller.write(write, {}, now + ps(pair_every_.picoseconds / 2)));
        }
        const controller_counters& counters = controller.counters();
        const auto mean_ns = [pairs](time sum) { return static_cast<double>(sum.picoseconds) / 1000 / pairs; };
        return {mean_ns(counters.read_time), mean_ns(counters.refused_time)};
    }

private:
    address any_line() {
        random_ ^= random_ << 13;
        random_ ^= random_ >> 7;
        random_ ^= random_ << 17;
        return address{config_.map.nvram_begin.value + random_ % (std::uint64_t{1} << 28) / 64 * 64};
    }

    time pair_every_;
    memory_config config_{};
    std::uint64_t random_ = 88172645463325252u;
};

void print_table() {
    std::printf("| drain | high | low |");
    for (const std::uint64_t every : pair_every_ns) {
        if (every == 0) {
            std::printf(" saturated |\n");
        } else {
            std::printf(" %llu %% |", static_cast<unsigned long long>(50 * 100 / every));
        }
    }
    std::printf("|---|---|---|---|---|---|---|---|\n");
    for (const row_of_table& row : rows) {
        const std::string_view name = drain_policy_names[static_cast<std::size_t>(row.policy)];
        const bool has_marks = name.starts_with("marks");
        std::printf("| `%s` | %s | %s |", std::string(name).c_str(), has_marks ? std::to_string(row.high).c_str() : "",
                    has_marks ? std::to_string(row.low).c_str() : "");
        for (const std::uint64_t every : pair_every_ns) {
            const traffic::means means = traffic(row, ns(every)).run(50'000);
            std::printf(" %.0f", means.read_ns);
            if (means.write_refused_ns >= 0.5) std::printf(" / %.0f", means.write_refused_ns);
            std::printf(" |");
        }
        std::printf("\n");
    }
}

}  // namespace

}  // namespace holdfast::sim

int main() { holdfast::sim::print_table(); }
