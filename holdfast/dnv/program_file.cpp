#include <holdfast/dnv/program_file.hpp>

#include <algorithm>
#include <cstring>

namespace holdfast::dnv {

result<program_file> program_file::open() {
    constexpr const char* path = "/proc/self/exe";
    program_file made;
    made.file_.open(path, std::ios::binary);
    const auto headers = made.read_all<Elf64_Ehdr>(0, sizeof(Elf64_Ehdr));
    if (headers.empty() || std::memcmp(headers[0].e_ident, ELFMAG, SELFMAG) != 0)
        return error{.code = errc::io, .what = "the program's own file cannot be read", .path = path};
    const Elf64_Ehdr& header = headers[0];
    made.sections_ = made.read_all<Elf64_Shdr>(header.e_shoff, std::uint64_t{header.e_shnum} * sizeof(Elf64_Shdr));
    if (header.e_shstrndx < made.sections_.size())
        made.section_names_ = made.contents_of(made.sections_[header.e_shstrndx]);
    return made;
}

bool program_file::has_section_like(std::string_view beginning) {
    return std::ranges::any_of(sections_, [&](const Elf64_Shdr& each) {
        return text(section_names_, each.sh_name).starts_with(beginning);
    });
}

std::string program_file::text(const std::vector<char>& names, std::uint64_t at) {
    const auto begin = names.begin() + static_cast<std::ptrdiff_t>(std::min<std::uint64_t>(at, names.size()));
    return std::string(begin, std::find(begin, names.end(), '\0'));
}

}  // namespace holdfast::dnv
