// The softwrap_lat engine: what must be inlined. The protocol is in softwrap_lat.cpp.
#pragma once

#include <holdfast/base/word_map.hpp>
#include <holdfast/engine/record_stream.hpp>
#include <holdfast/engine/write_aside.hpp>

namespace holdfast {

/// A wrap: a transaction with its own alias table. One thread at a time.
class softwrap_lat_transaction final : public write_aside_transaction {
public:
    void begin(open_pool& pool) noexcept {
        write_aside_transaction::begin(pool);
        stream_.begin(pool);
        trim_is_due_ = false;
    }
    using write_aside_transaction::store;
    void store(pool_word* home, std::uint64_t value, std::uint8_t mask) {
        write_aside_transaction::store(home, value, mask);
        stream_.follow(*pool_, writes_);
    }
    void store_run(pool_word* home, const void* bytes, std::size_t words) {
        write_aside_transaction::store_run(home, bytes, words);
        stream_.follow(*pool_, writes_);
    }
    /// Commits: logs the stores and makes them visible. The caller may release its locks afterwards.
    result<void> seal() { return has_stores() ? commit() : result<void>{}; }
    result<void> settle();
    void roll_back() noexcept(persist::noexcept_seam) {
        record_stream::give_up(*pool_, writes_);
        write_aside_transaction::roll_back();
    }

private:
    result<void> commit();
    void store_homes();
    void write_homes_back();

    record_stream stream_;
    bool trim_is_due_ = false;
    word_map lines_;  ///< of homes, while they are written back
};

/// SoftWrAP with a local alias table: values stream to the log as they are stored; closing costs one fence, and homes
/// are written back without another. Transactions can also be opened by hand: wrap.hpp. `using store =
/// holdfast::softwrap_lat;`
struct softwrap_lat : engine_interface<softwrap_lat> {
    using transaction = softwrap_lat_transaction;
    static constexpr engine_description description{.name = "softwrap_lat", .writes_homes_back = true};
    static constexpr bool opens_wraps = true;
    /// wrapped.hpp
    template <class T>
    using wrapped = basic_wrapped<softwrap_lat, T>;
};

}  // namespace holdfast
