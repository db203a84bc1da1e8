#include <holdfast/pool/boot.hpp>

#include <cstdlib>
#include <fstream>

namespace holdfast {

std::string current_boot_id() {
    if (const char* given = std::getenv("HOLDFAST_BOOT_ID")) return given;
    std::ifstream file("/proc/sys/kernel/random/boot_id");
    std::string id;
    file >> id;
    return id.substr(0, 36);
}

}  // namespace holdfast
