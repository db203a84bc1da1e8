// A commit of cc_htm, where its aliases are not in private pages. The protocol is in cc_htm_aliases.cpp.
#pragma once

#include <holdfast/engine/cc_htm_set_places.hpp>
#include <holdfast/log/alias_buffers.hpp>
#include <holdfast/pool/open_pool.hpp>
#include <holdfast/stm/write_log.hpp>

#include <cstddef>
#include <cstdint>
#include <optional>

namespace holdfast {

/// What a commit has taken of its pool's alias tables or sets, from before its number until its locks are released.
/// One thread. In a pool whose aliases are in private pages, and on a file, it takes nothing, and does nothing.
/// If the process dies inside, nothing of it is left: aliases are memory, and the log has what was committed.
class cc_htm_aliases {
public:
    /// Sets: an attempt begins. Where the one before found no places, it waits until some can be had. `alone`: serial.
    void begin(open_pool& pool, bool alone) noexcept(persist::noexcept_seam);
    /// Takes places for what the commit stores. Tables: waits until there are some. False: there are none now, and
    /// lacks_places(). Requires: the isolation's locks held, the lane taken and room in the log reserved, and no number
    /// yet. Throws std::bad_alloc.
    bool enter(open_pool& pool, const stm::write_log& writes);
    /// Whether the attempt is over, since sets were full.
    bool lacks_places() const noexcept { return lacking_in_ != 0; }
    /// Whether the commit must be home before its locks are released: it is larger than a table, or a set.
    bool go_home_first() const noexcept { return uses_ == uses::homes; }
    /// The commit is certain, with that number. In tables nobody else publishes until `leave`.
    void begin_publishing(std::uint64_t number) noexcept;
    /// A word for others to see, in the order of the write set.
    void publish(stm::word* home, stm::word value, std::uint8_t mask) noexcept;
    /// Ends what `enter` began.
    void leave(std::uint64_t number) noexcept;
    /// The same of a commit that did not come about.
    void give_back() noexcept;
    /// After a simulated crash: tables and sets are left as they are.
    void forget() noexcept {
        uses_ = uses::nothing;
        places_.forget();
        lacking_in_ = 0;
    }
    /// Requires: go_home_first(), and the record of the commit is in the log. Returns when it is home.
    void bring_home(open_pool& pool, const stm::write_log& writes, std::uint64_t number);
    /// The commit is over, and nothing is held. `number` 0: it has only read.
    void settle(open_pool& pool, std::uint64_t number);

private:
    enum class uses : std::uint8_t { nothing, table, sets, homes };
    bool enter_sets(open_pool& pool, const stm::write_log& writes);

    uses uses_ = uses::nothing;  ///< from `enter` on
    bool is_alone_ = false;
    alias_buffers* tables_ = nullptr;
    alias_entrance entrance_;
    std::optional<alias_buffers::publisher> publisher_;
    cc_htm_set_places places_;
    std::uint64_t lacking_in_ = 0;  ///< the instance of the pool whose sets were full
    const std::byte* base_ = nullptr;
};

namespace detail {
/// Bytes of an open pool as the commits so far left them; other bytes as they are.
void read_committed(const void* home, void* to, std::size_t bytes);
}  // namespace detail

}  // namespace holdfast
