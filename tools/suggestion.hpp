// What somebody may have meant who wrote a word that there is not.
#pragma once

#include <CLI/CLI.hpp>

#include <algorithm>
#include <cstddef>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

namespace holdfast::tools {

/// How many letters must be put in, left out, replaced or exchanged with their neighbour to make one of the other.
inline std::size_t distance_between(std::string_view from, std::string_view to) {
    // Rows of the usual table. Row n has what the first n letters of `from` cost, against all beginnings of `to`.
    std::vector<std::size_t> before_last(to.size() + 1), last(to.size() + 1), now(to.size() + 1);
    for (std::size_t column = 0; column <= to.size(); ++column) now[column] = column;
    for (std::size_t row = 1; row <= from.size(); ++row) {
        before_last = std::exchange(last, now);
        now[0] = row;
        for (std::size_t column = 1; column <= to.size(); ++column) {
            const bool same = from[row - 1] == to[column - 1];
            now[column] = std::min({last[column] + 1, now[column - 1] + 1, last[column - 1] + (same ? 0u : 1u)});
            const bool exchanged = row > 1 && column > 1 && from[row - 1] == to[column - 2] &&
                                   from[row - 2] == to[column - 1];
            if (exchanged) now[column] = std::min(now[column], before_last[column - 2] + 1);
        }
    }
    return now[to.size()];
}

/// The name that is nearest to `word`; empty where none is near: a third of the letters may be wrong.
inline std::string nearest_name(std::string_view word, const std::vector<std::string>& names) {
    std::string nearest;
    std::size_t least = std::max<std::size_t>(1, word.size() / 3) + 1;
    for (const std::string& name : names) {
        const std::size_t distance = distance_between(word, name);
        if (distance >= least || distance >= name.size()) continue;
        least = distance;
        nearest = name;
    }
    return nearest;
}

/// "; did you mean "kv"?", or nothing.
inline std::string guess(std::string_view word, const std::vector<std::string>& names) {
    const std::string nearest = nearest_name(word, names);
    return nearest.empty() ? std::string() : "; did you mean \"" + nearest + "\"?";
}

/// Accepts these names alone, lists them in the help, and says which one a wrong word is near to.
inline CLI::Validator one_of(const std::vector<std::string>& names) {
    std::string in_help, in_words;
    for (const std::string& name : names) {
        in_help += (in_help.empty() ? "" : ",") + name;
        in_words += (in_words.empty() ? "" : ", ") + name;
    }
    return CLI::Validator(
        [names, in_words](const std::string& word) -> std::string {
            if (std::find(names.begin(), names.end(), word) != names.end()) return {};
            const std::string meant = guess(word, names);
            return "there is no \"" + word + "\"" + (meant.empty() ? "; there are " + in_words
                                                                   : meant + " There are " + in_words);
        },
        "{" + in_help + "}");
}

}  // namespace holdfast::tools
