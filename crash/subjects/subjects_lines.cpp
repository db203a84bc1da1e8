#include <crash/subjects/subjects_lines.hpp>

#include <crash/subjects/lines_file_subject.hpp>
#include <crash/subjects/lines_subject.hpp>
#include <crash/subjects/lines_workloads.hpp>

namespace holdfast::crash {
namespace {

struct torn_line_buffer : line_buffer {
    static constexpr bool stands_torn_lines = true;
};

}  // namespace

void add_subjects_of_lines(std::vector<std::unique_ptr<subject>>& all) {
    const auto add = [&]<class Of>() {
        all.push_back(std::make_unique<lines_subject<Of>>());
        all.push_back(std::make_unique<lines_file_subject<Of>>());
    };
    add.template operator()<line_buffer>();
    add.template operator()<record_of_one_line>();
    add.template operator()<record_of_three_lines>();
}

std::unique_ptr<subject> buffer_where_lines_tear() { return std::make_unique<lines_subject<torn_line_buffer>>(); }

}  // namespace holdfast::crash
