// A rival in a child process, from the parent's side.
#pragma once

#include <bench/contest/contestant.hpp>
#include <bench/contest/scratch.hpp>
#include <bench/contest/setting.hpp>

#include <memory>
#include <string>

namespace holdfast::bench {

/// Starts the program holdfast-rivals, which stands beside this one, with `rival` (libpmemobj, lmdb, sqlite) on the
/// data of `suite` (sps, hash, btree, rbtree; cchtm and cache for libpmemobj; bounded-buffer, lines, wrap and dnv-list
/// for libpmemobj and libpmemobj_best, where in lines `elements` are an object's bytes) under `where`, filled. It stays
/// until the contestant is destroyed, and runs a batch when told to over a pipe.
/// Throws failure: not_found (no such program), io (what the rival said).
std::unique_ptr<contestant> start_rival(const std::string& rival, const std::string& suite, const setting& where,
                                        scratch& space);

}  // namespace holdfast::bench
