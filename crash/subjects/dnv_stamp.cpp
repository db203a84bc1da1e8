// Compiled with -fgnu-tm and without the explorer's instrumentation: each access is a call of dnv, which has it.
#include <crash/subjects/dnv_stamp.hpp>
#include <crash/subjects/stamp_run.hpp>

#include <holdfast/dnv/access.hpp>

namespace holdfast::crash {

DNV_POD holdfast::workload::kept_run dnv_kept_run;

holdfast::workload::life_report live_in_dnv(unsigned program, stamp_book* book) {
    return live_alone(noted_access<dnv::dnv_access>(dnv::dnv_access(), book), &dnv_kept_run, program);
}

const holdfast::workload::kept_run* kept_in_dnv() noexcept { return &dnv_kept_run; }

}  // namespace holdfast::crash
