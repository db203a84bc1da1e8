#include <bench/record.hpp>

#include <holdfast/base/result.hpp>

#include <nlohmann/json.hpp>

#include <cmath>
#include <fstream>

namespace holdfast::bench {
namespace {

using json = nlohmann::ordered_json;

/// Six digits behind the point say more than any clock here; what is whole then is an integer.
json number(double value) {
    const double rounded = std::round(value * 1e6) / 1e6;
    constexpr double exact_integers_below = 9007199254740992.0;
    if (std::abs(rounded) < exact_integers_below && rounded == std::floor(rounded))
        return static_cast<std::int64_t>(rounded);
    return rounded;
}

json as_json(const record& one) {
    json params = json::object();
    for (const auto& [name, value] : one.params)
        std::visit([&, &key = name](const auto& plain) { params[key] = plain; }, value);
    return {{"suite", one.suite},   {"case", one.case_name},      {"engine", one.engine},
            {"threads", one.threads}, {"params", params},         {"metric", one.metric},
            {"unit", one.unit},     {"value", number(one.value)}, {"min", number(one.min)},
            {"max", number(one.max)}, {"runs", one.runs}};
}

}  // namespace

void report::write_json(const std::string& path) const {
    std::ofstream out(path);
    out << "[\n";
    for (std::size_t i = 0; i < records_.size(); ++i)
        out << as_json(records_[i]).dump() << (i + 1 < records_.size() ? ",\n" : "\n");
    out << "]\n";
    out.close();
    if (!out) throw failure({errc::io, "the records could not be written", path, {}, {}, {}});
}

}  // namespace holdfast::bench
