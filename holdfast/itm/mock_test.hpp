// An algorithm for this room's tests: one lock, conflicts where a test wants them, and hints that are looked at.
#pragma once

#include <holdfast/itm/grown.hpp>
#include <holdfast/itm/one_lock.hpp>

#include <algorithm>
#include <cstddef>
#include <cstdint>

namespace holdfast::itm {

/// one_lock that restarts at the load or store that `conflict_in` counts down to, and that knows what was accessed.
class mock : public one_lock {
public:
    static mock& of_this_thread() noexcept { return object_; }

    /// Accesses until the next conflict; 0: none comes. `conflict_at_commit`: the number of commits that fail.
    static inline unsigned conflict_in = 0;
    static inline unsigned conflict_at_commit = 0;
    static inline unsigned wrong_hints = 0;
    static inline unsigned begins = 0;
    static inline unsigned serial_begins = 0;
    static inline unsigned read_only_begins = 0;
    static inline unsigned range_calls = 0;
    static inline unsigned word_calls = 0;

    void begin(const stm::start& start) noexcept {
        start_ = start;
        ++begins;
        if (start.serial) ++serial_begins;
        if (start.read_only) ++read_only_begins;
        read_.keep(0);
        written_.keep(0);
        one_lock::begin(start);
    }
    stm::word load(const stm::word* home) {
        touch();
        read_.push(home);
        return one_lock::load(home);
    }
    stm::word load_after_read(const stm::word* home) {
        if (!has(read_, home)) ++wrong_hints;
        return load(home);
    }
    stm::word load_after_write(const stm::word* home) {
        if (!has(written_, home)) ++wrong_hints;
        return load(home);
    }
    /// The compiler calls a store after this one a store after a write.
    stm::word load_for_write(const stm::word* home) {
        const stm::word value = load(home);
        written_.push(home);
        return value;
    }
    void store(stm::word* home, stm::word value, std::uint8_t mask) {
        touch();
        if (start_.read_only) ++wrong_hints;
        written_.push(home);
        one_lock::store(home, value, mask);
    }
    void store_after_read(stm::word* home, stm::word value, std::uint8_t mask) {
        if (!has(read_, home)) ++wrong_hints;
        store(home, value, mask);
    }
    void store_after_write(stm::word* home, stm::word value, std::uint8_t mask) {
        if (!has(written_, home)) ++wrong_hints;
        store(home, value, mask);
    }
    void read_range(void* to, const void* from, std::size_t bytes) {
        touch_range();
        remember(read_, from, bytes);
        one_lock::read_range(to, from, bytes);
    }
    void write_range(void* to, const void* from, std::size_t bytes) {
        touch_range();
        remember(written_, to, bytes);
        one_lock::write_range(to, from, bytes);
    }
    void copy_range(void* to, const void* from, std::size_t bytes) {
        touch_range();
        remember(read_, from, bytes);
        remember(written_, to, bytes);
        one_lock::copy_range(to, from, bytes);
    }
    void fill_range(void* to, int byte, std::size_t bytes) {
        touch_range();
        remember(written_, to, bytes);
        one_lock::fill_range(to, byte, bytes);
    }
    bool commit() noexcept {
        if (conflict_at_commit != 0) {
            --conflict_at_commit;
            return false;
        }
        return one_lock::commit();
    }

private:
    static bool has(grown<const void*>& places, const void* place) {
        return std::find(places.begin(), places.end(), place) != places.end();
    }
    static void remember(grown<const void*>& places, const void* from, std::size_t bytes) {
        const auto end = reinterpret_cast<std::uintptr_t>(from) + bytes;
        for (auto at = reinterpret_cast<std::uintptr_t>(from) & ~std::uintptr_t{7}; at < end; at += 8)
            places.push(reinterpret_cast<const void*>(at));
    }
    void touch() {
        ++word_calls;
        count_down();
    }
    void touch_range() {
        ++range_calls;
        count_down();
    }
    void count_down() {
        if (!irrevocable() && conflict_in != 0 && --conflict_in == 0) start_.restart();
    }

    static thread_local mock object_;
    stm::start start_;
    grown<const void*> read_;
    grown<const void*> written_;
};

inline thread_local mock mock::object_;

}  // namespace holdfast::itm
