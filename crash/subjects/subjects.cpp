#include <crash/subjects/subject.hpp>
#include <crash/subjects/subjects_lines.hpp>

namespace holdfast::crash {

void add_subjects_of_redo(std::vector<std::unique_ptr<subject>>& all);
void add_subjects_of_softwrap(std::vector<std::unique_ptr<subject>>& all);
void add_subjects_of_softwrap_lat(std::vector<std::unique_ptr<subject>>& all);
void add_subjects_of_undo(std::vector<std::unique_ptr<subject>>& all);
void add_subjects_of_undo_paper(std::vector<std::unique_ptr<subject>>& all);

std::vector<std::unique_ptr<subject>> all_subjects() {
    std::vector<std::unique_ptr<subject>> all;
    add_subjects_of_redo(all);
    add_subjects_of_softwrap_lat(all);
    add_subjects_of_softwrap(all);
    add_subjects_of_undo(all);
    add_subjects_of_undo_paper(all);
    add_subjects_of_lines(all);
#ifdef HOLDFAST_HAS_WOVEN_SUBJECTS
    add_woven_subjects(all);
#endif
    return all;
}

}  // namespace holdfast::crash
