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
    return plan_maps<hash_contestant>("hash", wanted, space);
}

}  // namespace holdfast::bench
