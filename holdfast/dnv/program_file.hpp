// What the file of this program says of its sections and symbols.
#pragma once

#include <holdfast/base/result.hpp>

#include <cstdint>
#include <fstream>
#include <string>
#include <string_view>
#include <vector>

#include <elf.h>

namespace holdfast::dnv {

/// An executable in the format ELF. Only what is asked for is read: with debug information the file is large.
class program_file {
public:
    /// That of this process. Errors: io.
    static result<program_file> open();

    /// Whether the name of a section begins so.
    bool has_section_like(std::string_view beginning);

    /// Calls f(symbol, name) for each symbol that is wanted(symbol).
    template <class Wanted, class F>
    void for_each_symbol(Wanted&& wanted, F&& f) {
        for (const Elf64_Shdr& section : sections_) {
            if (section.sh_type != SHT_SYMTAB || section.sh_link >= sections_.size()) continue;
            const auto symbols = read_all<Elf64_Sym>(section.sh_offset, section.sh_size);
            const auto names = contents_of(sections_[section.sh_link]);
            for (const Elf64_Sym& each : symbols)
                if (wanted(each)) f(each, text(names, each.st_name));
        }
    }

private:
    template <class T>
    std::vector<T> read_all(std::uint64_t offset, std::uint64_t bytes) {
        std::vector<T> all(bytes / sizeof(T));
        file_.clear();
        file_.seekg(static_cast<std::streamoff>(offset));
        file_.read(reinterpret_cast<char*>(all.data()), static_cast<std::streamsize>(all.size() * sizeof(T)));
        if (!file_) all.clear();
        return all;
    }
    std::vector<char> contents_of(const Elf64_Shdr& section) {
        return read_all<char>(section.sh_offset, section.sh_size);
    }
    static std::string text(const std::vector<char>& names, std::uint64_t at);

    std::ifstream file_;
    std::vector<Elf64_Shdr> sections_;
    std::vector<char> section_names_;
};

}  // namespace holdfast::dnv
