// The guest program for workload/rbtree.hpp.
#include <sim/guest/map_program.hpp>
#include <workload/rbtree.hpp>

namespace {

struct rbtree_structure {
    using root = holdfast::workload::rbtree_root;
    template <class Access>
    using map = holdfast::workload::rbtree<Access>;

    static constexpr const char* name = "rbtree";
    static constexpr std::uint64_t bytes_per_entry = sizeof(holdfast::workload::rbtree_node);

    template <class Map>
    static void create(const Map&, std::uint64_t) noexcept {}
};

}  // namespace

int main(int count, char** arguments) { return holdfast::guest::run_map_program<rbtree_structure>(count, arguments); }
