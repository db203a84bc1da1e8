// The guest program for workload/btree.hpp.
#include <sim/guest/map_program.hpp>
#include <workload/btree.hpp>

namespace {

struct btree_structure {
    using root = holdfast::workload::btree_root;
    template <class Access>
    using map = holdfast::workload::btree<Access>;

    static constexpr const char* name = "btree";
    // Leaves between half full and full, and an inner node for every dozen of them.
    static constexpr std::uint64_t bytes_per_entry = sizeof(holdfast::workload::btree_node) / 11;

    template <class Map>
    static void create(const Map&, std::uint64_t) noexcept {}
};

}  // namespace

int main(int count, char** arguments) { return holdfast::guest::run_map_program<btree_structure>(count, arguments); }
