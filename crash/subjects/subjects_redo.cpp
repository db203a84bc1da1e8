#include <crash/subjects/subjects_of.hpp>

#include <holdfast/engine/redo.hpp>

namespace holdfast::crash {

void add_subjects_of_redo(std::vector<std::unique_ptr<subject>>& all) { add_subjects<redo>(all); }

}  // namespace holdfast::crash
