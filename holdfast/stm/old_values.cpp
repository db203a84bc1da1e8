#include <holdfast/stm/old_values.hpp>

#include <holdfast/stm/home.hpp>

#include <pthread.h>

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

void old_values::store_back(const write_log::entry& each) noexcept {
    if (reinterpret_cast<std::uintptr_t>(each.home()) - gone_from_ < gone_bytes_) return;
    let_others_run();
    detail::store_home(each.home(), each.value, each.mask());
}

void old_values::forget_own_stack() noexcept {
    pthread_attr_t attributes;
    if (pthread_getattr_np(pthread_self(), &attributes) != 0) return;
    void* from = nullptr;
    std::size_t bytes = 0;
    if (pthread_attr_getstack(&attributes, &from, &bytes) == 0) {
        gone_from_ = reinterpret_cast<std::uintptr_t>(from);
        gone_bytes_ = bytes;
    }
    pthread_attr_destroy(&attributes);
}

void old_values::put_back() noexcept {
    if (!is_planted(fault::old_values_lost)) {
        while (!replaced_.empty()) {
            const write_log::entry last = replaced_.back();
            replaced_.pop();
            store_back(last);
        }
        for (const write_log::entry& each : oldest_) store_back(each);
    }
    clear();
}

}  // namespace holdfast::stm
