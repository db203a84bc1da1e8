// `holdfast pool dump`: what stands in a pool's file, structure by structure, as far as it can be read.
#include "command.hpp"
#include "kv.hpp"
#include "output.hpp"

#include <holdfast/handle/roots.hpp>
#include <holdfast/heap/heap_format.hpp>
#include <holdfast/log/record.hpp>
#include <holdfast/log/replay.hpp>
#include <holdfast/log/truncation.hpp>
#include <holdfast/pool/open_pool.hpp>
#include <holdfast/pool/superblock.hpp>

#include <fmt/core.h>

#include <map>
#include <memory>
#include <span>

namespace holdfast::tools {
namespace {

const char* name_of(format::record_kind kind) noexcept {
    switch (kind) {
        case format::record_kind::redo: return "redo";
        case format::record_kind::undo: return "undo";
        case format::record_kind::undo_end: return "undo_end";
        case format::record_kind::undo_fenced: return "undo_fenced";
    }
    return "?";
}

const char* name_of(segment_header_view::state is) noexcept {
    switch (is) {
        case segment_header_view::state::unused: return "unused";
        case segment_header_view::state::emptied: return "emptied";
        case segment_header_view::state::sealed: return "sealed";
        case segment_header_view::state::broken: return "broken";
    }
    return "?";
}

/// Builds the dump. What cannot be read becomes a member `damage` where it would have stood.
class dumper {
public:
    dumper(const std::string& path, bool payload) : path_(path), payload_(payload) {}

    json run() {
        for (;;) {
            const auto file = persist::file::open(path_, persist::file::access::read_only).value();
            json dump = dump_of(file);
            // One file's parts, not those of two of which one has replaced the other.
            if (file.is_at_path().value()) return dump;
        }
    }

private:
    json dump_of(const persist::file& file) {
        json dump;
        dump["path"] = path_;
        for (const unsigned copy : {0u, 1u}) dump["superblocks"].push_back(superblock(file, copy));
        const auto header = read_superblock(file);
        if (!header) {
            dump["damage"] = header.error().text();
            return dump;
        }
        header_ = *header;
        {
            auto mapped = persist::mapping::map(file, 0, header_.pool_bytes, header_.pool_bytes,
                                                persist::mapping::kind::private_copy)
                              .value();
            bytes_ = {mapped.data(), mapped.size()};
            dump["log"] = log();
            dump["heap"] = heap_summary();
        }
        add_recovered(dump);
        return dump;
    }

    json superblock(const persist::file& file, unsigned copy) const {
        json value{{"offset", format::superblock_offset[copy]}};
        const auto block = read_superblock_copy(file, copy);
        if (!block) {
            value["damage"] = block.error().text();
            return value;
        }
        value["generation"] = block->generation;
        value["version"] = fmt::format("{}.{}", block->version_major, block->version_minor);
        value["required_features"] = block->required_features;
        value["optional_features"] = block->optional_features;
        value["state"] = block->state == format::pool_state::clean   ? "clean"
                         : block->state == format::pool_state::dirty ? "dirty"
                                                                     : "saved";
        value["level"] = holdfast::name_of(static_cast<level>(block->level));
        value["engine"] = text_of(block->engine);
        value["layout"] = text_of(block->layout);
        value["boot_id"] = text_of(block->boot_id);
        value["pool_id"] = hexadecimal(block->pool_id);
        value["base"] = hexadecimal(block->base);
        value["reserved_bytes"] = block->reserved_bytes;
        value["pool_bytes"] = block->pool_bytes;
        value["log"] = {{"offset", block->log_offset},
                        {"bytes", block->log_bytes},
                        {"segment_bytes", block->segment_bytes}};
        for (std::uint32_t i = 0; i < block->zone_count; ++i)
            value["zones"].push_back({{"offset", block->zones[i].offset}, {"bytes", block->zones[i].bytes}});
        return value;
    }

