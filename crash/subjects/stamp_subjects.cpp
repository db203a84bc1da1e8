// STAMP programs under the engines that keep old or new values in a log.
#include <crash/subjects/stamp_subject.hpp>
#include <crash/subjects/subjects_stamp.hpp>

#include <holdfast/engine/redo.hpp>
#include <holdfast/engine/undo.hpp>

namespace holdfast::crash {

void add_stamp_subjects(std::vector<std::unique_ptr<subject>>& all) {
    all.push_back(std::make_unique<stamp_subject<redo>>());
    all.push_back(std::make_unique<stamp_subject<undo>>());
}

}  // namespace holdfast::crash
