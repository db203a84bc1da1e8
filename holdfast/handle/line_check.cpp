#include <holdfast/handle/line_check.hpp>

#include <holdfast/format/line_copies.hpp>
#include <holdfast/format/log_record.hpp>

#include <charconv>
#include <cstddef>
#include <cstring>
#include <string_view>

namespace holdfast {
namespace {

/// What a root's kept version says of its elements: "line<31> …" or "lines<192> …".
struct kind_of_element {
    bool many_lines = false;
    std::uint64_t object_bytes = 0;
    std::uint64_t element_bytes = 0;
};

std::optional<kind_of_element> kind_of(std::string_view version) {
    kind_of_element kind;
    constexpr std::string_view one = "line<", many = "lines<";
    kind.many_lines = version.starts_with(many);
    if (!kind.many_lines && !version.starts_with(one)) return std::nullopt;
    version.remove_prefix(kind.many_lines ? many.size() : one.size());
    const auto end = version.find('>');
    if (end == version.npos) return std::nullopt;
    const auto parsed = std::from_chars(version.data(), version.data() + end, kind.object_bytes);
    if (parsed.ec != std::errc{} || parsed.ptr != version.data() + end) return std::nullopt;
    if (kind.object_bytes == 0 || kind.object_bytes > format::offset_mask) return std::nullopt;
    kind.element_bytes = format::cache_line_bytes;
    if (kind.many_lines) kind.element_bytes *= 2 * format::lines_of_copy(kind.object_bytes);
    return kind;
}

bool is_whole(const std::byte* copy, std::uint64_t lines) {
    format::copy_header header;
    std::memcpy(&header, copy, sizeof header);
    std::uint64_t sum = format::sum_of_sequence(header.sequence);
    for (std::uint64_t i = 0; i < lines; ++i) {
        std::uint64_t words[8];
        std::memcpy(words, copy + i * sizeof words, sizeof words);
        if (i == 0) words[0] = words[1] = 0;
        sum += format::sum_of_line(words, i);
    }
    return header.sequence != 0 && sum == header.sum;
}

std::optional<std::string> problem_of(const std::byte* element, const kind_of_element& kind) {
    if (!kind.many_lines) {
        const auto index = std::to_integer<unsigned>(element[format::line_index_offset]);
        if (index == 0 || index == format::half_line_bytes) return {};
        return "index: expected 0 or 32, found " + std::to_string(index);
    }
    const std::uint64_t lines = format::lines_of_copy(kind.object_bytes);
    if (is_whole(element, lines) || is_whole(element + lines * format::cache_line_bytes, lines)) return {};
    return "expected a copy with a right sum, found none";
}

}  // namespace

contents_finding check_lines(const open_pool& pool, const std::vector<root_listing>& roots) {
    contents_finding finding{"lines", {}, {}, {}};
    std::uint64_t elements = 0;
    for (const root_listing& root : roots) {
        const auto kind = kind_of(root.version);
        if (!kind || root.bytes % kind->element_bytes != 0) {
            finding.problem = "root \"" + root.name + "\": expected lines, found version \"" + root.version + "\", " +
                              std::to_string(root.bytes) + " bytes";
            return finding;
        }
        finding.owned.push_back(pool.base() + root.offset);
        for (std::uint64_t at = 0; at < root.bytes; at += kind->element_bytes) {
            if (const auto problem = problem_of(pool.base() + root.offset + at, *kind)) {
                finding.problem = "root \"" + root.name + "\", element " + std::to_string(at / kind->element_bytes) +
                                  " at offset " + std::to_string(root.offset + at) + ": " + *problem;
                return finding;
            }
            ++elements;
        }
    }
    finding.words = std::to_string(elements) + " objects in " + std::to_string(roots.size()) + " roots";
    return finding;
}

}  // namespace holdfast
