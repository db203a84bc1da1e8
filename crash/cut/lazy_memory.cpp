#include <crash/cut/lazy_memory.hpp>

#include <algorithm>
#include <cstring>
#include <numeric>

namespace holdfast::crash {
namespace {

constexpr std::uint64_t all_bits = ~std::uint64_t{0};

/// The bits of word `word` of a granule that bytes [begin, end) of the granule cover.
std::uint64_t covered_bits(unsigned word, std::uint64_t begin, std::uint64_t end) noexcept {
    const std::uint64_t first = std::max<std::uint64_t>(begin, word * 8);
    const std::uint64_t last = std::min<std::uint64_t>(end, word * 8 + 8);
    if (first >= last) return 0;
    const std::uint64_t bytes = last - first;
    const std::uint64_t bits = bytes == 8 ? all_bits : (std::uint64_t{1} << bytes * 8) - 1;
    return bits << (first - word * 8) * 8;
}

/// Calls f(word of the granule, index within a version) for each word of the unit.
template <class F>
void for_each_word(const unit& of, F&& f) {
    std::size_t index = 0;
    for (std::uint64_t left = of.mask; left != 0; left &= left - 1)
        f(static_cast<unsigned>(__builtin_ctzll(left)), index++);
}

}  // namespace

lazy_memory* instrumented_memory = nullptr;
store_listener* instrumented_stores = nullptr;

lazy_memory::lazy_memory(std::span<std::byte> memory, std::byte* seen_at)
    : memory_(memory), seen_at_(seen_at != nullptr ? seen_at : memory.data()), certain_(memory.size() / 8) {
    set_granule(1u << (granule_shift_ - 3));
}

void lazy_memory::set_granule(unsigned words) {
    granule_shift_ = static_cast<unsigned>(__builtin_ctz(words)) + 3;
    flags_.assign(memory_.size() >> granule_shift_, 0);
    first_of_granule_.assign(flags_.size(), 0);
}

void lazy_memory::settle(const medium& after_cut) {
    for (const unit& each : units_) flags_[each.granule] = 0;
    if (after_cut.how().granule_words != granule_words()) set_granule(after_cut.how().granule_words);
    const auto& durable = after_cut.durable();
    // Only what differs: most of a pool stays as it is from cut to cut.
    for (std::uint64_t granule = 0; granule < flags_.size(); ++granule) {
        const std::uint64_t word = granule * granule_words();
        if (std::memcmp(&certain_[word], &durable[word], granule_bytes()) == 0) continue;
        std::memcpy(&certain_[word], &durable[word], granule_bytes());
        std::memcpy(memory_.data() + word * 8, &durable[word], granule_bytes());
    }
    units_ = after_cut.uncertain();
    std::sort(units_.begin(), units_.end(), [](const unit& a, const unit& b) {
        return a.granule != b.granule ? a.granule < b.granule : a.mask < b.mask;
    });
    states_.resize(units_.size());
    for (std::uint32_t i = 0; i < units_.size(); ++i) {
        const unit& each = units_[i];
        if (i == 0 || units_[i - 1].granule != each.granule) first_of_granule_[each.granule] = i;
        flags_[each.granule] = uncertain;
        states_[i].of = &each;
        states_[i].left.resize(each.count());
        std::iota(states_[i].left.begin(), states_[i].left.end(), 0u);
        states_[i].overwritten.assign(granule_words(), 0);
    }
    hash_ = after_cut.durable_hash();
    sizes_ = after_cut.sizes();
    may_lack_name_ = after_cut.may_lack_name();
    may_have_name_ = after_cut.may_have_name();
}

void lazy_memory::begin(choices made) {
    wanted_ = std::move(made);
    start(nullptr, nullptr);
}

void lazy_memory::begin(std::mt19937_64& random) {
    // Most faults show where one thing arrived and another, which was to come first, did not.
    drawing_ = static_cast<drawing>(random() % 5);
    turn_ = random() % (made_.size() + 1);
    wanted_.clear();
    start(&random, nullptr);
}

void lazy_memory::begin(chooser& decides) {
    wanted_.clear();
    start(nullptr, &decides);
}

void lazy_memory::start(std::mt19937_64* random, chooser* decides) {
    made_.clear();
    options_.clear();
    random_ = random;
    chooser_ = decides;
    choose_file();
    instrumented_memory = this;
}

void lazy_memory::choose_file() {
    const auto sizes = static_cast<std::uint32_t>(sizes_.size());
    file_bytes_ = sizes_[sizes > 1 ? choose({question::about::file_bytes, sizes}) : 0];
    is_named_ = may_have_name_ && (!may_lack_name_ || choose({question::about::file_name, 2}) == 1);
}

void lazy_memory::end() {
    instrumented_memory = nullptr;
    seen_in_copy_ = false;
    for (const std::uint64_t granule : touched_) {
        std::memcpy(memory_.data() + granule * granule_bytes(), &certain_[granule * granule_words()], granule_bytes());
        flags_[granule] = 0;
    }
    touched_.clear();
    for (state& each : states_) {
        flags_[each.of->granule] = uncertain;
        if (each.left.size() != each.of->count()) {
            each.left.resize(each.of->count());
            std::iota(each.left.begin(), each.left.end(), 0u);
        }
        std::fill(each.overwritten.begin(), each.overwritten.end(), 0);
    }
}

void lazy_memory::put_back() {
    for (std::uint64_t granule = 0; granule < flags_.size(); ++granule) {
        std::byte* const at = memory_.data() + granule * granule_bytes();
        const std::uint64_t* const words = &certain_[granule * granule_words()];
        if (std::memcmp(at, words, granule_bytes()) != 0) std::memcpy(at, words, granule_bytes());
    }
}

void lazy_memory::damage(std::uint64_t offset, std::uint64_t bits) {
    touch(offset >> granule_shift_);
    std::uint64_t word;
    std::memcpy(&word, memory_.data() + offset, sizeof word);
    word ^= bits;
    std::memcpy(memory_.data() + offset, &word, sizeof word);
}

void lazy_memory::touch(std::uint64_t granule) {
    if ((flags_[granule] & touched) != 0) return;
    flags_[granule] |= touched;
    touched_.push_back(granule);
}

void lazy_memory::read_inside(std::uint64_t offset, std::size_t size) {
    const std::uint64_t end = std::min<std::uint64_t>(offset + size, memory_.size());
    for (std::uint64_t granule = offset >> granule_shift_; granule << granule_shift_ < end; ++granule) {
        if ((flags_[granule] & uncertain) == 0) continue;
        const std::uint64_t begin = granule << granule_shift_;
        const std::uint64_t begin_here = std::max(offset, begin) - begin;
        const std::uint64_t end_here = std::min(end, begin + granule_bytes()) - begin;
        for (std::uint32_t i = first_of_granule_[granule]; i < units_.size() && units_[i].granule == granule; ++i)
            if (states_[i].left.size() > 1) resolve(states_[i], begin_here, end_here);
    }
}

void lazy_memory::write_inside(std::uint64_t offset, std::size_t size) {
    const std::uint64_t end = std::min<std::uint64_t>(offset + size, memory_.size());
    for (std::uint64_t granule = offset >> granule_shift_; granule << granule_shift_ < end; ++granule) {
        touch(granule);
        if ((flags_[granule] & uncertain) == 0) continue;
        const std::uint64_t begin = granule << granule_shift_;
        const std::uint64_t begin_here = std::max(offset, begin) - begin;
        const std::uint64_t end_here = std::min(end, begin + granule_bytes()) - begin;
        for (std::uint32_t i = first_of_granule_[granule]; i < units_.size() && units_[i].granule == granule; ++i)
            for (auto word = static_cast<unsigned>(begin_here / 8); word * 8 < end_here; ++word)
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
    question asked{question::about::contents, static_cast<std::uint32_t>(answers.size()), &each, begin, end, of.left};
    std::vector<std::uint32_t> answer_of;
    if (chooser_ != nullptr) {
        for (const std::uint32_t version : of.left) {
            const auto is_it = [&](std::uint32_t known) { return agree(known, version); };
            const auto at = std::find_if(answers.begin(), answers.end(), is_it);
            answer_of.push_back(static_cast<std::uint32_t>(at - answers.begin()));
        }
        asked.answer_of = answer_of;
    }
    const std::uint32_t answer = answers[choose(asked)];
    std::erase_if(of.left, [&](std::uint32_t version) { return !agree(answer, version); });
    put(of);
}

void lazy_memory::put(const state& of) {
    const unit& each = *of.of;
    touch(each.granule);
    for_each_word(each, [&](unsigned word, std::size_t index) {
        const std::uint64_t offset = each.granule * granule_bytes() + word * 8;
        const std::uint64_t kept = of.overwritten[word];
        const std::uint64_t wanted = each.versions[of.left.front() * each.words() + index];
        std::byte* const views[] = {memory_.data() + offset, seen_in_copy_ ? seen_at_ + offset : nullptr};
        for (std::byte* at : views) {
            if (at == nullptr) continue;
            std::uint64_t now;
            std::memcpy(&now, at, sizeof now);
            now = (now & kept) | (wanted & ~kept);
            std::memcpy(at, &now, sizeof now);
        }
    });
}

std::uint32_t lazy_memory::choose(const question& asked) {
    std::uint32_t choice = 0;
    if (random_ != nullptr) {
        choice = draw(asked.answers);
    } else if (chooser_ != nullptr) {
        choice = chooser_->choose(asked);
    } else if (made_.size() < wanted_.size()) {
        choice = wanted_[made_.size()];
    }
    made_.push_back(choice);
    options_.push_back(asked.answers);
    return choice;
}

std::uint32_t lazy_memory::draw(std::uint32_t options) {
    const std::uint32_t newest = options - 1;
    const std::uint64_t place = made_.size();
    switch (drawing_) {
        case drawing::newest_then_oldest: return place < turn_ ? newest : 0;
        case drawing::oldest_then_newest: return place < turn_ ? 0 : newest;
        case drawing::newest_but_one:
            if (place != turn_) return newest;
            break;
        case drawing::oldest_but_one:
            if (place != turn_) return 0;
            break;
        case drawing::each: break;
    }
    return static_cast<std::uint32_t>((*random_)() % options);
}

bool lazy_memory::next(choices& following) const {
    following = made_;
    while (!following.empty() && following.back() + 1 == options_[following.size() - 1]) following.pop_back();
    if (following.empty()) return false;
    ++following.back();
    return true;
}

trace lazy_memory::image() const {
    trace made{certain_, {}, file_bytes_, is_named_, 0};
    for (const state& each : states_)
        for_each_word(*each.of, [&](unsigned word, std::size_t index) {
            made.before[each.of->granule * granule_words() + word] =
                each.of->versions[each.left.front() * each.of->words() + index];
        });
    return made;
}

std::uint64_t lazy_memory::touched_hash() const noexcept {
    std::uint64_t hash = 0;
    for (const std::uint64_t granule : touched_)
        for (std::uint64_t word = granule * granule_words(); word < (granule + 1) * granule_words(); ++word) {
            std::uint64_t value;
            std::memcpy(&value, memory_.data() + word * 8, sizeof value);
            hash += hash_of_word(word, value);
        }
    return hash;
}

std::uint64_t lazy_memory::image_hash() const noexcept {
    std::uint64_t hash = hash_ + hash_of_word(~std::uint64_t{0}, file_bytes_ * 2 + (is_named_ ? 1 : 0));
    for (const state& each : states_) {
        const unit& of = *each.of;
        if (each.left.size() == of.count()) continue;
        for_each_word(of, [&](unsigned word, std::size_t index) {
            const std::uint64_t place = of.granule * granule_words() + word;
            hash -= hash_of_word(place, of.versions[index]);
            // Several contents that nobody told apart count as one image, of its own.
            for (const std::uint32_t version : each.left)
                hash += hash_of_word(place, of.versions[version * of.words() + index]);
        });
    }
    return hash;
}

}  // namespace holdfast::crash
