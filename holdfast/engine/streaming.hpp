// What the engines of wraps share: the record streams to the log while the wrap is open.
#pragma once

#include <holdfast/engine/write_aside.hpp>

namespace holdfast {

template <class Engine, class T>
class basic_wrapped;
template <class Engine, class T>
class wrap_allocator;

/// A write-aside transaction whose record goes to the log as its values come. One thread at a time.
class streaming_transaction : public write_aside_transaction {
public:
    using write_aside_transaction::store;
    void store(pool_word* home, std::uint64_t value, std::uint8_t mask) {
        write_aside_transaction::store(home, value, mask);
        if (writes_.record_words() >= next_early_words_) [[unlikely]]
            send_early();
    }

    void begin(open_pool& pool) noexcept;
    void roll_back() noexcept(persist::noexcept_seam);

protected:
    streaming_transaction() = default;
    ~streaming_transaction() = default;

    /// Sends what the log has not got of the record yet, and makes it durable.
    void log_and_fence(log_lane& lane);

private:
    void send_early() noexcept(persist::noexcept_seam);

    std::uint64_t next_early_words_ = 0;  ///< a record of this size has a whole line that was not sent yet
};

}  // namespace holdfast