    json log() const {
        const log_geometry log = log_of(header_);
        json value;
        for (const std::uint64_t offset : format::truncation_slot_offset) {
            format::truncation_slot slot;
            std::memcpy(&slot, bytes_.data() + log.offset + offset, sizeof slot);
            json found{{"offset", log.offset + offset}};
            if (truncation_slot_valid(slot)) {
                found["sequence"] = slot.sequence;
            } else {
                found["damage"] = "fails its checksum";
            }
            value["truncation"].push_back(std::move(found));
        }
        value["segments"] = json::array();
        for (std::uint32_t i = 0; i < log.segment_count(); ++i)
            if (json found = segment(log, i); !found.is_null()) value["segments"].push_back(std::move(found));
        const auto replay = log_replay::read(bytes_, log, log_reading::salvage);
        if (!replay) return value["damage"].push_back(replay.error().text()), value;
        value["truncated"] = replay->report().truncated;
        value["needed"] = replay->report().records;
        for (const error& each : replay->damage()) value["damage"].push_back(each.text());
        return value;
    }

    /// null for one that was never used.
    json segment(const log_geometry& log, std::uint32_t index) const {
        const auto header = read_segment_header(bytes_.data(), log, index);
        if (header.is == segment_header_view::state::unused) return {};
        json value{{"segment", index}, {"offset", log.segment_offset(index)}, {"header", name_of(header.is)}};
        if (header.is == segment_header_view::state::emptied) return value;
        value["salt"] = hexadecimal(header.salt);
        value["acknowledged"] = header.acknowledged;
        value["truncated"] = header.truncated;
        value["records"] = json::array();
        for (const std::uint64_t salt : {header.salt, header.other_salt}) {
            if (!value["records"].empty()) break;
            add_records(value["records"], log, index, seed_of_salt(salt));
        }
        return value;
    }

    void add_records(json& records, const log_geometry& log, std::uint32_t index, std::uint32_t seed) const {
        const std::byte* begin = bytes_.data() + log.segment_offset(index);
        record_view view;
        for (std::uint64_t at = format::segment_header_bytes;
             read_record(begin + at, begin + log.segment_bytes, seed, view);
             at += format::record_bytes(view.header.payload_words)) {
            json record{{"offset", log.segment_offset(index) + at},
                        {"sequence", view.header.sequence},
                        {"kind", name_of(view.header.kind)},
                        {"part", view.header.part},
                        {"parts", view.header.parts},
                        {"words", view.header.payload_words}};
            record["entries"] = entries({view.payload, view.header.payload_words});
            records.push_back(std::move(record));
        }
    }

    json entries(std::span<const std::uint64_t> payload) const {
        json all = json::array();
        for (std::size_t at = 0; at < payload.size();) {
            const format::entry each = format::entry_of(payload[at]);
            const std::uint64_t rest = payload.size() - at - 1;
            json value{{"offset", each.offset}, {"words", each.words}};
            if (each.mask != 0xFF) value["mask"] = hexadecimal(each.mask);
            if (each.words == 0 || each.words > rest) value["damage"] = "longer than its record";
            for (std::uint64_t i = 0; payload_ && i < std::min(each.words, rest); ++i)
                value["values"].push_back(hexadecimal(payload[at + 1 + i]));
            all.push_back(std::move(value));
            at += 1 + std::max<std::uint64_t>(each.words, 1);
        }
        return all;
    }

    /// Of the file as it stands; recovery may change it.
    json heap_summary() const {
        using namespace heap_format;
        json value = json::array();
        for (std::uint32_t i = 0; i < header_.zone_count; ++i) {
            const heap_zone zone{header_.zones[i].offset, header_.zones[i].bytes};
            const zone_header shape = header_for(zone.offset, zone.bytes);
            std::map<std::uint32_t, std::uint64_t> slabs, large;
            for (std::uint64_t index = 0; index < shape.page_count; ++index) {
                std::uint64_t word;
                std::memcpy(&word, bytes_.data() + shape.table_offset + index * 8, sizeof word);
                const std::uint64_t page = shape.data_offset / page_bytes + index;
                const descriptor what = decode(word, index, page, shape.page_count).what;
                if (what.kind == kind_slab) ++slabs[slab_classes[what.slab_class].block_bytes];
                if (what.kind == kind_large) ++large[what.pages];
            }
            const heap_audit audit = heap::audit(bytes_.data(), std::span(&zone, 1), {}, false);
            json found{{"offset", zone.offset},
                       {"bytes", zone.bytes},
                       {"blocks", audit.usage.allocated_blocks},
                       {"allocated_bytes", audit.usage.allocated_bytes},
                       {"free_pages", audit.usage.free_pages}};
            for (const auto& [bytes, count] : slabs)
                found["slabs"].push_back({{"block_bytes", bytes}, {"slabs", count}});
            for (const auto& [pages, count] : large)
                found["large_blocks"].push_back({{"pages", pages}, {"blocks", count}});
            for (const std::string& each : audit.problems) found["damage"].push_back(each);
            value.push_back(std::move(found));
        }
        return value;
    }

