// The report as JSON: an array with a record for each row. Names are stable.
#pragma once

#include <crash/explain/report.hpp>

#include <nlohmann/json.hpp>

namespace holdfast::crash {

nlohmann::ordered_json json_of(const std::vector<report_row>& rows);

}  // namespace holdfast::crash
