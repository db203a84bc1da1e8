#include <crash/record/second_mapping.hpp>

#include <sys/mman.h>

#include <cinttypes>
#include <cstdint>
#include <cstdio>
#include <fstream>
#include <string>
#include <tuple>

namespace holdfast::crash {
namespace {

/// A line of /proc/self/maps.
struct region {
    std::uint64_t begin = 0, end = 0, offset = 0, inode = 0;
    unsigned major = 0, minor = 0;
    char permissions[5] = {};

    bool parse(const std::string& line) {
        return std::sscanf(line.c_str(), "%" SCNx64 "-%" SCNx64 " %4s %" SCNx64 " %x:%x %" SCNu64, &begin, &end,
                           permissions, &offset, &major, &minor, &inode) == 7;
    }
    bool is_shared() const { return permissions[3] == 's'; }
    bool continues(const region& before) const {
        return begin == before.end && std::tie(major, minor, inode) ==
                                          std::tie(before.major, before.minor, before.inode) &&
               offset == before.offset + (before.end - before.begin);
    }
};

bool is_one_shared_stretch(std::uint64_t begin, std::uint64_t end) {
    std::ifstream regions("/proc/self/maps");
    region last;
    for (std::string line; std::getline(regions, line);) {
        region each;
        if (!each.parse(line) || each.end <= begin) continue;
        if (!each.is_shared() || (last.end == 0 ? each.begin > begin : !each.continues(last))) return false;
        if (each.end >= end) return true;
        last = each;
    }
    return false;
}

}  // namespace

second_mapping::second_mapping(std::span<std::byte> first) : first_(first) {
    const auto begin = reinterpret_cast<std::uintptr_t>(first.data());
    if (!is_one_shared_stretch(begin, begin + first.size())) return;
    // An old size of 0 leaves a shared mapping where it is and makes another one.
    void* second = ::mremap(first.data(), 0, first.size(), MREMAP_MAYMOVE);
    if (second != MAP_FAILED) second_ = static_cast<std::byte*>(second);
}

second_mapping::~second_mapping() {
    if (second_ != nullptr) ::munmap(second_, first_.size());
}

}  // namespace holdfast::crash
