// STAMP programs as subjects.
#pragma once

#include <crash/subjects/subject.hpp>

#include <memory>
#include <vector>

namespace holdfast::crash {

void add_stamp_subjects(std::vector<std::unique_ptr<subject>>& all);
/// In a dnv pool. Only where there are atomic blocks.
void add_stamp_of_dnv(std::vector<std::unique_ptr<subject>>& all);

}  // namespace holdfast::crash
