#include <crash/subjects/subjects_of.hpp>
#include <crash/subjects/wraps_subject.hpp>

#include <holdfast/engine/softwrap.hpp>

namespace holdfast::crash {

void add_subjects_of_softwrap(std::vector<std::unique_ptr<subject>>& all) {
    add_subjects<softwrap>(all);
    all.push_back(std::make_unique<wraps_subject<softwrap>>());
}

}  // namespace holdfast::crash
