// The softwrap_lat engine: what must be inlined. The protocol stands in softwrap_lat.cpp.
#pragma once

#include <holdfast/engine/word_map.hpp>
#include <holdfast/engine/write_aside.hpp>

namespace holdfast {

/// A wrap: a transaction with an alias table of its own. One thread at a time.
class softwrap_lat_transaction final : public write_aside_transaction {
public:
    using write_aside_transaction::store;
    void store(pool_word* home, std::uint64_t value, std::uint8_t mask) {
        write_aside_transaction::store(home, value, mask);
        if (writes_.record_words() >= next_early_words_) [[unlikely]]
            send_early();
    }

    void begin(open_pool& pool) noexcept;
    /// Decides the wrap: logged, homes stored. Afterwards the caller's locks may go.
    result<void> seal() {
        sequence_ = 0;
        if (writes_.empty()) {
            fresh_.clear();
            return {};
        }
        return pool_->homes_are_private() ? seal_in_group() : seal_in_lane();
    }
    /// Returns when the wrap is as durable as its level promises.
    result<void> settle();
    void roll_back() noexcept(persist::noexcept_seam);

private:
    void send_early() noexcept(persist::noexcept_seam);
    result<void> seal_in_lane();
    void log_and_fence(lane_log::lane& lane);
    void store_homes();
    void write_homes_back();

    std::uint64_t next_early_words_ = 0;  ///< a record of so many has a whole line that was not sent yet
    bool trim_is_due_ = false;
    word_map lines_;  ///< of homes, while they are written back
};

/// SoftWrAP with a local alias table: values stream to the log as they come; closing costs one fence, and homes are
/// written back without one. Also opened by hand: wrap.hpp. `using store = holdfast::softwrap_lat;`
struct softwrap_lat : engine_interface<softwrap_lat> {
    using transaction = softwrap_lat_transaction;
    static constexpr engine_description description{"softwrap_lat", true, true, true, true};
    static constexpr bool opens_wraps = true;
};

}  // namespace holdfast
