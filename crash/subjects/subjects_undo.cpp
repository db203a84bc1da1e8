#include <crash/subjects/subjects_of.hpp>

#include <holdfast/engine/undo.hpp>

namespace holdfast::crash {

void add_subjects_of_undo(std::vector<std::unique_ptr<subject>>& all) { add_subjects<undo>(all); }

}  // namespace holdfast::crash
