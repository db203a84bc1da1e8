// The programs that have a dnv pool open, from the parent's side: one for each algorithm, as no two can be linked
// together.
#pragma once

#include <bench/contest/contestant.hpp>
#include <bench/contest/scratch.hpp>
#include <bench/contest/setting.hpp>

#include <memory>
#include <span>
#include <string>

namespace holdfast::bench {

struct dnv_program {
    const char* algorithm;
    const char* program;
};

/// Empty without a compiler for __transaction_atomic.
std::span<const dnv_program> dnv_programs() noexcept;

/// Starts the program, which stands beside this one, with a list of where.elements elements with payloads of
/// where.bytes bytes, filled, in a pool of its own, which is removed with the contestant. `mode`: rtx, tx or notx.
/// Throws failure: not_found (no such program), io (what the program said).
std::unique_ptr<contestant> start_dnv_list(const dnv_program& program, const std::string& mode, const setting& where,
                                           scratch& space);

/// The same with a cache of where.elements items with values of where.bytes bytes, for where.threads threads.
std::unique_ptr<contestant> start_dnv_cache(const dnv_program& program, const std::string& mode, const setting& where,
                                            scratch& space);

/// The same with a STAMP program for where.threads threads: `name` as workload::with_stamp_set has it. `mode`: as
/// bench/dnv/stamp.hpp has it.
std::unique_ptr<contestant> start_dnv_stamp(const dnv_program& program, const std::string& mode,
                                            const std::string& name, const setting& where, scratch& space);

}  // namespace holdfast::bench
