// Loads a static program: an ELF file for RV64 with one segment of code.
#pragma once

#include <sim/front/code.hpp>
#include <sim/front/address_space.hpp>

#include <cstddef>
#include <span>
#include <string>
#include <vector>

namespace holdfast::sim {

struct program {
    code instructions{};
    std::uint64_t entry = 0;
};

/// Puts the segments into memory and decodes the code. `name` is what problems call the file.
/// Requires: nothing is mapped where the program goes; a problem leaves some of it there.
result<program> load_elf(std::span<const std::byte> file, const std::string& name, address_space& memory);

/// The bytes of a file of the host.
result<std::vector<std::byte>> read_file(const std::string& path);

}  // namespace holdfast::sim
