// What the command prints: aligned text for people, JSON for machines, errors for both.
#pragma once

#include <holdfast/base/result.hpp>
#include <holdfast/pool/options.hpp>
#include <tools/columns.hpp>

#include <nlohmann/json.hpp>

#include <cstdint>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

namespace holdfast::tools {

/// Keys keep the order in which they were written.
using json = nlohmann::ordered_json;

/// "64 MiB", "1.5 GiB", "812 B".
std::string readable_bytes(std::uint64_t bytes);
/// "155 ns", "2.3 us", "0.15 ms", "1.20 s".
std::string readable_ns(double time_ns);
/// "1,234,567".
std::string readable_count(std::uint64_t count);
/// "0x2000_0000_0000" without the underscores.
std::string hexadecimal(std::uint64_t value);

/// Rows of a name and a value, the values in one column.
class table {
public:
    void add(std::string name, std::string value) { rows_.push_back({std::move(name), std::move(value)}); }
    std::string text() const { return aligned(rows_, 2); }

private:
    std::vector<std::vector<std::string>> rows_;
};

/// Writes to standard output. False when nobody reads it any more (a closed pipe).
/// Throws failure: io for any other reason, such as a full disk.
bool print(std::string_view text);
/// The same for a JSON value, on several lines, bytes that are no UTF-8 replaced.
bool print_json(const json& value);
/// Like print, for one value on one line.
bool print_json_line(const json& value);
/// Empties the buffers; call before exit. Throws failure: io.
void finish_output();

json to_json(const error& reason);
json to_json(const pool_info& info);

/// Both kinds of reader are told; returns the exit status.
int report(const error& reason, bool as_json);

}  // namespace holdfast::tools
