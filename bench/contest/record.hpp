// What a benchmark has to say: records, written as JSON and shown as a table.
#pragma once

#include <cstdint>
#include <string>
#include <string_view>
#include <utility>
#include <variant>
#include <vector>

namespace holdfast::bench {

/// Named parameters in the order they are written.
using parameter = std::variant<std::string, std::uint64_t>;
using parameters = std::vector<std::pair<std::string, parameter>>;

/// One value of one metric of one case, over all repetitions.
struct record {
    std::string suite;
    std::string case_name;
    std::string engine;
    unsigned threads = 1;
    parameters params;
    std::string metric;
    std::string unit;
    double value = 0;
    double min = 0;
    double max = 0;
    unsigned runs = 0;
};

/// Gathers the records of a run.
class report {
public:
    void add(record one) { records_.push_back(std::move(one)); }
    const std::vector<record>& records() const noexcept { return records_; }

    /// Records of other programs, which tables show beside this run's and write_json leaves out.
    void set_external(std::vector<record> all) { external_ = std::move(all); }
    const std::vector<record>& external() const noexcept { return external_; }

    /// Writes all records as a JSON array; whole numbers as JSON integers.
    /// Throws failure (io) when the file cannot be written.
    void write_json(const std::string& path) const;

private:
    std::vector<record> records_;
    std::vector<record> external_;
};

/// Records that write_json wrote.
/// Throws failure: not_found, invalid_argument (not such a file; says where).
std::vector<record> read_records(const std::string& path);

}  // namespace holdfast::bench
