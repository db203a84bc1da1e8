// volatile_only: owns the old values of the open transaction, in DRAM, for rolling back.
//
// Protocol
//   1. Store: keep the old value, then store home at once.
//   2. Commit: forget the old values. Nothing is logged, written back or fenced.
//   3. Roll back: store the old values, the newest first.
#include <holdfast/engine/volatile_only.hpp>
#include <holdfast/engine/sites.hpp>

namespace holdfast {

void volatile_transaction::store(void* home, const void* bytes, std::size_t size) {
    store_bytes(*this, home, bytes, size);
}

void volatile_transaction::load_into(const void* home, void* bytes, std::size_t size) {
    load_bytes(*this, home, bytes, size);
}

void volatile_transaction::roll_back() noexcept(persist::noexcept_seam) {
    for (std::size_t i = old_.size(); i > 0; --i)
        persist::store_word(old_[i - 1].home, old_[i - 1].value, old_[i - 1].mask, persist::site::volatile_home);
    old_.clear();
    roll_heap_back();
}

}  // namespace holdfast
