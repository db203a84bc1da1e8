#include <holdfast/dnv/corrections.hpp>

#include <algorithm>
#include <new>
#include <utility>

namespace holdfast::dnv {

void corrections::begin(rewriter how) noexcept {
    take();
    rewrite_ = how;
}

void corrections::note(const stm::word* at) noexcept {
    if (rewrite_ == nullptr) return;
    const std::lock_guard guard(mutex_);
    if (noted_.size() == most) return;
    try {
        noted_.push_back(at);
    } catch (const std::bad_alloc&) {
        // As beyond the most.
    }
    count_.store(noted_.size(), std::memory_order_relaxed);
}

std::vector<const stm::word*> corrections::take() noexcept {
    const std::lock_guard guard(mutex_);
    count_.store(0, std::memory_order_relaxed);
    return std::exchange(noted_, {});
}

void corrections::write(std::size_t at_least) noexcept {
    // Each with its code and a tag: such a record fits into any log.
    constexpr std::size_t at_once = 512;
    if (rewrite_ == nullptr || count_.load(std::memory_order_relaxed) < at_least) return;
    const std::vector<const stm::word*> taken = take();
    for (std::size_t done = 0; done < taken.size(); done += at_once) {
        const std::span some = std::span(taken).subspan(done, std::min(at_once, taken.size() - done));
        if (rewrite_(some)) continue;
        for (const stm::word* each : some) note(each);
    }
}

}  // namespace holdfast::dnv
