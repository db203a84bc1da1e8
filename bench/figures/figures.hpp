// The figures of one paper, and the page on which those of all papers stand.
#pragma once

#include <bench/contest/record.hpp>

#include <filesystem>
#include <string>
#include <vector>

namespace holdfast::bench {

struct figure {
    std::string file;  ///< empty: there is a table only
    std::string title;
    std::string caption;
    std::string table{};  ///< HTML, below it
};

/// A paper on the page. `introduction` and `table` are HTML.
struct paper_section {
    std::string title;
    std::string introduction;
    std::vector<figure> figures;
    std::string table_title;
    std::string table;
};

/// Each draws its paper's figures into `directory`, which exists, from the records of the suite that repeats it.
/// Errors (failure): invalid_argument, when these are not the records of such a run; io, as draw_svg.
paper_section draw_cltx(const std::vector<record>& records, const std::filesystem::path& directory);
paper_section draw_cc_htm(const std::vector<record>& records, const std::filesystem::path& directory);
paper_section draw_softwrap_lat(const std::vector<record>& records, const std::filesystem::path& directory);
paper_section draw_dnv_memory(const std::vector<record>& records, const std::filesystem::path& directory);
paper_section draw_steal_but_no_force(const std::vector<record>& records, const std::filesystem::path& directory);

}  // namespace holdfast::bench
