#include <crash/lines_subject.hpp>
#include <crash/lines_workloads.hpp>

#include <memory>
#include <vector>

namespace holdfast::crash {

void add_subjects_of_lines(std::vector<std::unique_ptr<subject>>& all) {
    all.push_back(std::make_unique<lines_subject<line_buffer>>());
    all.push_back(std::make_unique<lines_subject<record_of_one_line>>());
    all.push_back(std::make_unique<lines_subject<record_of_three_lines>>());
}

}  // namespace holdfast::crash
