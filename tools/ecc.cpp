// `holdfast ecc`: flips bits against the word code, and explains what it makes of a word.
#include "command.hpp"
#include "ecc_injection.hpp"
#include "output.hpp"
#include "progress.hpp"
#include "writable.hpp"

#include <holdfast/base/result.hpp>
#include <holdfast/ecc/repair.hpp>

#include <fmt/core.h>

#include <algorithm>
#include <charconv>
#include <chrono>
#include <fstream>
#include <memory>
#include <optional>
#include <thread>

namespace holdfast::tools {
namespace {

using ecc::coded_word;
using ecc::repair_outcome;

struct inject_request {
    injection what;
    std::string json_path;
};

void write_injection(const inject_request& asked, const injection_counts& counts) {
    json record;
    record["bits"] = asked.what.bits;
    record["exhaustive"] = asked.what.exhaustive;
    record["seed"] = asked.what.seed;
    record["trials"] = counts.trials;
    record["repaired"] = counts.repaired;
    record["refused"] = counts.refused;
    record["wrong"] = counts.wrong;
    record["undetected"] = counts.undetected;
    std::ofstream out(asked.json_path);
    out << json::array({record}).dump(2) << "\n";
    out.close();
    if (!out) throw failure({errc::io, "the record could not be written", asked.json_path, {}, {}, {}});
}

int run_inject(inject_request asked) {
    check_writable(asked.json_path).value();
    injection& what = asked.what;
    if (what.jobs == 0) what.jobs = std::max(1u, std::thread::hardware_concurrency());
    injection_counts counts;
    const auto begin = std::chrono::steady_clock::now();
    {
        progress bar(fmt::format("ecc: {} flips", what.bits), trials_of(what));
        counts = inject(what, [&bar](std::uint64_t done) { bar.at(done); });
    }
    const double passed_ns = std::chrono::duration<double, std::nano>(std::chrono::steady_clock::now() - begin).count();
    table rows;
    rows.add("bits", std::to_string(what.bits));
    rows.add("trials", readable_count(counts.trials) + (what.exhaustive ? " (every pattern once)" : ""));
    rows.add("repaired", readable_count(counts.repaired));
    rows.add("refused", readable_count(counts.refused));
    rows.add("wrong", readable_count(counts.wrong));
    rows.add("undetected", readable_count(counts.undetected));
    rows.add("time", readable_ns(passed_ns));
    const bool kept = keeps_promise(what.bits, counts);
    if (!kept) rows.add("", "this breaks the code's promise");
    print(rows.text());
    if (!asked.json_path.empty()) write_injection(asked, counts);
    return kept ? exit_success : exit_failed;
}

void add_inject_command(CLI::App& ecc_command, command_line& line) {
    const auto asked = std::make_shared<inject_request>();
    auto* command = ecc_command.add_subcommand("inject", "Flip bits of words and their codes, and repair them");
    command->add_option("--bits", asked->what.bits, "Number of the 128 bits to flip")
        ->required()->check(CLI::Range(1, 128));
    auto* trials = command->add_option("--trials", asked->what.trials, "Random patterns on random words")
        ->default_val(1'000'000)->check(CLI::Range(std::uint64_t{1}, std::uint64_t{1} << 60));
    auto* all = command->add_flag("--exhaustive", asked->what.exhaustive, "Every pattern once; for 1, 2 and 3 bits");
    all->excludes(trials);
    command->add_option("--seed", asked->what.seed, "Seed of the random numbers")->capture_default_str();
    asked->what.jobs = 0;
    command->add_option("--jobs", asked->what.jobs, "Threads; 0: one per processor")
        ->check(CLI::Range(0, 1024))->capture_default_str();
    command->add_option("--json", asked->json_path, "Write the record to this file as a JSON array")->type_name("FILE");
    command->footer("Up to 6 flips are always repaired, 7 are repaired or refused, up to 13 never look valid.\n"
                    "Exit status: 1 if that does not hold.");
    command->callback([asked, &line] {
        if (asked->what.exhaustive && asked->what.bits > 3)
            throw CLI::ValidationError("--exhaustive", "allows at most 3 bits: 4 bits have 10,668,000 patterns");
        line.run = [asked] { return run_inject(*asked); };
    });
}

/// A number of up to 64 bits in hexadecimal, with or without 0x.
std::optional<std::uint64_t> word_in(std::string_view text) {
    if (text.starts_with("0x") || text.starts_with("0X")) text.remove_prefix(2);
    std::uint64_t value = 0;
    const auto [end, problem] = std::from_chars(text.data(), text.data() + text.size(), value, 16);
    if (problem != std::errc{} || end != text.data() + text.size()) return std::nullopt;
    return value;
}

constexpr unsigned group_bits = 8;

/// A character for each bit, the highest first, in groups.
template <class F>
std::string row_of_bits(const std::string& name, F&& character) {
    std::string text = fmt::format("{:<10}", name);
    for (unsigned bit = 64; bit-- > 0;) {
        text += character(bit);
        if (bit % group_bits == 0 && bit != 0) text += bit == 32 ? "   " : " ";
    }
    return text + "\n";
}

std::string row_of_value(const std::string& name, std::uint64_t value) {
    return row_of_bits(name, [value](unsigned bit) { return (value >> bit & 1u) != 0 ? '1' : '0'; });
}

std::string row_of_flips(std::uint64_t flips) {
    return row_of_bits("flipped", [flips](unsigned bit) { return (flips >> bit & 1u) != 0 ? '^' : '.'; });
}

/// The number of the highest bit above each group.
std::string ruler(const char* upper, const char* lower) {
    std::string text = fmt::format("{:<10}{:<38}{}\n{:<10}", "", upper, lower, "bit");
    for (unsigned group = 64 / group_bits; group-- > 0;) {
        const unsigned highest = group * group_bits + group_bits - 1;
        text += fmt::format("{:<{}}", highest, group_bits + (highest == 39 ? 3 : 1));
    }
    text.erase(text.find_last_not_of(' ') + 1);
    return text + "\n";
}

std::string picture(const char* name, const char* upper, const char* lower, std::uint64_t found, std::uint64_t flips,
                    bool repaired) {
    std::string text = "\n" + ruler(upper, lower) + row_of_value(name, found);
    if (!repaired) return text;
    return text + row_of_flips(flips) + row_of_value("repaired", found ^ flips);
}

std::string bits_of_text(std::uint64_t bits) {
    std::string text;
    for (unsigned bit = 64; bit-- > 0;)
        if ((bits >> bit & 1u) != 0) text += (text.empty() ? "" : ", ") + std::to_string(bit);
    return text.empty() ? "none" : text;
}

std::string sentence(const ecc::repair_result& made) {
    switch (made.outcome) {
    case repair_outcome::intact: return "The code is the word's: nothing to repair.";
    case repair_outcome::repaired: {
        // Two explanations differ by a word of the code: the other one has the rest of its bits.
        const unsigned others = ecc::always_detected_flips + 1 - made.flips();
        return fmt::format("{} bit{} flipped. Any other explanation has at least {}.", made.flips(),
                           made.flips() == 1 ? " was" : "s were",
                           std::max(others, ecc::most_repaired_flips + 1));
    }
    case repair_outcome::ambiguous:
        return "Refused: no pattern of at most 6 flips explains it, and several of 7 do.\n"
               "They are halves of a code word of weight 14, so the original cannot be determined.";
    case repair_outcome::beyond_repair: break;
    }
    return "Refused: no pattern of at most 7 flips explains it.";
}

int explain(coded_word found) {
    const ecc::repair_result made = ecc::repair(found);
    const bool repaired = made.outcome == repair_outcome::repaired;
    table rows;
    rows.add("word W", fmt::format("{:#018x}", found.word));
    rows.add("code E", fmt::format("{:#018x}", found.code));
    rows.add("code of W", fmt::format("{:#018x}", found.code ^ made.syndrome));
    rows.add("syndrome", fmt::format("{:#018x}", made.syndrome));
    rows.add("outcome", std::string(name_of(made.outcome)));
    if (repaired) {
        rows.add("flipped in W", bits_of_text(made.flipped.word));
        rows.add("flipped in E", bits_of_text(made.flipped.code));
        rows.add("right W", fmt::format("{:#018x}", made.right.word));
        rows.add("right E", fmt::format("{:#018x}", made.right.code));
    }
    print(rows.text() + "\n" + sentence(made) + "\n");
    print(picture("W", "A", "B", found.word, made.flipped.word, repaired));
    print(picture("E", "C", "D", found.code, made.flipped.code, repaired));
    if (!made) print("\n" + ruler("C", "D") + row_of_value("syndrome", made.syndrome));
    return made ? exit_success : exit_failed;
}

void add_explain_command(CLI::App& ecc_command, command_line& line) {
    struct request {
        std::string word, code;
    };
    const auto asked = std::make_shared<request>();
    auto* command = ecc_command.add_subcommand("explain", "Draw which bits of a word and its code were flipped");
    const CLI::Validator is_word(
        [](const std::string& text) { return word_in(text) ? "" : text + " is not a hexadecimal number of 64 bits"; },
        "HEX");
    command->add_option("W", asked->word, "The word as found")->required()->check(is_word);
    command->add_option("E", asked->code, "Its code as found")->required()->check(is_word);
    command->footer("Exit status: 1 if the repair is refused.");
    command->callback([asked, &line] {
        line.run = [asked] { return explain({*word_in(asked->word), *word_in(asked->code)}); };
    });
}

}  // namespace

void add_ecc_command(CLI::App& application, command_line& line) {
    auto* command = application.add_subcommand("ecc", "The word code: flip bits against it, explain a repair");
    command->require_subcommand(1);
    add_inject_command(*command, line);
    add_explain_command(*command, line);
}

}  // namespace holdfast::tools
