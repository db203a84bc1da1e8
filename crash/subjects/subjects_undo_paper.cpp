#include <crash/subjects/subjects_of.hpp>

#include <holdfast/engine/undo.hpp>

namespace holdfast::crash {

void add_subjects_of_undo_paper(std::vector<std::unique_ptr<subject>>& all) { add_subjects<undo_paper>(all); }

}  // namespace holdfast::crash
