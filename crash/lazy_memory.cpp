#include <crash/lazy_memory.hpp>

#include <algorithm>
#include <cstring>
#include <numeric>

namespace holdfast::crash {
namespace {

constexpr std::uint64_t line_bytes = 64;
constexpr std::uint64_t all_bits = ~std::uint64_t{0};

/// The bits of word `word` of a line that bytes [begin, end) of the line cover.
std::uint64_t covered_bits(unsigned word, std::uint64_t begin, std::uint64_t end) noexcept {
    const std::uint64_t first = std::max<std::uint64_t>(begin, word * 8);
    const std::uint64_t last = std::min<std::uint64_t>(end, word * 8 + 8);
    if (first >= last) return 0;
    const std::uint64_t bytes = last - first;
    const std::uint64_t bits = bytes == 8 ? all_bits : (std::uint64_t{1} << bytes * 8) - 1;
    return bits << (first - word * 8) * 8;
}

/// Calls f(word of the line, index within a version) for each word of the unit.
template <class F>
void for_each_word(const unit& of, F&& f) {
    std::size_t index = 0;
    for (unsigned word = 0; word < 8; ++word)
        if ((of.mask >> word & 1u) != 0) f(word, index++);
}

}  // namespace

lazy_memory* instrumented_memory = nullptr;

lazy_memory::lazy_memory(std::span<std::byte> memory)
    : memory_(memory),
      certain_(memory.size() / 8),
      flags_(memory.size() / line_bytes),
      first_of_line_(memory.size() / line_bytes) {}

void lazy_memory::settle(const medium& after_cut) {
    for (const unit& each : units_) flags_[each.line] = 0;
    const auto& durable = after_cut.durable();
    // Only what differs: most of a pool stays as it is from cut to cut.
    for (std::uint64_t line = 0; line < flags_.size(); ++line) {
        if (std::memcmp(&certain_[line * 8], &durable[line * 8], line_bytes) == 0) continue;
        std::memcpy(&certain_[line * 8], &durable[line * 8], line_bytes);
        std::memcpy(memory_.data() + line * line_bytes, &durable[line * 8], line_bytes);
    }
    units_ = after_cut.uncertain();
    std::sort(units_.begin(), units_.end(),
              [](const unit& a, const unit& b) { return a.line != b.line ? a.line < b.line : a.mask < b.mask; });
    states_.resize(units_.size());
    for (std::uint32_t i = 0; i < units_.size(); ++i) {
        const unit& each = units_[i];
        if (i == 0 || units_[i - 1].line != each.line) first_of_line_[each.line] = i;
        flags_[each.line] = uncertain;
        states_[i].of = &each;
        states_[i].left.resize(each.count());
        std::iota(states_[i].left.begin(), states_[i].left.end(), 0u);
        std::fill(std::begin(states_[i].overwritten), std::end(states_[i].overwritten), 0);
    }
    hash_ = after_cut.durable_hash();
}

void lazy_memory::begin(choices made) {
    wanted_ = std::move(made);
    made_.clear();
    options_.clear();
    random_ = nullptr;
    instrumented_memory = this;
}

void lazy_memory::begin(std::mt19937_64& random) {
    begin(choices{});
    random_ = &random;
}

void lazy_memory::end() {
    instrumented_memory = nullptr;
    for (const std::uint64_t line : touched_) {
        std::memcpy(memory_.data() + line * line_bytes, &certain_[line * 8], line_bytes);
        flags_[line] = 0;
    }
    touched_.clear();
    for (state& each : states_) {
        flags_[each.of->line] = uncertain;
        if (each.left.size() != each.of->count()) {
            each.left.resize(each.of->count());
            std::iota(each.left.begin(), each.left.end(), 0u);
        }
        std::fill(std::begin(each.overwritten), std::end(each.overwritten), 0);
    }
}

void lazy_memory::touch(std::uint64_t line) {
    if ((flags_[line] & touched) != 0) return;
    flags_[line] |= touched;
    touched_.push_back(line);
}

void lazy_memory::read_inside(std::uint64_t offset, std::size_t size) {
    const std::uint64_t end = std::min<std::uint64_t>(offset + size, memory_.size());
    for (std::uint64_t line = offset / line_bytes; line * line_bytes < end; ++line) {
        if ((flags_[line] & uncertain) == 0) continue;
        const std::uint64_t begin_here = std::max(offset, line * line_bytes) - line * line_bytes;
        const std::uint64_t end_here = std::min(end, (line + 1) * line_bytes) - line * line_bytes;
        for (std::uint32_t i = first_of_line_[line]; i < units_.size() && units_[i].line == line; ++i)
            if (states_[i].left.size() > 1) resolve(states_[i], begin_here, end_here);
    }
}

void lazy_memory::write_inside(std::uint64_t offset, std::size_t size) {
    const std::uint64_t end = std::min<std::uint64_t>(offset + size, memory_.size());
    for (std::uint64_t line = offset / line_bytes; line * line_bytes < end; ++line) {
        touch(line);
        if ((flags_[line] & uncertain) == 0) continue;
        const std::uint64_t begin_here = std::max(offset, line * line_bytes) - line * line_bytes;
        const std::uint64_t end_here = std::min(end, (line + 1) * line_bytes) - line * line_bytes;
        for (std::uint32_t i = first_of_line_[line]; i < units_.size() && units_[i].line == line; ++i)
            for (unsigned word = 0; word < 8; ++word)
                states_[i].overwritten[word] |= covered_bits(word, begin_here, end_here);
    }
}

void lazy_memory::resolve(state& of, std::uint64_t begin, std::uint64_t end) {
    const unit& each = *of.of;
    const auto agree = [&](std::uint32_t a, std::uint32_t b) {
        bool same = true;
        for_each_word(each, [&](unsigned word, std::size_t index) {
            const std::uint64_t read = covered_bits(word, begin, end) & ~of.overwritten[word];
            const std::uint64_t difference =
                each.versions[a * each.words() + index] ^ each.versions[b * each.words() + index];
            same = same && (difference & read) == 0;
        });
        return same;
    };
    std::vector<std::uint32_t> answers;  // a version for each answer that the read may get
    for (const std::uint32_t version : of.left)
        if (std::none_of(answers.begin(), answers.end(), [&](std::uint32_t known) { return agree(known, version); }))
            answers.push_back(version);
    if (answers.size() == 1) return;
    const std::uint32_t answer = answers[choose(static_cast<std::uint32_t>(answers.size()))];
    std::erase_if(of.left, [&](std::uint32_t version) { return !agree(answer, version); });
    put(of);
}

void lazy_memory::put(const state& of) {
    const unit& each = *of.of;
    touch(each.line);
    for_each_word(each, [&](unsigned word, std::size_t index) {
        std::byte* at = memory_.data() + each.line * line_bytes + word * 8;
        std::uint64_t now;
        std::memcpy(&now, at, sizeof now);
        const std::uint64_t kept = of.overwritten[word];
        now = (now & kept) | (each.versions[of.left.front() * each.words() + index] & ~kept);
        std::memcpy(at, &now, sizeof now);
    });
}

std::uint32_t lazy_memory::choose(std::uint32_t options) {
    std::uint32_t choice = 0;
    if (random_ != nullptr) {
        choice = static_cast<std::uint32_t>((*random_)() % options);
    } else if (made_.size() < wanted_.size()) {
        choice = wanted_[made_.size()];
    }
    made_.push_back(choice);
    options_.push_back(options);
    return choice;
}

bool lazy_memory::next(choices& following) const {
    following = made_;
    while (!following.empty() && following.back() + 1 == options_[following.size() - 1]) following.pop_back();
    if (following.empty()) return false;
    ++following.back();
    return true;
}

std::vector<std::uint64_t> lazy_memory::image() const {
    std::vector<std::uint64_t> words = certain_;
    for (const state& each : states_)
        for_each_word(*each.of, [&](unsigned word, std::size_t index) {
            words[each.of->line * 8 + word] = each.of->versions[each.left.front() * each.of->words() + index];
        });
    return words;
}

std::uint64_t lazy_memory::image_hash() const noexcept {
    std::uint64_t hash = hash_;
    for (const state& each : states_) {
        const unit& of = *each.of;
        if (each.left.size() == of.count()) continue;
        for_each_word(of, [&](unsigned word, std::size_t index) {
            const std::uint64_t place = of.line * 8 + word;
            hash -= hash_of_word(place, of.versions[index]);
            // Several contents that nobody told apart count as one image, of its own.
            for (const std::uint32_t version : each.left)
                hash += hash_of_word(place, of.versions[version * of.words() + index]);
        });
    }
    return hash;
}

}  // namespace holdfast::crash
