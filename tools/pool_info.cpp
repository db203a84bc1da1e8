// `holdfast pool info`: what stands in a pool's header. Works while the pool is in use. A pool of DNV Memory is looked
// into if it is not in use: what flipped bits did to it stands nowhere else.
#include "command.hpp"
#include "output.hpp"

#include <holdfast/pool/open_pool.hpp>
#if HOLDFAST_HAS_DNV
#include <holdfast/dnv/check.hpp>
#endif

#include <fmt/core.h>

#include <memory>

namespace holdfast::tools {
namespace {

std::string state_of(const pool_info& info) {
    if (info.clean) return "clean: closed after its last use";
    const std::string at = fmt::format("at level {}", name_of(info.last_level));
    if (info.same_boot) return "in use, or left by a killed process; was open " + at;
    if (survives_power(info.last_level)) return "left open when the machine went down; was open " + at;
    return "left open when the machine went down or a sync failed; was open " + at +
           ", so its latest changes may be lost";
}

#if HOLDFAST_HAS_DNV
std::string damaged_of(const dnv::damage_listing& found) {
    std::string text;
    for (const void* each : found.words)
        text += (text.empty() ? "at " : ", ") + hexadecimal(reinterpret_cast<std::uintptr_t>(each));
    if (found.further != 0) text += fmt::format(" and {} more", found.further);
    return text.empty() ? "none known" : text;
}
#endif

/// What was corrected, and what nothing corrects.
void add_damages([[maybe_unused]] table& facts, [[maybe_unused]] const pool_info& info) {
#if HOLDFAST_HAS_DNV
    if (info.engine != dnv::engine_name) return;
    const auto found = dnv::list_damages_of(info.path);
    if (!found) {
        const bool is_busy = found.error().code == errc::busy;
        facts.add("flipped bits", is_busy ? "not known while the pool is in use" : found.error().text());
        return;
    }
    facts.add("flipped bits", fmt::format("{} in {} words were corrected", found->mended_bits, found->mended_words));
    facts.add("damaged words", damaged_of(*found));
#endif
}

json json_of(const pool_info& info) {
    json value = to_json(info);
#if HOLDFAST_HAS_DNV
    if (info.engine != dnv::engine_name) return value;
    const auto found = dnv::list_damages_of(info.path);
    value["damages"] = nullptr;
    if (!found) return value;
    json& damages = value["damages"];
    damages = {{"mended_words", found->mended_words},
               {"mended_bits", found->mended_bits},
               {"further_damaged_words", found->further},
               {"damaged_words", json::array()}};
    for (const void* each : found->words)
        damages["damaged_words"].push_back(reinterpret_cast<std::uintptr_t>(each));
#endif
    return value;
}

std::string report_of(const pool_info& info) {
    table facts;
    facts.add("file", info.path);
    facts.add("layout", info.layout.empty() ? "(none)" : info.layout);
    facts.add("engine", info.engine);
    facts.add("format", fmt::format("{}.{}", info.version_major, info.version_minor));
    facts.add("state", state_of(info));
    facts.add("size", info.zones == 1 ? readable_bytes(info.bytes)
                                     : fmt::format("{}, grown {} of at most {} times", readable_bytes(info.bytes),
                                                   info.zones - 1, format::zone_limit - 1));
    facts.add("log", fmt::format("{} in segments of {}", readable_bytes(info.log_bytes),
                                 readable_bytes(info.segment_bytes)));
    facts.add("address", fmt::format("{}, {} reserved", hexadecimal(info.base), readable_bytes(info.reserved_bytes)));
    facts.add("pool id", hexadecimal(info.pool_id));
    facts.add("generation", std::to_string(info.generation));
    if (info.storage.kind == persist::medium::file)
        facts.add("memory", std::string(info.engine == "cc_htm" ? "at levels lag and power" : "at level power") +
                                " at most " + readable_bytes(persist::memory_bytes() / 4) +
                                " for changed pages, unless a program sets another bound");
    facts.add("medium", fmt::format("{} on {}", persist::name_of(info.storage.kind), info.storage.file_system));
    add_damages(facts, info);
    return facts.text();
}

}  // namespace

void add_pool_info_command(CLI::App& pool, command_line& line) {
    auto* command = pool.add_subcommand("info", "Print a pool's header");
    auto file = std::make_shared<std::string>();
    command->add_option("FILE", *file, "The pool's file")->required();
    add_json_flag(*command, line);
    command->callback([file, &line] {
        line.run = [file, &line] {
            const pool_info info = open_pool::info(*file).value();
            if (line.json) {
                print_json(json_of(info));
            } else {
                print(report_of(info));
            }
            return exit_success;
        };
    });
}

}  // namespace holdfast::tools
