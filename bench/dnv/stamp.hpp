// STAMP programs in the open dnv pool.
#pragma once

#include <holdfast/dnv/dnv.hpp>

#include <string>

namespace holdfast::bench {

/// `asked` with enough for the shared data of a program, by its name as workload::with_stamp_set has it.
dnv_options with_room_for_stamp(const std::string& name, dnv_options asked);

/// Answers the parent until it has no more batches. Requires: a pool is open. `mode`: tx or rtx; rtx_flips, where a
/// thread that has loaded a million words flips bits of the next one; rtx_no_flips, where it only counts them;
/// tx_all and rtx_all, where private data are in the pool as well, of kmeans and yada.
int serve_stamp_in_pool(const std::string& mode, const std::string& name, unsigned threads);

}  // namespace holdfast::bench
