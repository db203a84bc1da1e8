#include <bench/contest/record.hpp>

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

record from_json(const json& one) {
    record made;
    one.at("suite").get_to(made.suite);
    one.at("case").get_to(made.case_name);
    one.at("engine").get_to(made.engine);
    one.at("threads").get_to(made.threads);
    for (const auto& [name, value] : one.at("params").items()) {
        if (value.is_string()) {
            made.params.emplace_back(name, value.get<std::string>());
        } else {
            made.params.emplace_back(name, value.get<std::uint64_t>());
        }
    }
    one.at("metric").get_to(made.metric);
    one.at("unit").get_to(made.unit);
    one.at("value").get_to(made.value);
    one.at("min").get_to(made.min);
    one.at("max").get_to(made.max);
    one.at("runs").get_to(made.runs);
    return made;
}

}  // namespace

std::vector<record> read_records(const std::string& path) {
    std::ifstream in(path);
    if (!in) throw failure({errc::not_found, "the records cannot be read", path, {}, {}, {}});
    try {
        std::vector<record> all;
        for (const auto& one : json::parse(in)) all.push_back(from_json(one));
        return all;
    } catch (const json::exception& reason) {
        const std::string what = std::string("these are no records: ") + reason.what();
        throw failure({errc::invalid_argument, what, path, {}, {}, {}});
    }
}

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
