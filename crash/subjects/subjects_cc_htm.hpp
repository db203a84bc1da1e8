// The subjects of subjects_cc_htm.cpp.
#pragma once

#include <crash/subjects/subject.hpp>

#include <memory>
#include <vector>

namespace holdfast::crash {

/// Adds them.
void add_subjects_of_cc_htm(std::vector<std::unique_ptr<subject>>& all);

}  // namespace holdfast::crash
