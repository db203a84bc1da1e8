// The simplest algorithm: one lock for all transactions, stores at home at once, old values noted for a roll-back.
#pragma once

#include <holdfast/base/words.hpp>
#include <holdfast/itm/grown.hpp>
#include <holdfast/stm/algorithm.hpp>

#include <algorithm>
#include <cstddef>
#include <cstdint>
#include <cstring>
#include <utility>

#include <pthread.h>

namespace holdfast::itm {

/// Models stm::algorithm but for of_this_thread, which who derives from it has. All transactions share the lock. No
/// transaction ever conflicts.
class one_lock {
public:
    bool active() const noexcept { return active_; }
    bool irrevocable() const noexcept { return irrevocable_; }

    void begin(const stm::start& start) noexcept {
        pthread_mutex_lock(&the_lock);
        active_ = true;
        frames_below_ = start.frames_below;
    }

    stm::word load(const stm::word* home) const noexcept { return *reinterpret_cast<const pool_word*>(home); }
    stm::word load_after_read(const stm::word* home) const noexcept { return load(home); }
    stm::word load_after_write(const stm::word* home) const noexcept { return load(home); }
    stm::word load_for_write(const stm::word* home) const noexcept { return load(home); }

    void store(stm::word* home, stm::word value, std::uint8_t mask) noexcept {
        auto* const bytes = reinterpret_cast<unsigned char*>(home);
        if (active_ && !irrevocable_ && !stm::detail::is_own_frame(home, frames_below_)) {
            stm::word old = 0;
            for (unsigned each = 0; each < 8; ++each)
                if ((mask >> each & 1) != 0) old |= stm::word{bytes[each]} << (8 * each);
            undo_.push({home, old, mask});
        }
        put(bytes, value, mask);
    }
    void store_after_read(stm::word* home, stm::word value, std::uint8_t mask) noexcept { store(home, value, mask); }
    void store_after_write(stm::word* home, stm::word value, std::uint8_t mask) noexcept { store(home, value, mask); }

    void read_range(void* to, const void* from, std::size_t bytes) noexcept { std::memmove(to, from, bytes); }
    void write_range(void* to, const void* from, std::size_t bytes) noexcept { copy_range(to, from, bytes); }
    void copy_range(void* to, const void* from, std::size_t bytes) noexcept {
        note(to, bytes);
        std::memmove(to, from, bytes);
    }
    void fill_range(void* to, int byte, std::size_t bytes) noexcept {
        note(to, bytes);
        std::memset(to, byte, bytes);
    }

    bool commit() noexcept {
        end(freed_);
        return true;
    }
    void roll_back() noexcept {
        while (!undo_.empty()) {
            const undone last = undo_.back();
            undo_.pop();
            put(reinterpret_cast<unsigned char*>(last.home), last.value, last.mask);
        }
        end(allocated_);
    }
    bool become_irrevocable() noexcept {
        irrevocable_ = true;
        return true;
    }

    void note_allocated(void* address, std::size_t bytes, std::size_t alignment, stm::give_back back) noexcept {
        allocated_.push({address, bytes, alignment, back});
    }
    void free_at_commit(void* address, std::size_t bytes, std::size_t alignment, stm::give_back back) noexcept {
        freed_.push({address, bytes, alignment, back});
    }

private:
    struct undone {
        stm::word* home;
        stm::word value;
        std::uint8_t mask;
    };
    struct block {
        void* address;
        std::size_t bytes;
        std::size_t alignment;
        stm::give_back give_back;
    };

    static void put(unsigned char* bytes, stm::word value, std::uint8_t mask) noexcept {
        for (unsigned each = 0; each < 8; ++each)
            if ((mask >> each & 1) != 0) bytes[each] = static_cast<unsigned char>(value >> (8 * each));
    }

    /// Stores every word of a range once more, which notes it.
    void note(void* to, std::size_t bytes) noexcept {
        struct noting {
            one_lock& lock;
            void store(pool_word* home, std::uint64_t value, std::uint8_t mask) {
                lock.store(reinterpret_cast<stm::word*>(home), value, mask);
            }
        } words{*this};
        if (!irrevocable_) store_bytes(words, to, to, bytes);
    }

    void end(grown<block>& given_back) noexcept {
        grown<block> last = std::exchange(given_back, {});
        undo_.keep(0);
        allocated_.keep(0);
        freed_.keep(0);
        active_ = false;
        irrevocable_ = false;
        pthread_mutex_unlock(&the_lock);
        // Behind the end: the allocator may have blocks of its own.
        for (const block& each : last) each.give_back(each.address, each.bytes, each.alignment);
        last.keep(0);
        given_back.release();
        given_back = last;
    }

    static inline constinit pthread_mutex_t the_lock = PTHREAD_MUTEX_INITIALIZER;
    bool active_ = false;
    bool irrevocable_ = false;
    std::uintptr_t frames_below_ = 0;
    grown<undone> undo_;
    grown<block> allocated_;
    grown<block> freed_;
};

}  // namespace holdfast::itm
