// Tables as people read them on a terminal.
#pragma once

#include <algorithm>
#include <cstddef>
#include <string>
#include <vector>

namespace holdfast::tools {

/// The rows as lines. Each column is as wide as its widest cell; the first `names` columns, and those from `remarks`
/// on, are to the left, the others to the right. A row may be shorter than others.
/// A table whose rows appear one by one cannot know its widths, and fixes them.
inline std::string aligned(const std::vector<std::vector<std::string>>& rows, std::size_t names,
                           std::size_t remarks = ~std::size_t{0}) {
    std::vector<std::size_t> widths;
    for (const auto& row : rows) {
        widths.resize(std::max(widths.size(), row.size()));
        for (std::size_t i = 0; i < row.size(); ++i) widths[i] = std::max(widths[i], row[i].size());
    }
    std::string text;
    for (const auto& row : rows) {
        std::string line;
        for (std::size_t i = 0; i < row.size(); ++i) {
            const std::string space(widths[i] - row[i].size(), ' ');
            line += (i == 0 ? "" : "  ") + (i < names || i >= remarks ? row[i] + space : space + row[i]);
        }
        line.erase(line.find_last_not_of(' ') + 1);
        text += line + "\n";
    }
    return text;
}

}  // namespace holdfast::tools
