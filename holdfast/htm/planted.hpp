// Faults that tests plant in builds of their own, to prove that they would see them; as in holdfast/stm/planted.hpp. In
// the normal build nothing is left.
#pragma once

namespace holdfast::htm {

#define HOLDFAST_HTM_FAULTS(X)                                                                                  \
    X(start_unannounced, "rings: no start stamp is announced before a transaction")                             \
    X(start_withdrawn_early, "rings: the start stamp is withdrawn before the transaction is in its ring")       \
    X(bound_without_now, "rings: what began after its ring was looked at does not bound")                       \
    X(heads_before_starts, "rings: rings are looked at before the start stamps, not behind them")               \
    X(merged_by_ring, "rings: one ring after the other is retired, whatever the stamps")                        \
    X(page_reused_early, "rings: a write set is overwritten before it is retired")                              \
    X(not_subscribed, "rtm: a hardware transaction does not look whether somebody is in the fallback")          \
    X(fallback_takes_nothing, "rtm: the fallback runs without being alone")                                     \
    X(fallback_released_early, "rtm: the fallback is released before its stores are home")                      \
    X(fallback_stamp_early, "rtm: the fallback draws its stamp before it is alone")                             \
    X(fallback_unannounced, "rtm: the fallback draws its stamp without an open start")                          \
    X(number_drawn_behind, "rtm: the number of a hardware transaction is drawn after its commit")               \
    X(log_not_emptied, "rtm: the write set of an aborted try stays in front of that of the next")               \
    X(hybrid_not_subscribed, "hybrid: a hardware transaction does not look at the counter")                     \
    X(hybrid_counter_not_moved, "hybrid: a hardware commit does not tell software transactions that it stored") \
    X(hybrid_plain_beside_software, "hybrid: plain code runs in hardware while software transactions are open") \
    X(hybrid_freed_at_once, "hybrid: a hardware commit gives blocks back while software may read them")

enum class fault : unsigned char {
    nothing,
#define HOLDFAST_HTM_ENUMERATOR(name, sentence) name,
    HOLDFAST_HTM_FAULTS(HOLDFAST_HTM_ENUMERATOR)
#undef HOLDFAST_HTM_ENUMERATOR
};

#ifdef HOLDFAST_STM_TESTED
/// The fault that this process has now. Set it while nothing runs.
inline fault planted_now = fault::nothing;
inline bool is_planted(fault which) noexcept { return planted_now == which; }
#else
constexpr bool is_planted(fault) noexcept { return false; }
#endif

}  // namespace holdfast::htm
