// What is wrong with a program that is built to be wrong, so that crash tests show that they find it.
#pragma once

namespace holdfast::guest {

enum class planted_fault {
    none,
    no_fence,            ///< stores do not wait for their records
    stores_at_once,      ///< they are not held back at all: steal, and nothing durable to undo with
    numbers_of_threads,  ///< each thread counts its transactions for itself
    no_head,             ///< what is home is not said in the NVRAM
    no_write_back,       ///< lines count as home when their turn has come, wherever they are
    head_of_one_thread,  ///< what is home of one thread's transactions counts for all
};

#ifndef HOLDFAST_PLANTED_FAULT
#define HOLDFAST_PLANTED_FAULT none
#endif
inline constexpr planted_fault planted = planted_fault::HOLDFAST_PLANTED_FAULT;

}  // namespace holdfast::guest
