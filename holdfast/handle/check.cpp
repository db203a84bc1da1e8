#include <holdfast/handle/check.hpp>

#include <holdfast/handle/line_check.hpp>
#include <holdfast/handle/line_pool.hpp>
#include <holdfast/log/replay.hpp>
#include <holdfast/log/truncation.hpp>
#include <holdfast/pool/superblock.hpp>

#include <algorithm>
#include <cstring>
#include <utility>

namespace holdfast {
namespace {

using verdict = check_finding::verdict;

/// What is wrong with the pool, and not with the question.
bool is_damage(const error& reason) noexcept {
    return reason.code == errc::corrupt || reason.code == errc::truncated;
}

class checker {
public:
    checker(const std::string& path, const std::function<void(const check_finding&)>& on_finding)
        : path_(path), on_finding_(on_finding) {}

    result<check_report> run(const contents_checker& contents) {
        // One file for all that follows, whatever the name stands for by then.
        auto file = persist::file::open_locked(path_, persist::file::access::read_only);
        if (!file) return file.error();
        auto header = check_header(*file);
        if (!header) return header.error();
        if (!*header) return std::move(report_);
        auto pool = open_pool::inspect(std::move(*file));
        if (!pool) {
            if (!is_damage(pool.error())) return pool.error();
            add("recovery", verdict::damaged, pool.error().text());
            return std::move(report_);
        }
        pool_ = std::move(*pool);
        check_log();
        if (check_roots()) check_contents(contents);
        return std::move(report_);
    }

private:
    void add(std::string part, verdict is, std::string words) {
        report_.findings.push_back({std::move(part), is, std::move(words)});
        if (on_finding_) on_finding_(report_.findings.back());
    }

    /// False: nothing more can be read.
    result<bool> check_header(const persist::file& file) {
        const auto header = read_superblock(file);
        if (!header) {
            if (!is_damage(header.error())) return header.error();
            add("header", verdict::damaged, header.error().text());
            return false;
        }
        header_ = *header;
        const bool clean = header->state == format::pool_state::clean;
        std::string words = "format " + std::to_string(header->version_major) + "." +
                            std::to_string(header->version_minor) + ", engine ";
        words.append(text_of(header->engine)).append(clean ? ", clean" : ", not closed");
        verdict is = verdict::sound;
        for (const unsigned copy : {0u, 1u}) {
            const auto read = read_superblock_copy(file, copy);
            if (read && belongs(*read, *header)) continue;
            if (!read && read.error().code == errc::io) return read.error();
            is = verdict::worn;
            words += "; copy " + std::to_string(copy + 1) + " of 2 is torn, the other counts";
        }
        const auto torn = may_be_torn(*header, file);
        if (!torn) return torn.error();
        if (*torn) {
            is = verdict::damaged;
            words += "; it was in use below power when the machine went down or a sync failed, its log in memory is "
                     "gone, or it is a copy or an older state of the pool: it may be torn, and opening refuses it "
                     "(accept_not_durable)";
        }
        add("header", is, std::move(words));
        return true;
    }

    /// Whether a valid copy can be the one written before or after `other`: only growing changes a pool's shape.
    static bool belongs(const format::superblock& copy, const format::superblock& other) noexcept {
        const std::uint64_t apart = copy.generation > other.generation ? copy.generation - other.generation
                                                                       : other.generation - copy.generation;
        return apart <= 1 && copy.pool_id == other.pool_id && copy.base == other.base &&
               copy.log_offset == other.log_offset && copy.log_bytes == other.log_bytes &&
               copy.segment_bytes == other.segment_bytes &&
               ((copy.required_features ^ other.required_features) & ~format::feature_shadow_log) == 0 &&
               std::memcmp(copy.engine, other.engine, sizeof copy.engine) == 0;
    }

    void check_log() {
        const replay_report& found = pool_->recovery();
        const bool clean = header_.state == format::pool_state::clean;
        std::string words = "nothing to recover";
        if (found.records != 0 || !clean)
            words = std::to_string(found.records) + " records, of which opening applies " +
                    std::to_string(found.applied) + "; checked as if applied";
        verdict is = verdict::sound;
        for (const unsigned slot : {0u, 1u}) {
            format::truncation_slot read;
            std::memcpy(&read, pool_->base() + header_.log_offset + format::truncation_slot_offset[slot], sizeof read);
            if (truncation_slot_valid(read)) continue;
            is = verdict::worn;
            words += "; slot " + std::to_string(slot + 1) + " of 2 of the truncation point is torn, the other counts";
        }
        // Closing brings everything home: an older copy speaks for a pool whose newer one is lost.
        if (clean && found.records != 0) {
            is = verdict::worn;
            words += "; the superblock that says clean is not the newest";
        }
        add("log", is, std::move(words));
    }

    bool check_roots() {
        std::vector<error> damaged;
        roots_ = list_roots(*pool_, damaged);
        std::string words;
        for (const root_listing& root : roots_) words += (words.empty() ? "" : ", ") + root.name;
        if (words.empty()) words = "none";
        for (const error& each : damaged) words += "\n" + each.text();
        add("roots", damaged.empty() ? verdict::sound : verdict::damaged, std::move(words));
        return damaged.empty();
    }

    std::optional<contents_finding> find_contents(const contents_checker& contents) {
        if (pool_->engine_name() == line_engine::description.name) return check_lines(*pool_, roots_);
        return contents ? contents(*pool_, roots_) : std::nullopt;
    }

    void check_contents(const contents_checker& contents) {
        const auto plain = heap::audit(pool_->base(), pool_->zones(), {}, false);
        if (!plain.clean()) return report_heap(plain);
        auto found = find_contents(contents);
        // A layout that nobody here knows may own blocks that only its program can name.
        if (!found) return report_heap(plain);
        if (found->problem) {
            add(found->part, verdict::damaged, *found->problem);
            return report_heap(plain);
        }
        add(found->part, verdict::sound, found->words);
        report_heap(heap::audit(pool_->base(), pool_->zones(), found->owned, true));
    }

    void report_heap(const heap_audit& audit) {
        const heap_usage& usage = audit.usage;
        if (audit.clean())
            return add("heap", verdict::sound,
                       std::to_string(usage.allocated_blocks) + " blocks, " + std::to_string(usage.allocated_bytes) +
                           " of " + std::to_string(usage.capacity_bytes) + " bytes in use");
        std::string words = std::to_string(audit.leaked_blocks) + " leaked, " + std::to_string(audit.double_owners) +
                            " owned twice, " + std::to_string(audit.dangling_owners) + " dangling, " +
                            std::to_string(audit.bad_metadata) + " damaged";
        for (const auto& problem : audit.problems) words += "\n" + problem;
        add("heap", verdict::damaged, std::move(words));
    }

    std::string path_;
    const std::function<void(const check_finding&)>& on_finding_;
    format::superblock header_{};
    std::unique_ptr<open_pool> pool_;
    std::vector<root_listing> roots_;
    check_report report_;
};

}  // namespace

bool check_report::sound() const noexcept {
    return std::none_of(findings.begin(), findings.end(),
                        [](const check_finding& each) { return each.is == verdict::damaged; });
}

bool check_report::worn() const noexcept {
    return std::any_of(findings.begin(), findings.end(),
                       [](const check_finding& each) { return each.is == verdict::worn; });
}

result<check_report> check_pool(const std::string& path, const contents_checker& contents,
                                const std::function<void(const check_finding&)>& on_finding) {
    return checker(path, on_finding).run(contents);
}

}  // namespace holdfast
