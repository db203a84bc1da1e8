// Mends what the library itself keeps in a pool, from what it keeps twice or can derive.
#pragma once

#include <holdfast/base/result.hpp>
#include <holdfast/persist/file.hpp>

#include <string>
#include <vector>

namespace holdfast {

/// One thing that was found damaged, and what became of it.
struct repair_step {
    enum class outcome {
        restored,  ///< as it was, or derived from what says the same
        freed,     ///< space that nobody owned
        lost,      ///< could not be saved; what it was is unknown
    };
    std::string part;  ///< superblock, log, roots, heap
    outcome is = outcome::restored;
    std::string words;
};

/// Mends superblock copies, truncation point, log, zone headers and roots of the pool in `file`, in place:
///   * A superblock copy or truncation slot is written from the other; a lost truncation point is taken from what
///     segment headers say; of two damaged superblocks one is believed if undoing damage to one byte makes it valid.
///   * A damaged log is replayed as far as it verifies, and emptied. The commits that may be lost are named.
///   * A root entry with one damaged byte is put right. Another is given up and named.
/// `original` is the file that it was copied from, whose mark it takes over.
/// Requires: a copy that nobody uses, made while nobody used the original, open for writing. Durable when it returns.
/// If the process dies inside, the copy is to be thrown away. Errors: not_a_pool, version_unsupported,
/// feature_unsupported, truncated, corrupt (no superblock can be saved), io.
result<std::vector<repair_step>> repair_metadata(persist::file& file, const persist::file& original);

}  // namespace holdfast
