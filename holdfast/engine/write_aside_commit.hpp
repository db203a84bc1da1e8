// Steps of a commit that the engines which write aside inline into their own.
#pragma once

#include <holdfast/engine/write_aside.hpp>
#include <holdfast/log/lanes.hpp>

namespace holdfast {

inline log_lane* write_aside_transaction::take_lane(lane_log& log, result<void>& reserved) {
    log_lane& lane = log.acquire();
    if (log.has_room(lane, format::record_bytes(writes_.payload_words()))) [[likely]]
        return &lane;
    return make_room_in_log(log, lane, reserved);
}

}  // namespace holdfast
