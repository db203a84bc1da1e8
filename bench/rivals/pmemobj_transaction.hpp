// A transaction of libpmemobj, by its C API.
#pragma once

#include <bench/rivals/rival.hpp>

#include <libpmemobj.h>

#include <string>

namespace holdfast::bench {

inline std::string pmemobj_error() { return std::string("libpmemobj: ") + pmemobj_errormsg(); }

/// f() as one transaction, without a jump buffer, as libpmemobj's C++ binding does: a failure shows in the stage's
/// error. Whether it committed.
template <class F>
bool pmemobj_atomically(PMEMobjpool* pool, F&& f) {
    if (pmemobj_tx_begin(pool, nullptr, TX_PARAM_NONE) != 0) child_failed(pmemobj_error());
    f();
    pmemobj_tx_commit();
    return pmemobj_tx_end() == 0;
}

inline void pmemobj_snapshot(const void* begin, std::size_t size) {
    if (pmemobj_tx_add_range_direct(begin, size) != 0) child_failed(pmemobj_error());
}

}  // namespace holdfast::bench
