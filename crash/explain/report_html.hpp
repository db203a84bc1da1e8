// The report as one self-contained page.
#pragma once

#include <crash/explain/report.hpp>

#include <string>

namespace holdfast::crash {

std::string html_of(const std::vector<report_row>& rows);

}  // namespace holdfast::crash
