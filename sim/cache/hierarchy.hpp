// The caches of all cores: private IL1 and DL1, one shared L2, kept coherent by a directory in L2's tags.
//
// L2 is inclusive: whatever an L1 has, L2 has a place for. One look into one tag then says who may have a line and
// whether anyone changed it, for a miss, for a write-back and for the tag walker alike; what it costs, L1 lines that go
// because L2 needs their place, is little while L2 is many times all the L1s together.
//
// State changes when a function is called, in the order of the calls; time is computed beside it. A line is found from
// the moment it was asked for and says when its bytes are there, so a second miss of it waits for the first.
#pragma once

#include <sim/cache/cache_array.hpp>
#include <sim/cache/cache_counters.hpp>
#include <sim/port/memory_below.hpp>

#include <optional>

namespace holdfast::sim {

/// What had the line.
enum class answered_by : std::uint8_t { l1, in_flight, l2, other_l1, memory };

struct access {
    time done{};
    answered_by by = answered_by::l1;
};

struct load_result {
    std::uint64_t value = 0;  ///< not extended
    access how{};
};

/// Whose store it is. `core` says which L1, the rest of it what the hart's register held when the store executed.
struct store_source {
    std::uint32_t core = 0;
    hart_id hart{};
    transaction_id transaction{};
    bool in_transaction = false;
};

class hierarchy {
public:
    /// Requires: check(config) finds nothing; `below` and `attached` live as long.
    hierarchy(const hierarchy_config& config, memory_below& below, const port::ports& attached);

    /// 1 to 8 bytes, which may lie in two lines. Done when the value can be used.
    load_result load(std::uint32_t core, address where, std::uint32_t size, time at) {
        cache_array& l1 = cores_[core].data;
        const cache_array::place place = l1.find(where.line());
        if (place == cache_array::nowhere || where.offset_in_line() + size > line_bytes) [[unlikely]] {
            return load_slowly(core, where, size, at);
        }
        l1.touch(place);
        counters_[core].data.reads += 1;
        load_result result{0, arrival(l1, place, at)};
        std::memcpy(&result.value, l1.bytes(place).data() + where.offset_in_line(), size);
        return result;
    }

    /// Instruction bytes of one line.
    access fetch(std::uint32_t core, address where, time at) {
        cache_array& l1 = cores_[core].instructions;
        const cache_array::place place = l1.find(where.line());
        counters_[core].instructions.reads += 1;
        if (place == cache_array::nowhere) [[unlikely]] return fetch_slowly(core, where.line(), at);
        l1.touch(place);
        return arrival(l1, place, at);
    }

    /// A store that leaves its hart's store queue, up to 64 bytes, which may lie in two lines. Done when it has taken
    /// effect; not before the store-commit port lets it.
    access store(const store_source& who, address where, std::span<const std::byte> bytes, time at);

    /// Gets the line as a store would, ahead of it: nothing is stored, and another core may take it again before. Done
    /// when it is there; at once if it already is, or is on its way, and may be written.
    access prefetch_for_store(std::uint32_t core, address line, time at) {
        cache_array& l1 = cores_[core].data;
        const cache_array::place place = l1.find(line);
        if (place != cache_array::nowhere && l1.state(place).writable) [[likely]] return {at, answered_by::l1};
        return obtain_slowly(core, line, place, at).how;
    }

    /// An atomic read-modify-write of 4 or 8 aligned bytes: `new_value(old)` is an optional, empty for a comparison
    /// that failed, which then takes the line but stores nothing.
    template <class NewValue>
    load_result update(const store_source& who, address where, std::uint32_t size, time at, NewValue&& new_value) {
        const own_line own = obtain(who.core, where.line(), at);
        std::uint64_t old = 0;
        std::memcpy(&old, own.bytes->data() + where.offset_in_line(), size);
        const std::optional<std::uint64_t> changed = new_value(old);
        access how = own.how;
        if (changed) {
            std::array<std::byte, 8> bytes;
            std::memcpy(bytes.data(), &*changed, bytes.size());
            how = commit(who, where, std::span<const std::byte>(bytes).first(size), own);
        }
        return {old, how};
    }

    /// A non-temporal store of bytes in one line: past the caches, into the write-combining buffer.
    time stream(const store_source& who, address where, std::span<const std::byte> bytes, time at);

