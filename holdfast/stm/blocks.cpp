#include <holdfast/stm/blocks.hpp>

#include <holdfast/stm/planted.hpp>

namespace holdfast::stm {

bool fresh_words::older_hold(std::uintptr_t at) noexcept {
    const std::uint32_t* found = chunks_.find(at / chunk_bytes);
    return found != nullptr && (words_of_chunk_[*found] >> (at / 8 % 64) & 1) != 0;
}

void fresh_words::index_last() {
    const std::uintptr_t end = begin_ + bytes_;
    for (std::uintptr_t at = begin_; at < end;) {
        const std::uintptr_t chunk_end = (at / chunk_bytes + 1) * chunk_bytes;
        const std::uintptr_t words = ((end < chunk_end ? end : chunk_end) - at) / 8;
        const std::uint64_t bits = words == 64 ? ~std::uint64_t{0} : ((std::uint64_t{1} << words) - 1) << (at / 8 % 64);
        const auto [place, inserted] =
            chunks_.find_or_insert(at / chunk_bytes, static_cast<std::uint32_t>(words_of_chunk_.size()));
        if (inserted)
            words_of_chunk_.push(bits);
        else
            words_of_chunk_[*place] |= bits;
        at = chunk_end;
    }
}

void transaction_blocks::give_back(grown_array<block>& blocks) noexcept {
    while (!blocks.empty()) {
        const block last = blocks[blocks.size() - 1];
        blocks.keep(blocks.size() - 1);
        last.give_back();
    }
}

void transaction_blocks::rolled_back() noexcept {
    if (!used_) return;
    used_ = false;
    fresh_.clear();
    freed_.clear();
    if (is_planted(fault::rolled_back_keeps_blocks)) allocated_.clear();
    give_back(allocated_);
}

void limbo::give_back_until(std::uint64_t oldest) noexcept {
    if (blocks_.empty()) return;
    giving_back_ = true;
    std::size_t given = 0;
    // By index: the allocator may run a transaction that adds blocks.
    for (; given < blocks_.size() && blocks_[given].time <= oldest; ++given) {
        const block each = blocks_[given].each;
        bytes_ -= each.bytes;
        each.give_back();
    }
    const std::size_t kept = blocks_.size() - given;
    std::memmove(static_cast<void*>(blocks_.begin()), blocks_.begin() + given, kept * sizeof(waiting));
    blocks_.keep(kept);
    // What could not be given back is not looked at again before there is twice as much.
    due_blocks_ = usual_blocks + 2 * kept;
    due_bytes_ = usual_bytes + 2 * bytes_;
    giving_back_ = false;
}

}  // namespace holdfast::stm
