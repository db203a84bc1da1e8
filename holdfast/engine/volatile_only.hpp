// volatile_only: transactions without durability, the floor for measurements of the others. A killed process leaves a
// torn pool, and opening one says so.
#pragma once

#include <holdfast/engine/engine.hpp>
#include <holdfast/engine/sites.hpp>

#include <vector>

namespace holdfast {

/// Stores in place, and remembers old values for a rollback.
class volatile_transaction final : public transaction_base {
public:
    std::uint64_t load(const pool_word* home) const noexcept { return __atomic_load_n(home, __ATOMIC_RELAXED); }

    void store(pool_word* home, std::uint64_t value, std::uint8_t mask) {
        // What is in no pool may be gone when the transaction is rolled back.
        if (pool_->contains(home)) [[likely]] {
            old_.push_back({home, load(home), mask});
        } else {
            check_in_no_other_pool(home);
        }
        persist::store_word(home, value, mask, persist::site::volatile_home);
    }

    void will_write(const void*, std::size_t) noexcept {}
    void begin(open_pool& pool) noexcept { pool_ = &pool; }
    result<void> seal() noexcept {
        old_.clear();
        return {};
    }
    result<void> settle() noexcept {
        settle_heap(0);
        return {};
    }
    void roll_back() noexcept(persist::noexcept_seam);
#ifdef HOLDFAST_OBSERVED
    /// After a simulated crash: drops what the thread remembers, leaving the pool as it is.
    void forget() noexcept {
        roll_heap_back();
        old_.clear();
    }
#endif

    void store(void* home, const void* bytes, std::size_t size) override;
    void load_into(const void* home, void* bytes, std::size_t size) override;

private:
    struct old_word {
        pool_word* home;
        std::uint64_t value;
        std::uint8_t mask;
    };
    std::vector<old_word> old_;
};

/// No durability: atomic with respect to exceptions, not crashes.
struct volatile_only : engine_interface<volatile_only> {
    using transaction = volatile_transaction;
    static constexpr engine_description description{
        .name = "volatile_only", .power_on_files = false, .recovers = false, .logs_new_values = false};
};

}  // namespace holdfast
