// The entries of a record, made from words in the order of their stores.
#pragma once

#include <holdfast/format/log_record.hpp>

#include <cstdint>

namespace holdfast {

/// Writes entries one behind the other: words that follow each other in the pool become one run. Its state stays in
/// registers.
class run_writer {
public:
    /// The most words of payload that one word takes: its tag and itself.
    static constexpr std::uint64_t most_words_of_a_word = 2;

    explicit run_writer(std::uint64_t* at) noexcept : at_(at), tag_(at) {}

    /// A whole word.
    void add(std::uint64_t offset, std::uint64_t value) noexcept {
        if (offset != end_ || static_cast<std::uint64_t>(at_ - tag_) > format::longest_run_words) {
            finish_run();
            tag_ = at_++;
            ++runs_;
        }
        *at_++ = value;
        end_ = offset + sizeof value;
    }
    /// The bytes of a word that `mask` names.
    void add_masked(std::uint64_t offset, std::uint64_t value, std::uint8_t mask) noexcept {
        finish_run();
        at_[0] = format::masked_tag(offset, mask);
        at_[1] = value;
        at_ += most_words_of_a_word;
        tag_ = at_;
        end_ = no_run;
        ++runs_;
    }
    /// Behind the last word.
    std::uint64_t* finish_run() noexcept {
        const auto count = static_cast<std::uint64_t>(at_ - tag_);
        if (count != 0) *tag_ = format::run_tag(end_ - (count - 1) * sizeof *at_, count - 1);
        return at_;
    }

    /// How many entries there are, each with a tag.
    std::uint64_t runs() const noexcept { return runs_; }

private:
    static constexpr std::uint64_t no_run = ~std::uint64_t{0};

    std::uint64_t* at_;
    std::uint64_t* tag_;          ///< of the open run; at_: there is none
    std::uint64_t end_ = no_run;  ///< its end in the pool
    std::uint64_t runs_ = 0;
};

}  // namespace holdfast
