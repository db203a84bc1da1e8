// The report as one self-contained page.
#pragma once

#include <crash/report.hpp>

#include <string>

namespace holdfast::crash {

std::string html_of(const std::vector<report_row>& rows);

}  // namespace holdfast::crash
