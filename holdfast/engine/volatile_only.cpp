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
