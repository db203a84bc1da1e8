// The guest program for growing_hash.hpp.
#include <sim/guest/growing_hash.hpp>
#include <sim/guest/map_program.hpp>

namespace {

struct hashmap_structure {
    using root = holdfast::guest::growing_hash_root;
    template <class Access>
    using map = holdfast::guest::growing_hash<Access>;

    static constexpr const char* name = "hashmap";
    static constexpr std::uint64_t bytes_per_entry = 32 + 8;  // an entry as the allocator rounds it, a bucket

    template <class Map>
    static void create(const Map& shard, std::uint64_t entries) noexcept {
        shard.create(entries);
    }
};

}  // namespace

int main(int count, char** arguments) { return holdfast::guest::run_map_program<hashmap_structure>(count, arguments); }
