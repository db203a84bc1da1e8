// The softwrap_lat engine: what must be inlined. The protocol is in softwrap_lat.cpp.
#pragma once

#include <holdfast/base/word_map.hpp>
#include <holdfast/engine/streaming.hpp>

namespace holdfast {

/// A wrap: a transaction with its own alias table. One thread at a time.
class softwrap_lat_transaction final : public streaming_transaction {
public:
    void begin(open_pool& pool) noexcept {
        streaming_transaction::begin(pool);
        trim_is_due_ = false;
    }
    result<void> settle();

private:
    result<void> seal_in_lane() override;
    void store_homes();
    void write_homes_back();

    bool trim_is_due_ = false;
    word_map lines_;  ///< of homes, while they are written back
};

/// SoftWrAP with a local alias table: values stream to the log as they are stored; closing costs one fence, and homes
/// are written back without another. Transactions can also be opened by hand: wrap.hpp. `using store =
/// holdfast::softwrap_lat;`
struct softwrap_lat : engine_interface<softwrap_lat> {
    using transaction = softwrap_lat_transaction;
    static constexpr engine_description description{"softwrap_lat", true, true, true, true};
    static constexpr bool opens_wraps = true;
    /// wrapped.hpp
    template <class T>
    using wrapped = basic_wrapped<softwrap_lat, T>;
};

}  // namespace holdfast
