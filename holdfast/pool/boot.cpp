#include <holdfast/pool/boot.hpp>

#include <holdfast/base/checksum.hpp>
#include <holdfast/pool/stand_ins.hpp>

#include <fstream>

namespace holdfast {

constinit stand_ins stand_ins_now;

std::string current_boot_id() {
    if (stand_ins_now.boot_id != nullptr) return stand_ins_now.boot_id;
    std::ifstream file("/proc/sys/kernel/random/boot_id");
    std::string id;
    file >> id;
    return id.substr(0, 36);
}

std::uint32_t mark_of(const persist::file& file) noexcept {
    if (stand_ins_now.file_mark != 0) return stand_ins_now.file_mark;
    const auto place = file.place();
    if (!place) return 0;
    const std::uint32_t mark = ~crc32c(&*place, sizeof *place, ~0u);
    return mark != 0 ? mark : 1;
}

}  // namespace holdfast
