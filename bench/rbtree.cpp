// Suite rbtree.
#include <bench/maps.hpp>

#include <workload/rbtree.hpp>

namespace holdfast::bench {
namespace {

constexpr std::uint64_t rbtree_bytes_per_element = 128;

template <class Engine>
class rbtree_contestant final : public map_contestant<Engine, workload::rbtree_root, workload::rbtree> {
public:
    rbtree_contestant(const std::string& path, const setting& where)
        : map_contestant<Engine, workload::rbtree_root, workload::rbtree>(path, where, rbtree_bytes_per_element) {}
};

}  // namespace

std::vector<planned_match> plan_rbtree(const options& wanted, scratch& space) {
    return plan_maps<rbtree_contestant>("rbtree", wanted, space);
}

}  // namespace holdfast::bench
