// STAMP programs in a dnv pool. They are compiled with atomic blocks, in dnv_stamp.cpp.
#pragma once

#include <crash/subjects/stamp_book.hpp>

#include <workload/stamp/life.hpp>

namespace holdfast::crash {

/// Under the root of the open pool's programs.
holdfast::workload::life_report live_in_dnv(unsigned program, stamp_book* book);
/// An address in the window.
const holdfast::workload::kept_run* kept_in_dnv() noexcept;

}  // namespace holdfast::crash
