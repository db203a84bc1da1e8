// Dnv pools as subjects. Only where there are atomic blocks.
#pragma once

#include <crash/subjects/subject.hpp>

#include <memory>
#include <vector>

namespace holdfast::crash {

void add_subjects_of_dnv(std::vector<std::unique_ptr<subject>>& all);

}  // namespace holdfast::crash
