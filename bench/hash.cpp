// Suite hash.
#include <bench/maps.hpp>

#include <workload/hash.hpp>

namespace holdfast::bench {
namespace {

constexpr std::uint64_t hash_bytes_per_element = 96;

template <class Engine>
class hash_contestant final : public map_contestant<Engine, workload::hash_root, workload::hash_table> {
public:
    hash_contestant(const std::string& path, const setting& where)
        : map_contestant<Engine, workload::hash_root, workload::hash_table>(path, where, hash_bytes_per_element) {}
};

}  // namespace

std::vector<planned_match> plan_hash(const options& wanted, scratch& space) {
    auto plan = plan_maps<hash_contestant>("hash", wanted, space);
    for (const unsigned threads : wanted.quick ? std::vector<unsigned>{2} : std::vector<unsigned>{2, 8}) {
        field one;
        one.suite = "hash";
        one.cases = {"shared-update"};
        one.where = {.level = "power",
                     .medium = "nvram",
                     .threads = threads,
                     .elements = wanted.quick ? 100'000u : 1'000'000u};
        one.where.log_bytes = 1u << 20;
        one.where.delay_ns = wanted.delay_ns;
        plan.push_back([one, &wanted, &space] { return make_match_of_locks<hash_contestant>(one, wanted, space); });
    }
    return plan;
}

}  // namespace holdfast::bench
