// Suite sps: swaps of entries in an array, the least a transaction can do that must not tear.
#include <bench/field.hpp>
#include <bench/pools.hpp>

#include <workload/sps.hpp>

#include <set>
#include <tuple>

namespace holdfast::bench {
namespace {

constexpr std::uint64_t log_bytes_default = 8u << 20;

/// On a file each record waits for a sync: small enough that a batch fills the log, large enough that the two
/// syncs of a checkpoint vanish among those of the commits (more than 400 groups of several commits).
std::uint64_t synced_log_bytes(std::uint64_t swaps) { return swaps * (128u << 10); }

template <class Engine>
class sps_contestant final : public contestant {
public:
    sps_contestant(const std::string& path, const setting& where)
        : where_(where),
          pool_(path, where, where.elements * 9 + where.log_bytes + (16u << 20),
                [&](basic_pool<Engine>& filled) { fill(filled); }),
          array_(pool_.access(), pool_.pool().template plain_root<workload::sps_root>("sps").value()) {
        if (where.swaps == 0) fail(errc::misuse, "a transaction of sps has at least one swap");
        for (unsigned i = 0; i < where.threads; ++i) numbers_.emplace_back(1000 + i);
    }

    batch run(const std::string&, std::uint64_t transactions) override {
        return pool_.measure(where_.threads, transactions, [&](unsigned thread, std::uint64_t count) {
            if (!where_.shared_lock) return swap(thread, count);
            if (where_.lock == "combining") return swap_locked(combining_lock_, thread, count);
            swap_locked(lock_, thread, count);
        });
    }

private:
    void fill(basic_pool<Engine>& filled) {
        auto* root = filled.template plain_root<workload::sps_root>("sps").value();
        const workload::sps array(pool_access<Engine>(filled.core()), root);
        // undo_paper logs a line for each word: a batch has to fit into the smallest log.
        if (!array.create(where_.elements, 256)) fail(errc::io, "the array could not be filled");
    }
    void swap(unsigned thread, std::uint64_t count) {
        const std::uint64_t slice = where_.elements / where_.threads;
        auto numbers = numbers_[thread];
        for (std::uint64_t i = 0; i < count; ++i)
            pool_.pool()
                .atomically([&] { array_.swap_random(numbers, where_.swaps, slice * thread, slice); })
                .value();
        numbers_[thread] = numbers;
    }
    template <class Lock>
    void swap_locked(Lock& lock, unsigned thread, std::uint64_t count) {
        const std::uint64_t slice = where_.elements / where_.threads;
        auto numbers = numbers_[thread];
        for (std::uint64_t i = 0; i < count; ++i)
            pool_.pool()
                .atomically(lock, [&] { array_.swap_random(numbers, where_.swaps, slice * thread, slice); })
                .value();
        numbers_[thread] = numbers;
    }

    setting where_;
    bench_pool<Engine> pool_;
    workload::sps<pool_access<Engine>> array_;
    std::vector<workload::random> numbers_;
    std::mutex lock_;
    combining_mutex combining_lock_;
};

struct point {
    const char* level;
    const char* medium;
    std::vector<unsigned> threads;
    std::vector<std::uint64_t> swaps;
    std::vector<std::uint64_t> elements;
};

std::vector<point> points(bool quick) {
    constexpr std::uint64_t small = 100'000, large = 8'000'000;
    if (quick)
        return {{"power", "nvram", {1}, {1, 64}, {small}},
                {"process", "nvram", {1}, {1, 64}, {small}},
                {"process", "tmpfs", {1}, {1}, {small}},
                {"power", "file", {1, 8}, {1}, {small}},
                {"process", "file", {1}, {1}, {small}}};
    return {{"power", "nvram", {1, 2}, {1, 8, 64}, {small, large}},
            {"process", "nvram", {1, 2}, {1, 8, 64}, {small, large}},
            {"process", "tmpfs", {1}, {1, 8, 64}, {small, large}},
            {"power", "file", {1, 8}, {1, 8, 64}, {small}},
            {"power", "file", {1}, {1}, {large}},
            {"process", "file", {1}, {1, 8, 64}, {small, large}}};
}

}  // namespace

std::vector<planned_match> plan_sps(const options& wanted, scratch& space) {
    std::vector<planned_match> plan;
    std::set<std::tuple<std::string, unsigned>> floors;
    for (const auto& at : points(wanted.quick)) {
        for (const auto elements : at.elements) {
            for (const auto threads : at.threads) {
                for (const auto swaps : at.swaps) {
                    field one;
                    one.suite = "sps";
                    one.cases = {"swap"};
                    one.where = {.level = at.level,
                                 .medium = at.medium,
                                 .threads = threads,
                                 .elements = elements,
                                 .swaps = swaps};
                    const bool waits = std::string(at.medium) == "file" && std::string(at.level) == "power";
                    one.where.log_bytes = waits ? synced_log_bytes(swaps) : log_bytes_default;
                    one.where.shared_lock = std::string(at.medium) == "file";
                    if (std::string(at.medium) == "nvram") one.where.delay_ns = wanted.delay_ns;
                    one.with_undo_paper = !wanted.quick;
                    // One floor for all that is measured against it.
                    if (one.where.level == "power")
                        one.floor_is_recorded = floors.emplace(one.where.medium, threads).second;
                    plan.push_back(
                        [one, &wanted, &space] { return make_match<sps_contestant>(one, wanted, space); });
                }
            }
        }
    }
    for (const unsigned threads : wanted.quick ? std::vector<unsigned>{2} : std::vector<unsigned>{2, 8}) {
        field one;
        one.suite = "sps";
        one.cases = {"shared-swap"};
        one.where = {.level = "power", .medium = "nvram", .threads = threads, .elements = 100'000, .swaps = 1};
        one.where.log_bytes = log_bytes_default;
        one.where.delay_ns = wanted.delay_ns;
        one.floor_is_recorded = floors.emplace(one.where.medium, threads).second;
        plan.push_back([one, &wanted, &space] { return make_match_of_locks<sps_contestant>(one, wanted, space); });
    }
    return plan;
}

}  // namespace holdfast::bench
