// Two alias tables that take turns: what is committed and not home yet. The protocol stands in alias_buffers.cpp.
#pragma once

#include <holdfast/log/alias_tables.hpp>
#include <holdfast/log/lanes.hpp>
#include <holdfast/log/late_homes.hpp>
#include <holdfast/log/touched_lines.hpp>

#include <array>
#include <condition_variable>
#include <cstdint>
#include <functional>
#include <mutex>
#include <optional>
#include <thread>

namespace holdfast {

/// How alias tables behave; fixed while a pool is open.
struct alias_options {
    bool persists = true;          ///< `power`: homes are written back and fenced. False: stored only
    persist::line_path lines;      ///< used when `persists`
    std::uint32_t words = 4096;    ///< room of each table; at least 1
    bool in_background = true;     ///< a separate thread retires tables; otherwise commits and callers do
    /// Where commits publish before their records are durable: returns when the record of that number and those of all
    /// smaller ones are in the log, durable where the pool promises it. Empty: they publish afterwards.
    std::function<void(std::uint64_t)> wait_for_log{};
};

/// A commit's right to publish, from `enter` to `leave`.
class alias_entrance {
    friend class alias_buffers;
    unsigned table = 0;
    std::uint32_t reserved = 0;
    std::uint32_t inserted = 0;
    bool alone = false;

public:
    /// The commit is larger than a table: both are empty, no other commit publishes, and it stores its homes and
    /// makes them durable itself before it leaves.
    bool stores_homes() const noexcept { return alone; }
};

class alias_buffers final : public alias_tables, public late_homes {
public:
    using entrance = alias_entrance;

    /// `lanes` is the log of the commits; both live as long as the pool is open.
    alias_buffers(std::byte* pool, std::uint64_t pool_bytes, lane_log& lanes, const alias_options& options);
    /// Ends the thread; values that are not home stay in the log.
    ~alias_buffers();
    alias_buffers(const alias_buffers&) = delete;
    alias_buffers& operator=(const alias_buffers&) = delete;

    /// Room for `words` words in the active table; waits while both are full. Call with the caller's locks held, the
    /// lane taken and room in the log reserved, before the sequence is drawn. Thread-safe.
    entrance enter(std::size_t words);
    /// What publishes a word, by its offset. While it lives nobody else publishes: one lock is cheaper than an exchange
    /// for each word. Used by one thread at a time.
    class publisher {
    public:
        void operator()(std::uint64_t offset, std::uint64_t value, std::uint8_t mask) noexcept {
            held_.inserted += to_.publish(offset / 8, value, mask) ? 1u : 0u;
        }

    private:
        friend class alias_buffers;
        publisher(std::mutex& publishing, alias_table& to, entrance& held)
            : nobody_else_(publishing), to_(to), held_(held) {}
        std::unique_lock<std::mutex> nobody_else_;
        alias_table& to_;
        entrance& held_;
    };
    /// Requires: the commit is certain. Its record is whole, and at `power` durable, unless tables wait for the log;
    /// not of an entrance that stores homes. Thread-safe.
    publisher begin_publishing(entrance& held) { return publisher(publishing_, tables_[held.table], held); }
    /// Calls f(publisher).
    template <class F>
    void publish(entrance& held, F&& f) {
        f(begin_publishing(held));
    }
    /// Ends what `enter` began, before the lane is given back. `sequence` is the commit's.
    void leave(const entrance& held, std::uint64_t sequence);
    /// The same where the commit did not come about. Requires: nothing was published.
    void leave_unused(const entrance& held);
    /// Brings a table home that is more than half full, unless somebody else does, or a thread of the pool has to.
    /// Requires: the caller has no entrance, and no number that is not in the log. Thread-safe.
    void relieve();

    std::uint64_t first_not_home() const noexcept override;
    void bring_home() override;
    void note_room(const log_room& now) noexcept override;

    /// The pool has this number of bytes from now on. Returns before an alias may name the new ones. Thread-safe.
    void grow(std::uint64_t pool_bytes) noexcept { pool_bytes_.store(pool_bytes, std::memory_order_release); }

    /// Number of tables retired so far.
    std::uint64_t retirements() const noexcept { return retired_.load(std::memory_order_relaxed); }
    /// Number of commits that had to wait because both tables were full.
    std::uint64_t waits() const noexcept { return waits_.load(std::memory_order_relaxed); }

private:
    enum class state : std::uint8_t { empty, active, closed, retiring };
    static constexpr std::uint64_t never = ~std::uint64_t{0};

    /// Whether it is open, the number of commits inside, and the number of reserved words: one number, so that one
    /// exchange enters.
    struct gate {
        static constexpr std::uint64_t open = std::uint64_t{1} << 63;
        static constexpr std::uint64_t one_inside = std::uint64_t{1} << 32;
        static std::uint64_t inside(std::uint64_t all) noexcept { return (all & ~open) / one_inside; }
        static std::uint64_t words(std::uint64_t all) noexcept { return all & (one_inside - 1); }
        alignas(128) std::atomic<std::uint64_t> all{0};
        /// The lowest sequence that left an alias here, and the highest.
        std::atomic<std::uint64_t> first_sequence{never};
        std::atomic<std::uint64_t> last_sequence{0};
    };

    using guard = std::unique_lock<std::mutex>;
    bool is_used(unsigned table) const noexcept { return gates_[table].all.load() != gate::open; }
    std::optional<unsigned> closed_table() const noexcept;
    void open(unsigned table) noexcept;
    void close(unsigned table) noexcept;
    void turn(guard& lock);
    void make_room_beside(unsigned full);
    entrance enter_alone();
    void leave_alone();
    void go_out(const entrance& held);
    bool retire(guard& lock);
    void bring_table_home(unsigned table);
    void store_homes(unsigned table);
    void retire_in_background();

    lane_log& lanes_;
    alias_options options_;
    std::array<gate, 2> gates_;
    std::atomic<std::uint64_t> pool_bytes_;
    std::atomic<std::uint64_t> retired_{0};
    std::atomic<std::uint64_t> waits_{0};

    std::mutex publishing_;
    std::mutex mutex_;  ///< guards the states and their changes
    std::condition_variable changed_;
    std::array<state, 2> states_{state::empty, state::empty};
    std::uint64_t opened_ = 0;  ///< tables so far, the active one too
    bool alone_ = false;
    bool stops_ = false;
    touched_lines touched_;  ///< used by the retiring thread
    std::thread retirement_;
};

}  // namespace holdfast
