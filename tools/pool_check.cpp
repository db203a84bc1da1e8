// `holdfast pool check`: whether a pool is sound, without changing a byte of it.
#include "command.hpp"
#include "kv.hpp"
#include "output.hpp"
#include "progress.hpp"

#include <holdfast/base/checksum.hpp>
#include <holdfast/engine/roots.hpp>
#include <holdfast/pool/open_pool.hpp>
#include <holdfast/pool/superblock.hpp>

#include <fmt/core.h>

#include <cstddef>
#include <cstring>
#include <memory>

namespace holdfast::tools {
namespace {

/// One part of the check and what it found.
struct finding {
    std::string part;
    bool sound;
    std::string words;
};

class pool_checker {
public:
    explicit pool_checker(const std::string& path) : bar_("checking " + path, 5), path_(path) {}

    /// Later parts rely on earlier ones, so the first that cannot be read ends the check.
    void run() {
        if (!check_header()) return;
        auto pool = open_pool::inspect(path_);
        if (!pool) {
            rethrow_unless_damage(pool.error());
            return bad("recovery", pool.error());
        }
        pool_ = std::move(*pool);
        check_log();
        if (check_roots()) check_contents();
    }

    bool sound() const {
        for (const finding& each : findings_)
            if (!each.sound) return false;
        return true;
    }

    json to_json() const {
        json value;
        value["path"] = path_;
        value["sound"] = sound();
        for (const finding& each : findings_)
            value["parts"].push_back({{"part", each.part}, {"sound", each.sound}, {"words", each.words}});
        return value;
    }

    std::string text() const {
        std::string text;
        for (const finding& each : findings_)
            text += fmt::format("{:<10}{:<5}{}\n", each.part, each.sound ? "ok" : "BAD", each.words);
        return text + fmt::format("{}: {}\n", path_, sound() ? "sound" : "DAMAGED");
    }

private:
    void good(std::string part, std::string words) { add({std::move(part), true, std::move(words)}); }
    void bad(std::string part, std::string words) { add({std::move(part), false, std::move(words)}); }
    void bad(std::string part, const error& reason) { bad(std::move(part), reason.text()); }
    void add(finding found) {
        findings_.push_back(std::move(found));
        bar_.at(findings_.size());
    }

    /// What keeps the pool from being looked at says nothing about its soundness.
    static void rethrow_unless_damage(const error& reason) {
        if (reason.code != errc::corrupt && reason.code != errc::truncated) throw failure(reason);
    }

    bool check_header() {
        auto file = persist::file::open(path_, persist::file::access::read_only).value();
        const auto header = read_superblock(file);
        if (!header) {
            rethrow_unless_damage(header.error());
            return bad("header", header.error()), false;
        }
        clean_ = header->state == format::pool_state::clean;
        std::string words = fmt::format("format {}.{}, engine {}, {}", header->version_major, header->version_minor,
                                        text_of(header->engine), clean_ ? "clean" : "not closed");
        layout_ = text_of(header->layout);
        for (const unsigned copy : {0u, 1u})
            if (!copy_is_valid(file, copy)) words += fmt::format("; copy {} of 2 is torn, the other counts", copy + 1);
        good("header", std::move(words));
        return true;
    }

    static bool copy_is_valid(const persist::file& file, unsigned copy) {
        format::superblock block;
        return file.read_at(format::superblock_offset[copy], &block, sizeof block).has_value() &&
               std::memcmp(block.magic, format::magic, sizeof block.magic) == 0 &&
               block.checksum == ~crc32c(&block, offsetof(format::superblock, checksum), ~0u);
    }

    void check_log() {
        const replay_report& found = pool_->recovery();
        if (clean_) return good("log", "nothing to recover");
        good("log", fmt::format("{} records, of which opening applies {}; checked as if applied", found.records,
                                found.applied));
    }

    bool check_roots() {
        auto roots = list_roots(*pool_);
        if (!roots) return bad("roots", roots.error()), false;
        roots_ = std::move(*roots);
        std::string names;
        for (const root_listing& root : roots_) names += (names.empty() ? "" : ", ") + root.name;
        good("roots", roots_.empty() ? "none" : names);
        return true;
    }

    void check_contents() {
        std::vector<const void*> owned;
        const bool is_kv = layout_ == kv_layout;
        // A layout the command does not know may own blocks that only its program can name.
        bool owners_known = is_kv;
        const auto plain = heap::audit(pool_->base(), pool_->zones(), {}, false);
        if (!plain.clean()) return report_heap(plain);
        if (is_kv) {
            const kv_findings found = check_kv(*pool_, roots_);
            owned = found.owned;
            owners_known = !found.problem;
            if (found.problem) {
                bad("kv", *found.problem);
            } else {
                good("kv", fmt::format("{} entries in order", found.entries));
            }
        }
        if (!owners_known) return report_heap(plain);
        report_heap(heap::audit(pool_->base(), pool_->zones(), owned, true));
    }

    void report_heap(const heap_audit& audit) {
        if (!audit.clean()) {
            std::string words = fmt::format("{} leaked, {} owned twice, {} dangling, {} damaged", audit.leaked_blocks,
                                            audit.double_owners, audit.dangling_owners, audit.bad_metadata);
            for (const auto& problem : audit.problems) words += "\n" + std::string(15, ' ') + problem;
            return bad("heap", std::move(words));
        }
        good("heap", fmt::format("{} blocks, {} of {} in use", audit.usage.allocated_blocks,
                                 readable_bytes(audit.usage.allocated_bytes),
                                 readable_bytes(audit.usage.capacity_bytes)));
    }

    progress bar_;
    std::string path_;
    std::unique_ptr<open_pool> pool_;
    std::string layout_;
    bool clean_ = false;
    std::vector<root_listing> roots_;
    std::vector<finding> findings_;
};

}  // namespace

void add_pool_check_command(CLI::App& pool, command_line& line) {
    auto* command = pool.add_subcommand(
        "check", "Validate a pool without changing it: header, log, roots, heap, and kv contents with their owners");
    auto file = std::make_shared<std::string>();
    command->add_option("FILE", *file, "The pool's file; must not be in use")->required();
    add_json_flag(*command, line);
    command->callback([file, &line] {
        line.run = [file, &line] {
            pool_checker checker(*file);
            checker.run();
            if (line.json) {
                print_json(checker.to_json());
            } else {
                print(checker.text());
            }
            return checker.sound() ? exit_success : exit_failed;
        };
    });
}

}  // namespace holdfast::tools
