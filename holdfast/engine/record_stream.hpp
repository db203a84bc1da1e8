// The record of an open wrap goes to the log while its values still come: a member of the engines of wraps.
#pragma once

#include <holdfast/engine/write_set.hpp>
#include <holdfast/pool/open_pool.hpp>

namespace holdfast {

/// Sends the whole lines of a write set's record as they fill. One thread at a time.
class record_stream {
public:
    void begin(const open_pool& pool) noexcept;

    /// After each store to `writes`. What holds if the process dies inside: no line that was sent can be read as a
    /// record, since the first, with the header, goes at the close.
    void follow(open_pool& pool, write_set& writes) {
        if (writes.record_words() >= next_early_words_) [[unlikely]]
            send_early(pool, writes);
    }

    /// Gives the place in the log up: the wrap was rolled back.
    static void give_up(open_pool& pool, write_set& writes) noexcept;

private:
    void send_early(open_pool& pool, write_set& writes) noexcept(persist::noexcept_seam);

    std::uint64_t next_early_words_ = 0;  ///< a record of this size has a whole line that was not sent yet
};

}  // namespace holdfast
