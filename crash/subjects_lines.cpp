#include <crash/subjects_lines.hpp>

#include <crash/lines_subject.hpp>
#include <crash/lines_workloads.hpp>

namespace holdfast::crash {
namespace {

struct torn_line_buffer : line_buffer {
    static constexpr bool stands_torn_lines = true;
};

}  // namespace

void add_subjects_of_lines(std::vector<std::unique_ptr<subject>>& all) {
    all.push_back(std::make_unique<lines_subject<line_buffer>>());
    all.push_back(std::make_unique<lines_subject<record_of_one_line>>());
    all.push_back(std::make_unique<lines_subject<record_of_three_lines>>());
}

std::unique_ptr<subject> buffer_where_lines_tear() { return std::make_unique<lines_subject<torn_line_buffer>>(); }

}  // namespace holdfast::crash
