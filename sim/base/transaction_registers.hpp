// The transaction register of each hart, and the numbers that tell active transactions apart (the paper, IV-B).
//
// A program names a transaction as it likes. Hardware gives it the lowest of 256 numbers that no active transaction
// has, from its begin to its commit, also while its register is saved because the hart executes another thread.
#pragma once

#include <sim/base/units.hpp>

#include <array>
#include <bit>
#include <vector>

namespace holdfast::sim {

struct transaction_register {
    transaction_id id{};      ///< the program's; it stays after a commit
    std::uint8_t active = 0;  ///< the hardware's number, while it is open
    bool open = false;

    /// As a program keeps it. One that is not open is zero.
    constexpr std::uint64_t word() const noexcept {
        return open ? std::uint64_t{1} << 32 | std::uint64_t{active} << 16 | id.value : 0;
    }
    static constexpr transaction_register from(std::uint64_t word) noexcept {
        if (word >> 32 != 1) return {};
        return {{static_cast<std::uint16_t>(word)}, static_cast<std::uint8_t>(word >> 16), true};
    }
};

class transaction_registers {
public:
    static constexpr std::uint32_t active_most = 256;

    explicit transaction_registers(std::uint32_t harts) : current_(harts) {}

    /// Whether the hart may begin a transaction now, or has to wait until another one commits.
    bool may_begin(hart_id hart) const noexcept { return at(hart).open || active_count_ < active_most; }
    /// Within an open transaction it goes on with that. Requires: may_begin.
    void begin(hart_id hart, transaction_id id) noexcept {
        transaction_register& mine = at(hart);
        mine.id = id;
        if (mine.open) return;
        mine.active = lowest_free();
        mine.open = true;
        set_active(mine.active, true);
    }
    void commit(hart_id hart) noexcept {
        transaction_register& mine = at(hart);
        if (mine.open) set_active(mine.active, false);
        mine.open = false;
    }

    /// The hart's register as a word; nothing is open on the hart then.
    std::uint64_t save(hart_id hart) noexcept {
        const std::uint64_t saved = at(hart).word();
        at(hart) = {};
        return saved;
    }
    /// False, and nothing happens: the hart has an open transaction, or `saved` names none that waits to be restored.
    bool restore(hart_id hart, std::uint64_t saved) noexcept {
        const transaction_register wanted = transaction_register::from(saved);
        if (at(hart).open || wanted.word() != saved) return false;
        if (wanted.open && (!is_active(wanted.active) || is_on_a_hart(wanted.active))) return false;
        at(hart) = wanted;
        return true;
    }

    /// As others are, for the harts that there are here. Requires: nothing is open on the rest of them.
    void take_over(const transaction_registers& others) {
        const std::size_t harts = current_.size();
        *this = others;
        current_.resize(harts);
    }

    const transaction_register& of(hart_id hart) const noexcept { return at(hart); }
    std::uint32_t harts() const noexcept { return static_cast<std::uint32_t>(current_.size()); }

private:
    transaction_register& at(hart_id hart) noexcept { return current_[hart.value]; }
    const transaction_register& at(hart_id hart) const noexcept { return current_[hart.value]; }
    bool is_active(std::uint8_t number) const noexcept { return (active_[number / 64] >> number % 64 & 1) != 0; }
    void set_active(std::uint8_t number, bool active) noexcept {
        active_[number / 64] ^= std::uint64_t{1} << number % 64;
        active_count_ = active ? active_count_ + 1 : active_count_ - 1;
    }
    std::uint8_t lowest_free() const noexcept {
        std::size_t word = 0;
        while (active_[word] == ~std::uint64_t{0}) ++word;
        return static_cast<std::uint8_t>(64 * word + static_cast<std::size_t>(std::countr_one(active_[word])));
    }
    bool is_on_a_hart(std::uint8_t number) const noexcept {
        for (const transaction_register& each : current_)
            if (each.open && each.active == number) return true;
        return false;
    }

    std::vector<transaction_register> current_;
    std::array<std::uint64_t, active_most / 64> active_{};
    std::uint32_t active_count_ = 0;
};

}  // namespace holdfast::sim
