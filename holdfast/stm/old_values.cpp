#include <holdfast/stm/old_values.hpp>

#include <holdfast/stm/home.hpp>

namespace holdfast::stm {

void old_values::fold() {
    for (const write_log::entry& each : replaced_) {
        const write_log::entry* const older = oldest_.find(each.home());
        const unsigned known = older == nullptr ? 0 : older->mask();
        const auto missing = static_cast<std::uint8_t>(each.mask() & ~known);
        if (missing != 0) oldest_.put(each.home(), each.value, missing);
    }
    replaced_.clear();
}

void old_values::put_back() noexcept {
    if (!is_planted(fault::old_values_lost)) {
        while (!replaced_.empty()) {
            const write_log::entry last = replaced_.back();
            replaced_.pop();
            let_others_run();
            detail::store_home(last.home(), last.value, last.mask());
        }
        oldest_.write_back<plain_home>();
    }
    clear();
}

}  // namespace holdfast::stm
