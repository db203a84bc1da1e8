// Records in a bare region of persistent memory, published by one word: what needs no pool, and so runs where the
// library makes none. Its controls are wrong on purpose: the rig must find out.
#pragma once

#include "guest.hpp"

namespace holdfast::rig {

extern const workload of_records;
extern const workload of_records_published_first;     ///< before the record is there: torn
extern const workload of_records_acknowledged_first;  ///< before it is published: lost

}  // namespace holdfast::rig
