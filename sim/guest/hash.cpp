// The guest program for workload/hash.hpp.
#include <sim/guest/map_program.hpp>
#include <workload/hash.hpp>

namespace {

struct hash_structure {
    using root = holdfast::workload::hash_root;
    template <class Access>
    using map = holdfast::workload::hash_table<Access>;

    static constexpr const char* name = "hash";
    static constexpr std::uint64_t bytes_per_entry = 32 + 8;  // a node as the allocator rounds it, a bucket

    template <class Map>
    static void create(const Map& shard, std::uint64_t entries) noexcept {
        shard.create(entries);
    }
};

}  // namespace

int main(int count, char** arguments) { return holdfast::guest::run_map_program<hash_structure>(count, arguments); }
