// What the word code costs: words that are encoded and checked again and again, all in the processor's caches, beside
// the same loads and stores without a code; and repairs of words with a given number of flipped bits. CPU time,
// since nothing here waits.
#include <bench/contest/cpu_clock.hpp>
#include <bench/suites.hpp>

#include <holdfast/base/result.hpp>
#include <holdfast/ecc/repair.hpp>
#include <holdfast/ecc/word_code.hpp>

#include <workload/random.hpp>

#include <algorithm>
#include <bit>

namespace holdfast::bench {
namespace {

using ecc::coded_word;

constexpr std::uint64_t coded_words = 2048;  // 32 KiB with their codes

/// Cases check and encode by range, check_word and encode_word one by one, floor without a code.
class word_code_contestant final : public contestant {
public:
    /// As case floor it loads what is checked, or copies what is encoded.
    explicit word_code_contestant(bool stores) : words_(coded_words), coded_(coded_words), stores_(stores) {
        workload::random numbers(1);
        for (auto& word : words_) word = numbers.next();
        ecc::encode(words_.data(), coded_.data(), coded_words);
    }

    batch run(const std::string& name, std::uint64_t words) override {
        const std::uint64_t passes = std::max<std::uint64_t>(words / coded_words, 1);
        const auto pass = pass_of(name);
        const double begin_ns = thread_cpu_ns();
        for (std::uint64_t i = 0; i < passes; ++i) (this->*pass)();
        const double ns = thread_cpu_ns() - begin_ns;
        // The floors leave no codes.
        if (name == "floor") ecc::encode(words_.data(), coded_.data(), coded_words);
        if (ecc::first_invalid(coded_.data(), coded_words) != coded_words || invalid_ != 0)
            fail(errc::corrupt, "a word was not encoded, or taken for an invalid one");
        return {ns, passes * coded_words, std::nullopt, {}};
    }

private:
    using pass_function = void (word_code_contestant::*)();

    pass_function pass_of(const std::string& name) const {
        if (name == "check") return &word_code_contestant::check_all;
        if (name == "check_word") return &word_code_contestant::check_each;
        if (name == "encode") return &word_code_contestant::encode_all;
        if (name == "encode_word") return &word_code_contestant::encode_each;
        return stores_ ? &word_code_contestant::copy : &word_code_contestant::load;
    }
    void check_all() { invalid_ += ecc::first_invalid(coded_.data(), coded_words) != coded_words; }
    void check_each() {
        for (const coded_word& each : coded_)
            if (!ecc::is_valid(each)) ++invalid_;
    }
    void encode_all() { ecc::encode(words_.data(), coded_.data(), coded_words); }
    void encode_each() {
        for (std::uint64_t i = 0; i < coded_words; ++i) coded_[i] = {words_[i], ecc::encode(words_[i])};
    }
    void load() {
        std::uint64_t all = 0;
        for (const coded_word& each : coded_) all |= each.word ^ each.code;
        loaded_ = all;
    }
    void copy() {
        for (std::uint64_t i = 0; i < coded_words; ++i) coded_[i] = {words_[i], words_[i]};
        loaded_ = coded_[words_[0] % coded_words].code;
    }

    std::vector<std::uint64_t> words_;
    std::vector<coded_word> coded_;
    bool stores_;
    std::uint64_t invalid_ = 0;
    volatile std::uint64_t loaded_ = 0;  ///< so that the compiler keeps the loads
};

/// Repairs of random words with random patterns of a number of flips.
class repair_contestant final : public contestant {
public:
    explicit repair_contestant(unsigned bits) : damaged_(patterns) {
        workload::random numbers(bits);
        for (coded_word& each : damaged_) {
            const std::uint64_t word = numbers.next();
            const coded_word valid{word, ecc::encode(word)};
            each = valid;
            while (flips_between(each, valid) < bits) {
                const std::uint64_t bit = numbers.below(128);
                std::uint64_t& half = bit < 64 ? each.word : each.code;
                const std::uint64_t before = bit < 64 ? valid.word : valid.code;
                half = (half & ~(std::uint64_t{1} << bit % 64)) | (~before & std::uint64_t{1} << bit % 64);
            }
            const ecc::repair_result made = ecc::repair(each);
            const bool may_refuse = bits > ecc::always_repaired_flips;
            if (made ? made.right != valid : !may_refuse) fail(errc::corrupt, "a word was not repaired");
        }
    }

    batch run(const std::string&, std::uint64_t repairs) override {
        std::uint64_t all = 0;
        const double begin_ns = thread_cpu_ns();
        for (std::uint64_t i = 0; i < repairs; ++i) all ^= ecc::repair(damaged_[i % patterns]).right.word;
        repaired_ = all;
        return {thread_cpu_ns() - begin_ns, repairs, std::nullopt, {}};
    }

private:
    static constexpr std::uint64_t patterns = 16384;

    static unsigned flips_between(const coded_word& a, const coded_word& b) {
        return static_cast<unsigned>(std::popcount(a.word ^ b.word) + std::popcount(a.code ^ b.code));
    }

    std::vector<coded_word> damaged_;
    volatile std::uint64_t repaired_ = 0;  ///< so that the compiler keeps the repairs
};

parameters ecc_parameters(const char* level) {
    return {{"level", std::string(level)}, {"medium", std::string("dram")}, {"delay_ns", std::uint64_t{0}}};
}

match code_match(const options& wanted, bool stores) {
    match made;
    made.suite = "ecc";
    made.title = std::string("ecc: words ") + (stores ? "encoded and stored" : "checked") +
                 "   level process   medium dram   threads 1   (tx: one word)";
    made.limits.wanted_ns = wanted.quick ? 4e6 : 20e6;
    made.also_named = "ns_per_word";
    const std::string name = stores ? "encode" : "check";
    if (chosen(wanted, "none")) {
        parameters floor = ecc_parameters("power");
        floor.emplace_back("operation", std::string(stores ? "copy" : "load"));
        made.entries.push_back({"none", std::make_unique<word_code_contestant>(stores), {"floor"}, floor});
    }
    if (chosen(wanted, "ecc"))
        made.entries.push_back({"ecc", std::make_unique<word_code_contestant>(stores), {name, name + "_word"},
                                ecc_parameters("process")});
    return made;
}

match repair_match(const options& wanted) {
    match made;
    made.suite = "ecc";
    made.title = "ecc: words with flipped bits   level process   medium dram   threads 1   (tx: one repair)";
    made.limits.wanted_ns = wanted.quick ? 20e6 : 100e6;
    made.also_named = "ns_per_repair";
    for (unsigned bits = 1; bits <= ecc::most_repaired_flips && chosen(wanted, "ecc"); ++bits) {
        parameters all = ecc_parameters("process");
        all.emplace_back("bits", std::uint64_t{bits});
        made.entries.push_back({"ecc", std::make_unique<repair_contestant>(bits), {"repair"}, all});
    }
    return made;
}

}  // namespace

std::vector<planned_match> plan_ecc(const options& wanted, scratch&) {
    std::vector<planned_match> plan;
    plan.push_back([&wanted] { return code_match(wanted, false); });
    plan.push_back([&wanted] { return code_match(wanted, true); });
    plan.push_back([&wanted] { return repair_match(wanted); });
    return plan;
}

}  // namespace holdfast::bench
