// What subjects share whose pool is an ordinary file, opened as a program opens it.
#pragma once

#include <crash/cut/lazy_memory.hpp>

#include <holdfast/persist/file.hpp>
#include <holdfast/pool/open_pool.hpp>
#include <holdfast/pool/stand_ins.hpp>

#include <unistd.h>

#include <cstddef>
#include <cstdlib>
#include <cstring>
#include <string>
#include <vector>

namespace holdfast::crash {

/// A cut that only a power failure explains is followed by another boot, which has another number. Images count as the
/// file they are of.
inline void set_boot(unsigned number) {
    static std::string name;
    name = "boot " + std::to_string(number);
    stand_ins_now = {name.c_str(), 1, medium_distance, true};
}

/// Where images lie that are opened by name.
inline std::string path_of_images() { return "/dev/shm/holdfast-crash-image-" + std::to_string(::getpid()); }

/// The first `size` bytes of the pool's file, which is not what is mapped: stores have not reached it.
inline std::vector<std::byte> file_now(open_pool& pool, std::size_t size) {
    std::vector<std::byte> bytes(size);
    auto file = persist::mapping::map(pool.backing_file(), 0, size, size, persist::mapping::kind::read_only).value();
    std::memcpy(bytes.data(), file.data(), size);
    return bytes;
}

}  // namespace holdfast::crash
