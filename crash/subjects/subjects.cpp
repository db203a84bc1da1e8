#include <crash/subjects/subject.hpp>
#include <crash/subjects/subjects_cc_htm.hpp>
#include <crash/subjects/subjects_dnv.hpp>
#include <crash/subjects/subjects_lines.hpp>
#include <crash/subjects/subjects_stamp.hpp>

#include <holdfast/engine/engines.hpp>

namespace holdfast::crash {

// Each has a source of its own: they compile for a while.
#define HOLDFAST_DECLARE(engine) void add_subjects_of_##engine(std::vector<std::unique_ptr<subject>>& all);
HOLDFAST_ENGINES(HOLDFAST_DECLARE)
#undef HOLDFAST_DECLARE

std::vector<std::unique_ptr<subject>> all_subjects() {
    std::vector<std::unique_ptr<subject>> all;
#define HOLDFAST_ADD(engine) add_subjects_of_##engine(all);
    HOLDFAST_ENGINES(HOLDFAST_ADD)
#undef HOLDFAST_ADD
    add_subjects_of_cc_htm(all);
    add_subjects_of_lines(all);
#ifdef HOLDFAST_HAS_DNV_SUBJECTS
    add_subjects_of_dnv(all);
#endif
#ifdef HOLDFAST_HAS_WOVEN_SUBJECTS
    add_woven_subjects(all);
#endif
    return all;
}

std::vector<std::unique_ptr<subject>> all_subjects_and_programs() {
    auto all = all_subjects();
    add_stamp_subjects(all);
#ifdef HOLDFAST_HAS_DNV_SUBJECTS
    add_stamp_of_dnv(all);
#endif
    return all;
}

bool has_dnv_subjects() noexcept {
#ifdef HOLDFAST_HAS_DNV_SUBJECTS
    return true;
#else
    return false;
#endif
}

}  // namespace holdfast::crash
