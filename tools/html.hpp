// Text inside HTML and SVG.
#pragma once

#include <string>
#include <string_view>

namespace holdfast::tools {

/// The text with the characters replaced that mean something in HTML, also inside quotes of either kind.
inline std::string escaped(std::string_view text) {
    std::string made;
    for (const char each : text) {
        switch (each) {
            case '&': made += "&amp;"; break;
            case '<': made += "&lt;"; break;
            case '>': made += "&gt;"; break;
            case '"': made += "&quot;"; break;
            case '\'': made += "&#39;"; break;
            default: made += each;
        }
    }
    return made;
}

}  // namespace holdfast::tools
