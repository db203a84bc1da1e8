// Objects in lines as subjects.
#pragma once

#include <crash/subjects/subject.hpp>

#include <memory>
#include <vector>

namespace holdfast::crash {

void add_subjects_of_lines(std::vector<std::unique_ptr<subject>>& all);

/// A woven one, compiled in several ways. Only where there is a weaver.
void add_woven_subjects(std::vector<std::unique_ptr<subject>>& all);

/// A buffer in a line, also under the model that it does not stand.
std::unique_ptr<subject> buffer_where_lines_tear();

}  // namespace holdfast::crash
