#include <sim/machine/warming_memory.hpp>

#include <sim/core/log_operation.hpp>
#include <sim/front/refuse_transaction.hpp>

namespace holdfast::sim {

static_assert(memory_policy<warming_memory>);

bool warming_memory::has_warmed() const noexcept {
    constexpr std::uint64_t interval = 1024;  // looking through all sets takes long
    const cache_array& l2 = below_.l2();
    const std::uint64_t lines = l2.sets() * l2.ways();
    if (transactions_ >= enough_.transactions_most) return true;
    if (transactions_ % interval != 0) return false;
    const cache_counters& counters = below_.l2_counters();
    const std::uint64_t left = counters.write_backs + counters.lines_cleaned;
    return left >= 2 * lines || (left >= lines && l2.full_sets() == l2.sets());
}

bool warming_memory::custom(hart& at, custom_operation what, std::uint64_t first, std::uint64_t second) {
    if (what == custom_operation::line_write_back) {
        if (space_.find<1>(first, readable) == nullptr) return refuse_access(at, space_, "line write-back", first);
        below_.write_back(source_of(at), {first}, time{});
    }
    if (is_log_operation(what)) operate_log(registers_, at.id, what, first, second, time{});
    if (what == custom_operation::transaction_begin) {
        if (!registers_.may_begin(at.id)) return refuse_begin(at);
        registers_.begin(at.id, {static_cast<std::uint16_t>(first)}, time{});
    }
    if (what == custom_operation::transaction_save) {
        if (space_.find<8>(first, writable) == nullptr) return refuse_access(at, space_, "saving a transaction", first);
        return store<8>(at, first, registers_.save(at.id));
    }
    if (what == custom_operation::transaction_restore) {
        return registers_.restore(at.id, first) || refuse_restore(at, first);
    }
    if (what == custom_operation::non_temporal) at.streams_next = true;
    if (what == custom_operation::region_of_interest_end) at.stop = hart_stop::paused;
    if (what != custom_operation::transaction_commit) return true;
    registers_.commit(at.id, time{});
    if (attached_.on_time) attached_.on_time->reached(time{});
    transactions_ += 1;
    warm_ = has_warmed();
    if (warm_) at.stop = hart_stop::paused;
    return true;
}

}  // namespace holdfast::sim
