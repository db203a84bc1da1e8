// `holdfast pool check`: whether a pool is sound, without changing a byte of it.
#include "pool_check.hpp"

#include "command.hpp"
#include "kv.hpp"
#include "output.hpp"
#include "progress.hpp"

#include <holdfast/handle/repair.hpp>
#if HOLDFAST_HAS_DNV
#include <holdfast/dnv/check.hpp>
#endif

#include <fmt/core.h>

#include <algorithm>
#include <memory>

namespace holdfast::tools {
namespace {

const char* word_of(check_finding::verdict is) noexcept {
    switch (is) {
        case check_finding::verdict::sound: return "ok";
        case check_finding::verdict::worn: return "worn";
        case check_finding::verdict::damaged: return "BAD";
    }
    return "?";
}

json json_of(const std::string& path, const check_report& report) {
    json value;
    value["path"] = path;
    value["sound"] = report.sound();
    value["worn"] = report.worn();
    for (const check_finding& each : report.findings)
        value["parts"].push_back({{"part", each.part},
                                  {"sound", each.is != check_finding::verdict::damaged},
                                  {"worn", each.is == check_finding::verdict::worn},
                                  {"words", each.words}});
    return value;
}

/// Lines after the first under the first.
std::string indented(const std::string& words, std::size_t width) {
    std::string text;
    for (const char each : words) {
        text += each;
        if (each == '\n') text.append(width, ' ');
    }
    return text;
}

const char* word_of(repair_step::outcome is) noexcept {
    switch (is) {
        case repair_step::outcome::restored: return "restored";
        case repair_step::outcome::freed: return "freed";
        case repair_step::outcome::lost: return "LOST";
    }
    return "?";
}

json json_of(const std::string& path, const repair_report& report) {
    json value = json_of(path, report.after);
    value["before"] = json_of(path, report.before);
    value["backup"] = report.backup;
    value["all_saved"] = report.all_saved();
    value["steps"] = json::array();
    for (const repair_step& each : report.steps)
        value["steps"].push_back({{"part", each.part}, {"outcome", word_of(each.is)}, {"words", each.words}});
    return value;
}

std::string repair_table(const std::string& path, const repair_report& report) {
    if (report.backup.empty()) return check_table(path, report.after) + "nothing to repair; the file was not touched\n";
    constexpr std::size_t width = 21;
    std::string text = "what was done\n";
    for (const repair_step& each : report.steps)
        text += fmt::format("{:<12}{:<9}{}\n", each.part, word_of(each.is), indented(each.words, width));
    if (report.steps.empty()) text += "nothing could be repaired\n";
    text += "\nwhat is left\n" + check_table(path, report.after);
    if (!report.all_saved()) text += "not everything could be saved\n";
    return text + "the original file: " + report.backup + "\n";
}

/// Words of DNV Memory have codes, by which they are corrected in place, and those that nothing corrects are listed in
/// the pool: what was done, "" if nothing.
std::string mend_words([[maybe_unused]] const std::string& path) {
#if HOLDFAST_HAS_DNV
    if (open_pool::info(path).value().engine != dnv::engine_name) return "";
    const auto mended = dnv::mend_pool(path);
    // What was done to the rest is told all the same.
    if (!mended) return "no word was corrected: " + mended.error().text() + "\n";
    const dnv::audit_report& done = *mended;
    std::string words;
    if (done.flipped_words != 0)
        words = fmt::format("{} words with flipped bits were corrected in place\n", done.flipped_words);
    if (!done.damaged.empty())
        words += fmt::format("{} words cannot be corrected and are in the pool's list of damages; the rest is usable\n",
                             done.damaged.size());
    return words;
#else
    return "";
#endif
}

/// Whether the pool can be opened, as far as is known: at most the words of DNV Memory are damaged.
bool can_be_opened([[maybe_unused]] const check_report& report) {
    return std::all_of(report.findings.begin(), report.findings.end(), [](const check_finding& each) {
        return each.is != check_finding::verdict::damaged || each.part == "dnv";
    });
}

int repair(const std::string& path, bool as_json) {
    repair_report report = repair_pool(path, known_contents).value();
    const std::string mended = can_be_opened(report.after) ? mend_words(path) : "";
    if (!mended.empty()) report.after = check_with_progress(path);
    if (as_json) {
        print_json(json_of(path, report));
    } else {
        print(mended.empty() || !report.backup.empty() ? mended + repair_table(path, report)
                                                       : check_table(path, report.after) + mended);
    }
    return report.all_saved() ? exit_success : exit_failed;
}

int check(const std::string& path, bool as_json) {
    const check_report report = check_with_progress(path);
    if (as_json) {
        print_json(json_of(path, report));
    } else {
        print(check_table(path, report));
    }
    return report.sound() ? exit_success : exit_failed;
}

}  // namespace

std::optional<contents_finding> known_contents(const open_pool& pool, const std::vector<root_listing>& roots) {
#if HOLDFAST_HAS_DNV
    if (auto found = dnv::check_contents(pool, roots)) return found;
#endif
    if (pool.info().layout != kv_layout) return std::nullopt;
    kv_findings found = check_kv(pool, roots);
    return contents_finding{"kv", std::move(found.problem), fmt::format("{} entries in order", found.entries),
                            std::move(found.owned)};
}

check_report check_with_progress(const std::string& path) {
    progress bar("checking " + path, 5);
    std::uint64_t done = 0;
    return check_pool(path, known_contents, [&](const check_finding&) { bar.at(++done); }).value();
}

std::string check_table(const std::string& path, const check_report& report) {
    constexpr std::size_t width = 15;
    std::string text;
    for (const check_finding& each : report.findings)
        text += fmt::format("{:<10}{:<5}{}\n", each.part, word_of(each.is), indented(each.words, width));
    const char* verdict = "sound";
    if (report.worn()) verdict = "sound, but one of two copies is lost";
    if (!report.sound()) verdict = "DAMAGED";
    return text + fmt::format("{}: {}\n", path, verdict);
}

void add_pool_check_command(CLI::App& pool, command_line& line) {
    auto* command = pool.add_subcommand(
        "check", "Validate a pool without changing it: header, log, roots, heap, and kv contents with their owners");
    auto file = std::make_shared<std::string>();
    auto mend = std::make_shared<bool>(false);
    command->add_option("FILE", *file, "The pool's file; must not be in use")->required();
    command->add_flag("--repair", *mend,
                      "Repair what can be repaired and name the rest; the original file becomes FILE.before-repair");
    add_json_flag(*command, line);
    command->callback([file, mend, &line] {
        line.run = [file, mend, &line] { return *mend ? repair(*file, line.json) : check(*file, line.json); };
    });
}

}  // namespace holdfast::tools
