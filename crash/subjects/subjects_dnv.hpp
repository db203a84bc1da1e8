// Dnv pools as subjects. Only where there are atomic blocks.
#pragma once

#include <crash/subjects/subject.hpp>

#include <memory>
#include <vector>

namespace holdfast::crash {

void add_subjects_of_dnv(std::vector<std::unique_ptr<subject>>& all);
/// Of these those that begin with flipped bits.
void add_flips_of_dnv(std::vector<std::unique_ptr<subject>>& all);
/// And those with several threads.
void add_threads_of_dnv(std::vector<std::unique_ptr<subject>>& all);

}  // namespace holdfast::crash
