// The subjects of prefix_subjects.cpp.
#pragma once

#include <crash/subjects/subject.hpp>

#include <memory>
#include <vector>

namespace holdfast::crash {

/// Adds them.
void add_prefix_subjects(std::vector<std::unique_ptr<subject>>& all);

}  // namespace holdfast::crash
