#include <sim/front/elf.hpp>

#include <sim/front/hart.hpp>

#include <algorithm>
#include <cerrno>
#include <cstring>
#include <fstream>

namespace holdfast::sim {
namespace {

// The parts of the ELF-64 header and of a program header that matter, as the specification lays them out.
struct file_header {
    unsigned char magic[4];
    unsigned char word_class;  ///< 2: 64 bits
    unsigned char byte_order;  ///< 1: little-endian
    unsigned char padding[10];
    std::uint16_t type;     ///< 2: at fixed addresses
    std::uint16_t machine;  ///< 243: RISC-V
    std::uint32_t version;
    std::uint64_t entry;
    std::uint64_t program_headers;
    std::uint64_t section_headers;
    std::uint32_t flags;
    std::uint16_t header_bytes;
    std::uint16_t program_header_bytes;
    std::uint16_t program_header_count;
    std::uint16_t unused[3];
};
static_assert(sizeof(file_header) == 64);

struct program_header {
    std::uint32_t type;  ///< 1: to be loaded, 2 and 3: of a program that is linked when it starts
    std::uint32_t flags;
    std::uint64_t offset;
    std::uint64_t address;
    std::uint64_t physical_address;
    std::uint64_t file_bytes;
    std::uint64_t memory_bytes;
    std::uint64_t alignment;
};
static_assert(sizeof(program_header) == 56);

enum segment_flag : std::uint32_t { segment_executable = 1, segment_writable = 2 };

/// One file on its way into memory.
class elf_loader {
public:
    elf_loader(std::span<const std::byte> file, const std::string& name, address_space& memory) noexcept
        : file_(file), name_(name), memory_(memory) {}

    result<program> load() {
        if (auto checked = check_header(); !checked) return checked.problem();
        for (unsigned i = 0; i < header_.program_header_count; ++i) {
            program_header segment{};
            const std::uint64_t at = header_.program_headers + i * sizeof(segment);
            if (!copy_at(at, segment)) return bad("a program header", "the end of the file at " + hexadecimal(at));
            if (segment.type == 2 || segment.type == 3) return bad("a static program", "one that asks for libraries");
            if (segment.type != 1 || segment.memory_bytes == 0) continue;
            if (auto loaded = load_segment(segment); !loaded) return loaded.problem();
        }
        if (loaded_.instructions.size() == 0) return bad("a segment of code", "none");
        if (loaded_.instructions.at(header_.entry) == nullptr) {
            return bad("an entry in the code", hexadecimal(header_.entry));
        }
        loaded_.entry = header_.entry;
        return std::move(loaded_);
    }

private:
    template <class T>
    bool copy_at(std::uint64_t offset, T& to) const noexcept {
        if (offset > file_.size() || file_.size() - offset < sizeof to) return false;
        std::memcpy(&to, file_.data() + offset, sizeof to);
        return true;
    }

    sim::problem bad(std::string expected, std::string found) const {
        return {"bad ELF", name_, std::move(expected), std::move(found)};
    }

    result<bool> check_header() {
        if (!copy_at(0, header_) || std::memcmp(header_.magic, "\177ELF", 4) != 0) {
            return bad("a file that begins with an ELF header", "something else");
        }
        if (header_.word_class != 2 || header_.byte_order != 1) return bad("64 bits, little-endian", "another layout");
        if (header_.machine != 243) return bad("machine 243, RISC-V", "machine " + std::to_string(header_.machine));
        if (header_.type != 2) return bad("a program at fixed addresses", "type " + std::to_string(header_.type));
        if (header_.program_header_bytes != sizeof(program_header)) {
            return bad("program headers of 56 bytes", std::to_string(header_.program_header_bytes));
        }
        return true;
    }

    result<bool> load_segment(const program_header& segment) {
        if (segment.offset > file_.size() || file_.size() - segment.offset < segment.file_bytes ||
            segment.file_bytes > segment.memory_bytes) {
            return bad("a segment within the file", hexadecimal(segment.file_bytes) + " bytes at " +
                                                        hexadecimal(segment.offset));
        }
        const bool is_code = (segment.flags & segment_executable) != 0;
        const bool is_writable = (segment.flags & segment_writable) != 0;
        if (is_code && is_writable) return bad("code that does not change", "a segment writable and executable");
        if (is_code && loaded_.instructions.size() != 0) return bad("one segment of code", "several");
        if (is_code && segment.address % 2 != 0) return bad("code at an even address", hexadecimal(segment.address));
        if (!memory_.is_free(segment.address, segment.memory_bytes)) {
            return bad("segments on free pages of " + std::to_string(address_space::page_bytes) + " bytes",
                       "one at " + hexadecimal(segment.address));
        }
        const auto allowed = static_cast<permission>(readable | (is_code ? executable : no_access) |
                                                     (is_writable ? writable : no_access));
        if (auto mapped = memory_.map(segment.address, segment.memory_bytes, allowed); !mapped) return mapped.problem();
        const auto bytes = file_.subspan(segment.offset, segment.file_bytes);
        const auto place = memory_.find_range(segment.address, segment.memory_bytes, readable);
        std::copy(bytes.begin(), bytes.end(), place.begin());
        if (is_code) loaded_.instructions = code(segment.address, bytes);
        return true;
    }

    std::span<const std::byte> file_;
    const std::string& name_;
    address_space& memory_;
    file_header header_{};
    program loaded_{};
};

}  // namespace

result<program> load_elf(std::span<const std::byte> file, const std::string& name, address_space& memory) {
    return elf_loader(file, name, memory).load();
}

result<std::vector<std::byte>> read_file(const std::string& path) {
    std::ifstream file(path, std::ios::binary);
    std::vector<char> bytes{std::istreambuf_iterator<char>(file), std::istreambuf_iterator<char>()};
    if (!file.is_open() || file.bad()) return problem{"cannot read", path, {}, std::strerror(errno)};
    std::vector<std::byte> copied(bytes.size());
    std::transform(bytes.begin(), bytes.end(), copied.begin(), [](char byte) { return static_cast<std::byte>(byte); });
    return copied;
}

}  // namespace holdfast::sim