    /// The line write-back instruction: the line stays and is clean. Returns when the instruction is done, which is
    /// before the bytes are durable; `fence` waits for that.
    time write_back(const store_source& who, address where, time at);
    /// When all that the hart wrote back and streamed is at the persist point.
    time fence(hart_id hart, time at) { return below_.fence(hart, at); }
    /// The tag walker's: newest bytes of the line to memory, wherever they are. Returns when memory has accepted them.
    time force_write_back(address line, time at);

    /// Whether accesses take no time, while caches are warmed up. Requires: memory behind them is instant, too.
    void set_instant(bool instant) noexcept;
    /// Nothing will be asked for any more that happens before `now`.
    void settle(time now) noexcept {
        for (core_caches& each : cores_) each.data.settle(now);
        l2_.settle(now);
    }

    /// Without time: the newest bytes, and bytes put everywhere they belong.
    void peek(address where, std::span<std::byte> into) const;
    void poke(address where, std::span<const std::byte> bytes);

    std::uint32_t cores() const noexcept { return static_cast<std::uint32_t>(cores_.size()); }
    const cache_array& data_cache(std::uint32_t core) const noexcept { return cores_[core].data; }
    const cache_array& l2() const noexcept { return l2_; }
    const core_counters& counters(std::uint32_t core) const noexcept { return counters_[core]; }
    const cache_counters& l2_counters() const noexcept { return l2_counters_; }

private:
    friend class tag_walker;

    enum class side : std::uint8_t { data, instructions };
    static constexpr std::uint32_t no_core = ~std::uint32_t{0};

    struct core_caches {
        cache_array instructions, data;
    };
    /// A line in a DL1 that its core may change.
    struct own_line {
        line_data* bytes = nullptr;
        line_state* state = nullptr;
        access how{};
        bool hit = false;
    };

    /// When a line that is there can be used.
    static access arrival(cache_array& cache, cache_array::place place, time at) noexcept {
        at = cache.tags_free(at);
        const time done = at + cache.latency;
        if (cache.state(place).ready_at <= done) [[likely]] return {done, answered_by::l1};
        return {in_flight(cache.state(place), at, done), answered_by::in_flight};
    }
    static time in_flight(line_state& state, time at, time done) noexcept;

    load_result load_slowly(std::uint32_t core, address where, std::uint32_t size, time at);
    access fetch_slowly(std::uint32_t core, address line, time at);
    own_line obtain(std::uint32_t core, address line, time at);
    own_line obtain_slowly(std::uint32_t core, address line, cache_array::place place, time at);
    access commit(const store_source& who, address where, std::span<const std::byte> bytes, const own_line& own);

    cache_array& l1(std::uint32_t core, side which) noexcept {
        return which == side::data ? cores_[core].data : cores_[core].instructions;
    }
    cache_array::place fill_l1(std::uint32_t core, side which, address line, bool to_write, access& how);
    time evict_from_l1(std::uint32_t core, side which, cache_array::place place, time at);
    cache_array::place find_or_fill_l2(address line, access& how);
    void tell_of_lookup(port::cache_event::kind what, address line, time begin, time end) const;
    time evict_from_l2(cache_array::place in_l2, time at);
    void empty_l2(cache_array::place in_l2, time& at);

    // directory.cpp: what L2 asks of the L1s, and what lines go through on their way to memory.
    void take_from_owner(cache_array::place in_l2, bool keep_shared, time& at);
    void drop_sharers(cache_array::place in_l2, std::uint32_t but_core);
    time clean_owner(cache_array::place in_l2, port::reason why, time at);
    time clean(cache_array::place in_l2, write_origin origin, time at);
    void store_in_l2(cache_array::place in_l2, const line_data& bytes, std::uint8_t spare);
    time may_leave(port::level from, std::uint32_t cache, address line, const line_data& bytes, port::reason why,
                   time at) const;

    hierarchy_config configured_;
    hierarchy_config config_;  ///< in force: that, or without time
    memory_below& below_;
    const port::ports& attached_;
    std::vector<core_caches> cores_;
    cache_array l2_;
    std::vector<core_counters> counters_;
    cache_counters l2_counters_{};
};

}  // namespace holdfast::sim
