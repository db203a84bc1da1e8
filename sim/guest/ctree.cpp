// The guest program for crit_bit_tree.hpp.
#include <sim/guest/crit_bit_tree.hpp>
#include <sim/guest/map_program.hpp>

namespace {

struct ctree_structure {
    using root = holdfast::guest::crit_bit_root;
    template <class Access>
    using map = holdfast::guest::crit_bit_tree<Access>;

    static constexpr const char* name = "ctree";
    static constexpr std::uint64_t bytes_per_entry = 16 + 32;  // a leaf and a node, as the allocator rounds them

    template <class Map>
    static void create(const Map&, std::uint64_t) noexcept {}
};

}  // namespace

int main(int count, char** arguments) { return holdfast::guest::run_map_program<ctree_structure>(count, arguments); }
