#include <crash/subjects/stamp_book.hpp>

#include <algorithm>
#include <utility>

namespace holdfast::crash {

stamp_book::stamp_book(std::span<const std::uint64_t> root, std::function<void(bool begins)> around)
    : around_(std::move(around)) {
    for (const std::uint64_t& word : root) words_[address(&word)] = {~std::uint64_t{0}, 0};
    states_.push_back(now());
}

void stamp_book::stored(const void* home, std::size_t bytes, std::uint64_t value) {
    const std::uintptr_t at = address(home) / 8 * 8;
    const unsigned shift = static_cast<unsigned>(address(home) % 8) * 8;
    const std::uint64_t mask = (bytes == 8 ? ~std::uint64_t{0} : (std::uint64_t{1} << (8 * bytes)) - 1) << shift;
    stored_word& word = words_[at];
    word = {word.mask | mask, (word.value & ~mask) | (value << shift)};
}

void stamp_book::freed(const void* block) {
    const auto found = blocks_.find(address(block));
    if (found == blocks_.end()) return;
    words_.erase(words_.lower_bound(found->first), words_.lower_bound(found->first + found->second));
    blocks_.erase(found);
}

stamp_book::state stamp_book::now() const {
    state made;
    for (const auto& [at, word] : words_) made.words.push_back({at, word.mask, word.value});
    for (const auto& [at, bytes] : blocks_) made.blocks.push_back(reinterpret_cast<const void*>(at));
    return made;
}

void stamp_book::done() {
    state made = now();
    const auto first = std::ranges::find_if(states_, [&](const state& each) {
        return each.blocks == made.blocks && each.words == made.words;
    });
    made.number = static_cast<std::uint64_t>(first - states_.begin());
    states_.push_back(std::move(made));
    around_(false);
}

bool stamp_book::is_there(const state& each, const reader& read) {
    return std::ranges::all_of(each.words, [&](const state::word& word) {
        const auto now = read(word.at);
        return now && (*now & word.mask) == word.value;
    });
}

/// The earlier state first: what only the later one has may be anything.
const stamp_book::state* stamp_book::found(const progress& made, const reader& read) const {
    const std::size_t last = std::min(made.begun[0], states_.size() - 1);
    for (std::size_t number = made.done[0]; number <= last; ++number)
        if (is_there(states_[number], read)) return &states_[number];
    return nullptr;
}

void note_store(stamp_book* book, const void* home, std::size_t bytes, std::uint64_t value) noexcept {
    if (book != nullptr) book->stored(home, bytes, value);
}
void note_allocation(stamp_book* book, const void* block, std::size_t bytes) noexcept {
    if (book != nullptr) book->allocated(block, bytes);
}
void note_free(stamp_book* book, const void* block) noexcept {
    if (book != nullptr) book->freed(block);
}

}  // namespace holdfast::crash