    /// What needs the log applied and the pool at its address.
    void add_recovered(json& dump) const {
        const auto pool = open_pool::inspect(path_);
        if (!pool) {
            dump["recovery"] = {{"damage", pool.error().text()}};
            return;
        }
        std::vector<error> damaged;
        const auto roots = list_roots(**pool, damaged);
        dump["roots"]["entries"] = json::array();
        for (const root_listing& each : roots)
            dump["roots"]["entries"].push_back({{"name", each.name},
                                                {"offset", each.offset},
                                                {"bytes", each.bytes},
                                                {"alignment", each.alignment},
                                                {"version", each.version}});
        for (const error& each : damaged) dump["roots"]["damage"].push_back(each.text());
        if (text_of(header_.layout) != kv_layout) return;
        json& kv = dump["kv"];
        if (const kv_findings found = check_kv(**pool, roots); found.problem) {
            kv["damage"] = *found.problem;
            return;
        }
        kv["entries"] = json::array();
        visit_kv(**pool, roots, [&](std::string_view key, std::string_view value) {
            kv["entries"].push_back({{"key", key}, {"value", value}});
        });
    }

    std::string path_;
    bool payload_;
    format::superblock header_{};
    std::span<const std::byte> bytes_;
};

/// One value on a line; strings without quotes.
std::string plain(const json& value) {
    if (value.is_string()) return value.get<std::string>();
    return value.dump(-1, ' ', false, json::error_handler_t::replace);
}

bool is_leaf(const json& value) {
    if (!value.is_structured()) return true;
    for (const json& each : value)
        if (each.is_structured()) return false;
    return value.is_object();
}

/// The members of an object in one line.
std::string in_line(const json& value) {
    if (!value.is_object()) return plain(value);
    std::string text;
    for (const auto& [name, each] : value.items()) text += (text.empty() ? "" : "  ") + name + " " + plain(each);
    return text;
}

/// Indented text; objects of plain values take a line each.
void write_text(const json& value, std::size_t depth, std::string& out) {
    const std::string indent(depth * 2, ' ');
    if (value.is_array()) {
        for (const json& each : value) {
            if (is_leaf(each)) {
                out += indent + in_line(each) + "\n";
            } else {
                write_text(each, depth, out);
            }
        }
        return;
    }
    std::string line;
    for (const auto& [name, each] : value.items())
        if (!each.is_structured()) line += (line.empty() ? "" : "  ") + name + " " + plain(each);
    if (!line.empty()) out += indent + line + "\n";
    for (const auto& [name, each] : value.items()) {
        if (!each.is_structured() || each.empty()) continue;
        out += indent + (line.empty() ? "" : "  ") + name + "\n";
        write_text(each, depth + (line.empty() ? 1 : 2), out);
    }
}

}  // namespace

void add_pool_dump_command(CLI::App& pool, command_line& line) {
    auto* command = pool.add_subcommand(
        "dump", "Print the contents of a pool: superblocks, log with its records, heap, roots, and kv entries");
    auto file = std::make_shared<std::string>();
    auto payload = std::make_shared<bool>(false);
    command->add_option("FILE", *file, "The pool's file; may be damaged, must not be in use")->required();
    command->add_flag("--payload", *payload, "Also print the words in log records");
    add_json_flag(*command, line);
    command->callback([file, payload, &line] {
        line.run = [file, payload, &line] {
            const json dump = dumper(*file, *payload).run();
            if (line.json) {
                print_json(dump);
            } else {
                std::string text;
                write_text(dump, 0, text);
                print(text);
            }
            return exit_success;
        };
    });
}

}  // namespace holdfast::tools
