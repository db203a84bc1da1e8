// Repairs a pool file: what can be saved is saved, what cannot is named.
#pragma once

#include <holdfast/handle/check.hpp>
#include <holdfast/pool/repair.hpp>

#include <string>
#include <vector>

namespace holdfast {

struct repair_report {
    check_report before;
    check_report after;             ///< as `before` when nothing was done
    std::vector<repair_step> steps;
    std::string backup;             ///< where the file as it was stands; empty when nothing was done
    bool all_saved() const noexcept;  ///< nothing was lost, and the pool is sound
};

/// Checks the pool at `path` and, unless it is as it should be, mends it: a copy is put aside (PATH.before-repair, or
/// with a number where that exists), another one is mended, and takes the place of the file once it is durable. A
/// pool that is as it should be is not touched. Metadata are mended as repair_metadata says; blocks get or lose their
/// owners where `contents` knows all of them and no root was lost.
/// What holds if the process dies inside: the file as it was or mended stands at `path`; a file
/// PATH.repairing-… with a random end may be left, which nothing needs.
/// Errors: what keeps the pool from being looked at, as check_pool says; corrupt and truncated where nothing can be
/// saved; no_space, io. The file is then as it was.
result<repair_report> repair_pool(const std::string& path, const contents_checker& contents);

}  // namespace holdfast
