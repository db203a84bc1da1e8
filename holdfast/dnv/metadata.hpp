// What of a dnv pool has checksums instead of codes: the root, the directory of chunks, the names of static variables.
// A single flipped bit is found by trying: with that bit flipped again, and with no other, the checksum is right.
#pragma once

#include <holdfast/base/result.hpp>
#include <holdfast/dnv/layout.hpp>
#include <holdfast/handle/pool.hpp>

#include <cstdint>

namespace holdfast::dnv {

/// Corrects single flipped bits of the root, of each entry of the directory, and of the names, each in a transaction.
/// Returns how many. What it cannot correct it leaves as it is: who reads that finds it. Trusts nothing that it reads.
/// Requires: nobody else uses the pool. Errors: those of a commit.
result<unsigned> mend_metadata(engine::pool& handle, root& in_pool);

}  // namespace holdfast::dnv
