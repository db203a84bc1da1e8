// Suite btree.
#include <bench/maps.hpp>

#include <workload/btree.hpp>

namespace holdfast::bench {
namespace {

constexpr std::uint64_t btree_bytes_per_element = 64;

template <class Engine>
class btree_contestant final : public map_contestant<Engine, workload::btree_root, workload::btree> {
public:
    btree_contestant(const std::string& path, const setting& where)
        : map_contestant<Engine, workload::btree_root, workload::btree>(path, where, btree_bytes_per_element) {}
};

}  // namespace

std::vector<planned_match> plan_btree(const options& wanted, scratch& space) {
    return plan_maps<btree_contestant>("btree", wanted, space);
}

}  // namespace holdfast::bench
