// How much memory there is, and in what pages it is mapped.
#include <holdfast/persist/file.hpp>

#include <unistd.h>

#include <algorithm>
#include <fstream>
#include <string>

namespace holdfast::persist {
namespace {

/// The limit in a control group's file; without one, or where it says "max", as much as there can be.
std::uint64_t limit_in(const std::string& path) {
    std::uint64_t bytes = ~std::uint64_t{0};
    std::ifstream(path) >> bytes;
    return bytes == 0 ? ~std::uint64_t{0} : bytes;
}

/// The smallest limit of this process's control group and those that hold it (version 2 of the kernel's interface).
std::uint64_t control_group_limit() {
    std::string line;
    std::ifstream groups("/proc/self/cgroup");
    while (std::getline(groups, line) && line.rfind("0::", 0) != 0) {
    }
    std::uint64_t least = ~std::uint64_t{0};
    if (line.rfind("0::", 0) != 0) return least;
    for (std::string group = line.substr(3);;) {
        least = std::min(least, limit_in("/sys/fs/cgroup" + group + "/memory.max"));
        const auto slash = group.find_last_of('/');
        if (slash == std::string::npos) return least;
        group.resize(slash);
    }
}

}  // namespace

std::uint64_t memory_page_bytes() noexcept {
    static const auto bytes = static_cast<std::uint64_t>(::sysconf(_SC_PAGESIZE));
    return bytes;
}

std::uint64_t memory_bytes() {
    const std::uint64_t machine = static_cast<std::uint64_t>(::sysconf(_SC_PHYS_PAGES)) * memory_page_bytes();
    return std::min(machine, control_group_limit());
}

}  // namespace holdfast::persist
