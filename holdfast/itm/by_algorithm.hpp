// An algorithm of stm/ as the base of another one, which decides where a transaction belongs.
#pragma once

#include <holdfast/stm/algorithm.hpp>

#include <cstddef>
#include <cstdint>

namespace holdfast::itm {

/// Models stm::algorithm but for of_this_thread, which who derives from it has. Every member is that of the thread's
/// `Algorithm`; what holds of its threads, errors and ends holds here.
template <class Algorithm>
class by_algorithm {
public:
    bool active() const noexcept { return own().active(); }
    bool irrevocable() const noexcept { return own().irrevocable(); }

    void begin(const stm::start& how) noexcept { own().begin(how); }
    bool commit() noexcept { return own().commit(); }
    void roll_back() noexcept { own().roll_back(); }
    bool become_irrevocable() noexcept { return own().become_irrevocable(); }

    stm::word load(const stm::word* home) { return own().load(home); }
    stm::word load_after_read(const stm::word* home) { return own().load_after_read(home); }
    stm::word load_after_write(const stm::word* home) { return own().load_after_write(home); }
    stm::word load_for_write(const stm::word* home) { return own().load_for_write(home); }
    void store(stm::word* home, stm::word what, std::uint8_t mask) { own().store(home, what, mask); }
    void store_after_read(stm::word* home, stm::word what, std::uint8_t mask) {
        own().store_after_read(home, what, mask);
    }
    void store_after_write(stm::word* home, stm::word what, std::uint8_t mask) {
        own().store_after_write(home, what, mask);
    }

    void read_range(void* to, const void* from, std::size_t bytes) { own().read_range(to, from, bytes); }
    void write_range(void* to, const void* from, std::size_t bytes) { own().write_range(to, from, bytes); }
    void copy_range(void* to, const void* from, std::size_t bytes) { own().copy_range(to, from, bytes); }
    void fill_range(void* to, int byte, std::size_t bytes) { own().fill_range(to, byte, bytes); }

    void note_allocated(void* address, std::size_t bytes, std::size_t alignment, stm::give_back back) noexcept {
        own().note_allocated(address, bytes, alignment, back);
    }
    void free_at_commit(void* address, std::size_t bytes, std::size_t alignment, stm::give_back back) noexcept {
        own().free_at_commit(address, bytes, alignment, back);
    }

protected:
    static Algorithm& own() noexcept { return Algorithm::of_this_thread(); }
};

}  // namespace holdfast::itm
