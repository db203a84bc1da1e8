// `holdfast doctor`: which durability a path really gives, and what it costs there, in words to act on.
#include "command.hpp"
#include "doctor_power.hpp"
#include "engines.hpp"
#include "output.hpp"

#include <holdfast/htm/rtm_instructions.hpp>
#include <holdfast/persist/instructions.hpp>
#include <holdfast/persist/measure.hpp>
#include <holdfast/persist/record_way.hpp>
#include <holdfast/persist/storage.hpp>
#include <holdfast/pool/opener.hpp>

#include <fmt/core.h>

#include <charconv>
#include <filesystem>
#include <memory>
#include <optional>
#include <string>

namespace holdfast::tools {
namespace {

using persist::measured_cost;
using persist::measured_costs;
using persist::medium;
using persist::persistence_domain;

struct doctor_options {
    std::string path;
    bool nvram = false;
    bool drill = false;
    unsigned threads = 4;
    std::string forgotten_save;  ///< its key; empty: none
};

/// One engine at one level: whether it is on offer here, and what to know about it.
struct offer {
    std::string_view engine;
    level promise;
    bool offered;
    std::string words;
};

std::string rate(double time_ns) { return readable_count(static_cast<std::uint64_t>(1e9 / time_ns)); }

std::string power_on_file(const measured_costs& costs) {
    const double sync_ns = costs.durable64.median_ns;
    return fmt::format(
        "one sync per commit group, about {} here ({} groups a second); commit from several threads, which share "
        "a sync, or put more into one transaction",
        readable_ns(sync_ns), rate(sync_ns));
}

std::string power_on_lines(const engine_description& engine, const persist::storage& on, const measured_costs& costs) {
    const char* caution = on.kind == medium::nvram ? "; for measurements only: tmpfs does not survive a power cut" : "";
    if (engine.name == undo::description.name)
        return fmt::format("a fence per hinted range and two at commit, about {} each{}",
                           readable_ns(costs.line.median_ns), caution);
    if (engine.name == undo_paper::description.name)
        return fmt::format("a fence per stored range and two at commit, about {} each{}",
                           readable_ns(costs.line.median_ns), caution);
    return fmt::format("one fence per commit, about {} here{}", readable_ns(costs.append64.median_ns), caution);
}

std::string lag_on(const persist::storage& on, const measured_costs& costs) {
    const std::uint64_t commits = lag_options{}.commits;
    if (on.byte_addressable())
        return fmt::format("as power, and up to {} of the last commits may be missing after a power cut or a kill",
                           commits);
    return fmt::format("one commit of {} waits for a sync, about {} here; up to {} of the last may be missing after a "
                       "power cut or a kill",
                       commits + 1, readable_ns(costs.durable64.median_ns), commits);
}

std::string words_for(const engine_description& engine, level promise, const persist::storage& on,
                      const measured_costs& costs) {
    if (!engine.recovers) return "for comparison: a killed process leaves the pool torn";
    if (promise == level::process)
        return "survives kill -9 of the process, not a power cut; no write-back, fence or sync";
    if (promise == level::lag) return lag_on(on, costs);
    return on.byte_addressable() ? power_on_lines(engine, on, costs) : power_on_file(costs);
}

std::vector<offer> offers_on(const std::string& path, const persist::storage& on, const measured_costs& costs) {
    std::vector<offer> offers;
    for_each_engine_of_command([&]<class Engine>() {
        const auto& engine = Engine::description;
        std::vector<level> promises{level::process, level::power};
        if (engine.checkpoints) promises.insert(promises.begin() + 1, level::lag);
        for (const level promise : promises) {
            const auto checked = pool_opener::check_level(path, engine, promise, on);
            offers.push_back({engine.name, promise, checked.has_value(),
                              checked ? words_for(engine, promise, on, costs) : checked.error().what});
        }
    });
    return offers;
}

std::string words_for_medium(const persist::storage& on) {
    switch (on.kind) {
        case medium::dax: return "persistent memory, byte-addressable (MAP_SYNC accepted)";
        case medium::tmpfs: return "memory: survives the process, not the machine";
        case medium::nvram: return "tmpfs emulating byte-addressable NVRAM, as requested: for measurements only";
        case medium::file: break;
    }
    return "ordinary file: durable by sync, page by page (MAP_SYNC refused)";
}

std::string words_for_domain(const persist::storage& on) {
    if (on.kind == medium::file) return "none: stores reach the medium only by sync";
    if (on.kind == medium::tmpfs) return "none: the medium is volatile";
    switch (on.domain) {
        case persistence_domain::cpu_cache: return "cpu_cache: a fence is enough, no line is written back";
        case persistence_domain::memory_controller: return "memory_controller: lines are written back, then fenced";
        case persistence_domain::unknown: break;
    }
    return "unknown: lines are written back, then fenced, to be safe";
}

std::vector<std::string> advice_for(const persist::storage& on, const measured_costs& costs) {
    std::vector<std::string> advice;
    if (on.copy_on_write)
        advice.push_back(fmt::format("{} copies on write: every sync may move blocks, so commits are slower and files "
                                     "fragment; prefer ext4 or xfs, or disable copy-on-write for the pool's directory",
                                     on.file_system));
    if (on.kind == medium::tmpfs)
        advice.push_back("for data that must survive a restart of the machine, put the pool on a disk; open it here "
                         "at level process");
    if (on.kind == medium::file && costs.durable64.median_ns > 1e6)
        advice.push_back(fmt::format("a sync takes {} here: combine changes into larger transactions, commit from "
                                     "several threads, or use level process if losing the latest changes is acceptable",
                                     readable_ns(costs.durable64.median_ns)));
    if (on.kind == medium::file)
        advice.push_back("at level power, open the pool with engine redo; if the data need to survive only a kill of "
                         "the process, level process costs no sync; nor does on_power_fail, where a power supply "
                         "with a battery says in time that the power will fail");
    return advice;
}

std::string words_for_records(const persist::storage& on, const measured_costs& costs) {
    if (!on.byte_addressable()) return {};
    if (on.domain == persistence_domain::cpu_cache) return "stored through the cache: it survives";
    if (costs.streamed_from_bytes == 0) return "streamed past the cache, which is the cheaper way here";
    if (costs.streamed_from_bytes == persist::never_streamed)
        return "stored through the cache and written back, which is the cheaper way here";
    return fmt::format("of {} bytes and more streamed past the cache, shorter ones stored through it and written back",
                       costs.streamed_from_bytes);
}

std::vector<std::pair<const char*, const measured_cost*>> named(const measured_costs& costs) {
    return {{"fence", &costs.fence},       {"line", &costs.line},           {"lines8", &costs.lines8},
            {"append64", &costs.append64}, {"append256", &costs.append256}, {"sync", &costs.sync},
            {"durable64", &costs.durable64}};
}

const char* words_for_cost(std::string_view name) {
    if (name == "fence") return "fence with nothing pending";
    if (name == "line") return "store, write-back and fence of a line";
    if (name == "lines8") return "the same for 8 lines, one fence";
    if (name == "append64") return "64 streamed bytes and a fence";
    if (name == "append256") return "256 streamed bytes and a fence";
    if (name == "sync") return "write of 4 KiB and fdatasync";
    return "64 durable bytes (RWF_DSYNC)";
}

json json_of(const std::string& path, const persist::storage& on, const measured_costs& costs,
             const std::vector<offer>& offers) {
    json value;
    value["path"] = path;
    value["file_system"] = on.file_system;
    value["medium"] = persist::name_of(on.kind);
    value["copy_on_write"] = on.copy_on_write;
    value["map_sync"] = on.map_sync;
    value["persistence_domain"] = on.byte_addressable() ? json(persist::name_of(on.domain)) : json(nullptr);
    value["write_back_instruction"] = persist::name_of(persist::chosen_write_back_kind());
    value["streamed_from_bytes"] = on.byte_addressable() ? json(costs.streamed_from_bytes) : json(nullptr);
    value["hardware_transactions"] = htm::obstacle_here() == nullptr;
    for (const auto& [name, cost] : named(costs))
        value["costs"][name] = {{"ns", cost->median_ns},
                                {"min_ns", cost->min_ns},
                                {"max_ns", cost->max_ns},
                                {"runs", cost->repetitions}};
    for (const offer& each : offers)
        value["levels"].push_back({{"engine", each.engine},
                                   {"level", name_of(each.promise)},
                                   {"offered", each.offered},
                                   {"words", each.words}});
    value["advice"] = advice_for(on, costs);
    return value;
}

std::string report_of(const std::string& path, const persist::storage& on, const measured_costs& costs,
                      const std::vector<offer>& offers, const std::string& measured_in) {
    table facts;
    facts.add("path", path);
    facts.add("file system", on.file_system + (on.copy_on_write ? " (WARNING: copies on write)" : ""));
    facts.add("medium", words_for_medium(on));
    facts.add("MAP_SYNC", on.map_sync ? "accepted" : "refused");
    facts.add("persistence domain", words_for_domain(on));
    facts.add("write-back by", std::string(persist::name_of(persist::chosen_write_back_kind())));
    if (const std::string words = words_for_records(on, costs); !words.empty()) facts.add("log records", words);
    const char* const obstacle = htm::obstacle_here();
    facts.add("hardware transactions", obstacle == nullptr ? "RTM, for cc_htm_hardware" : obstacle);
    std::string text = facts.text() + fmt::format("\nMeasured {}, median (fastest to slowest)\n", measured_in);
    for (const auto& [name, cost] : named(costs))
        text += fmt::format("  {:<40}{:>9}  ({} to {})\n", words_for_cost(name), readable_ns(cost->median_ns),
                            readable_ns(cost->min_ns), readable_ns(cost->max_ns));
    text += "\nAvailable durability levels\n";
    for (const offer& each : offers)
        text += fmt::format("  {:<14}{:<9}{}{}\n", each.engine, name_of(each.promise), each.offered ? "" : "no: ",
                            each.words);
    const auto advice = advice_for(on, costs);
    if (!advice.empty()) text += "\nAdvice\n";
    for (const auto& sentence : advice) text += "  * " + sentence + "\n";
    return text;
}

std::uint64_t key_of(const std::string& text) {
    std::uint64_t key = 0;
    const auto read = std::from_chars(text.data(), text.data() + text.size(), key, 16);
    if (read.ec == std::errc{} && read.ptr == text.data() + text.size()) return key;
    throw failure(error{.code = errc::invalid_argument, .what = "no save has such a key",
                        .expected = "1 to 16 hexadecimal digits, as doctor prints them", .found = text});
}

int examine(const doctor_options& options, bool as_json) {
    if (!options.forgotten_save.empty()) forget_save(key_of(options.forgotten_save));
    persist::discovery where;
    where.tmpfs_is_nvram = options.nvram;
    const auto on = persist::discover(options.path, where).value();
    const std::filesystem::path path(options.path);
    std::string directory = options.path;
    if (!std::filesystem::is_directory(path))
        directory = path.has_parent_path() ? path.parent_path().string() : std::string(".");
    // A scratch pool on a device would take the place of what is there.
    const bool is_device = persist::find_device(options.path).has_value();
    if (is_device) directory = "/dev/shm";
    const auto measured = is_device ? persist::discover(directory, {.tmpfs_is_nvram = true}).value() : on;
    const auto costs = persist::measure(directory, measured).value();
    const auto offers = offers_on(options.path, on, costs);
    const auto power = examine_power(directory, on, options.drill ? options.threads : 0);
    if (as_json) {
        json all = json_of(options.path, on, costs, offers);
        all["power_failure"] = json_of(power);
        print_json(all);
    } else {
        const std::string measured_in = is_device ? "in " + directory + ", not on the device" : "here";
        print(report_of(options.path, on, costs, offers, measured_in) + text_of(power));
    }
    const bool is_saved = power.drill && power.drill->alarm.pools + power.drill->alarm.at_power == 1;
    const bool failed = options.drill && !(is_saved && power.drill->is_clean);
    return failed ? exit_failed : exit_success;
}

}  // namespace

void add_doctor_command(CLI::App& application, command_line& line) {
    auto* doctor = application.add_subcommand(
        "doctor", "Report which durability a path provides, and measure its cost there");
    auto options = std::make_shared<doctor_options>();
    doctor->add_option("PATH", options->path, "A directory or a file")->required();
    doctor->add_flag("--nvram", options->nvram, "Let tmpfs emulate byte-addressable NVRAM (for measurements)");
    auto* drill = doctor->add_flag("--drill", options->drill,
                                   "Simulate a power failure of a scratch pool that turns out to be a false alarm");
    doctor->add_option("--threads", options->threads, "Threads that commit meanwhile")
        ->needs(drill)->check(CLI::Range(1, 64))->capture_default_str();
    doctor->add_option("--forget-save", options->forgotten_save,
                       "Delete a save of a deleted pool, by its key, from the kernel module's region")
        ->type_name("KEY");
    add_json_flag(*doctor, line);
    doctor->callback([options, &line] { line.run = [options, &line] { return examine(*options, line.json); }; });
}

}  // namespace holdfast::tools
