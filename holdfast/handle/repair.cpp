#include <holdfast/handle/repair.hpp>

#include <holdfast/log/segments.hpp>
#include <holdfast/persist/copy_file.hpp>
#include <holdfast/persist/sites.hpp>

#include <algorithm>
#include <cinttypes>
#include <cstdio>
#include <filesystem>
#include <utility>

namespace holdfast {
namespace {

using outcome = repair_step::outcome;

/// The first name of this kind that nothing has.
std::string free_name(const std::string& wanted) {
    std::string name = wanted;
    // Where nobody can tell, copying refuses to replace.
    std::error_code ignored;
    for (unsigned number = 2; std::filesystem::exists(std::filesystem::symlink_status(name, ignored)); ++number)
        name = wanted + "-" + std::to_string(number);
    return name;
}

/// A copy of a file beside it, which goes unless it took another name.
class working_copy {
public:
    static result<working_copy> make(const persist::file& original) {
        for (;;) {
            char random[32];
            std::snprintf(random, sizeof random, ".repairing-%016" PRIx64, random_seed());
            working_copy made(original.path() + random);
            // Never in place of what somebody else has put there.
            const auto copied = persist::copy_to(original, made.path_);
            made.exists_ = copied.has_value();
            if (copied) return made;
            if (copied.error().code != errc::already_exists) return copied.error();
        }
    }
    ~working_copy() {
        std::error_code ignored;
        if (exists_) std::filesystem::remove(file_, ignored);
    }
    working_copy(working_copy&& other) noexcept
        : path_(std::move(other.path_)),
          file_(std::move(other.file_)),
          exists_(std::exchange(other.exists_, false)) {}
    working_copy& operator=(working_copy&&) = delete;

    const std::string& path() const noexcept { return path_; }
    /// Takes the place of what stands at `path`.
    result<void> replace(const std::string& path) {
        auto renamed = persist::rename_over(path_, path);
        if (renamed) exists_ = false;
        return renamed;
    }

private:
    explicit working_copy(std::string path) : path_(std::move(path)), file_(path_) {}

    std::string path_;
    std::filesystem::path file_;  ///< made before: removing must not need memory
    bool exists_ = false;
};

void add_all(std::vector<repair_step>& steps, const std::vector<std::string>& words, outcome is) {
    for (const std::string& each : words) steps.push_back({"heap", is, each});
}

/// Mends the heap of the pool at `path`, by its owners where they are known.
result<void> mend_heap(const std::string& path, const contents_checker& contents, std::vector<repair_step>& steps) {
    std::vector<heap_zone> zones;
    std::optional<std::vector<std::uint64_t>> owned;
    std::uint64_t bytes = 0;
    {
        auto pool = open_pool::inspect(path);
        if (!pool) return pool.error();
        zones.assign((*pool)->zones().begin(), (*pool)->zones().end());
        bytes = (*pool)->size();
        const bool all_roots = std::none_of(steps.begin(), steps.end(), [](const repair_step& each) {
            return each.part == "roots" && each.is == outcome::lost;
        });
        const auto roots = list_roots(**pool);
        auto found = all_roots && roots && contents ? contents(**pool, *roots) : std::nullopt;
        if (found && !found->problem) {
            owned.emplace();
            for (const void* each : found->owned)
                owned->push_back(static_cast<std::uint64_t>(static_cast<const std::byte*>(each) - (*pool)->base()));
        }
    }
    auto file = persist::file::open(path, persist::file::access::read_write);
    if (!file) return file.error();
    auto mapped = persist::mapping::map(*file, 0, bytes, bytes, persist::mapping::kind::shared);
    if (!mapped) return mapped.error();
    std::vector<const void*> addresses;
    if (owned)
        for (const std::uint64_t each : *owned) addresses.push_back(mapped->data() + each);
    const heap_repair done = heap::repair(mapped->data(), zones, owned ? &addresses : nullptr);
    add_all(steps, done.restored, outcome::restored);
    add_all(steps, done.freed, outcome::freed);
    add_all(steps, done.lost, outcome::lost);
    return mapped->sync_all(persist::site::pool_format);
}

result<void> mend(const std::string& path, const persist::file& original, const contents_checker& contents,
                  std::vector<repair_step>& steps) {
    {
        auto file = persist::file::open(path, persist::file::access::read_write);
        if (!file) return file.error();
        auto done = repair_metadata(*file, original);
        if (!done) return done.error();
        steps = std::move(*done);
    }
    return mend_heap(path, contents, steps);
}

error cannot_be_replaced(const std::string& path) {
    return error{.code = errc::misuse,
                 .what = "a pool on a device cannot be replaced by its mended copy",
                 .path = path,
                 .expected = "a file",
                 .found = "a device",
                 .remedy = "copy it to a file (holdfast pool copy), and repair that"};
}

}  // namespace

bool repair_report::all_saved() const noexcept {
    return after.sound() && std::none_of(steps.begin(), steps.end(), [](const repair_step& each) {
               return each.is == outcome::lost;
           });
}

result<repair_report> repair_pool(const std::string& path, const contents_checker& contents) {
    repair_report report;
    auto before = check_pool(path, contents);
    if (!before) return before.error();
    report.before = std::move(*before);
    report.after = report.before;
    if (report.before.sound() && !report.before.worn()) return report;

    // Held until the mended copy has the name: nobody opens what is about to be replaced.
    auto file = persist::file::open_locked(path, persist::file::access::read_write);
    if (!file) return file.error();
    if (file->is_device()) return cannot_be_replaced(path);
    auto copy = working_copy::make(*file);
    if (!copy) return copy.error();
    if (auto mended = mend(copy->path(), *file, contents, report.steps); !mended) {
        error reason = mended.error();
        reason.path = path;
        return reason;
    }
    // What is wrong is nothing that a mended copy would not have, such as a log in memory that is gone.
    if (report.steps.empty()) return report;
    auto after = check_pool(copy->path(), contents);
    if (!after) return after.error();
    report.after = std::move(*after);
    const std::string backup = free_name(path + ".before-repair");
    if (auto copied = persist::copy_to(*file, backup); !copied) return copied.error();
    report.backup = backup;
    if (auto renamed = copy->replace(path); !renamed) {
        // Where the copy still has its own name the file is as it was.
        std::error_code ignored;
        if (std::filesystem::exists(copy->path(), ignored)) std::filesystem::remove(backup, ignored);
        return renamed.error();
    }
    return report;
}

}  // namespace holdfast
