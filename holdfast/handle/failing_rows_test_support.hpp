// Tables of calls that fail, on each medium and level: what their attempts share, and how they are run.
#pragma once

#include <holdfast/handle/failing_attempts_test_support.hpp>

#include <holdfast/handle/check.hpp>
#include <holdfast/pool/options.hpp>

#include <charconv>
#include <cstdlib>
#include <iostream>
#include <random>
#include <set>
#include <vector>

namespace holdfast::test {

/// Where a pool is, and what it promises.
struct place {
    const char* name;
    bool is_file;
    bool is_nvram;
    level durability;

    bool has_log_on_file() const { return is_file && durability == level::power; }
    create_options options() const {
        create_options all;
        all.durability = durability;
        all.tmpfs_is_nvram = is_nvram;
        all.where.tmpfs_is_file = is_file;
        all.bytes = 1 << 20;
        all.log_bytes = 256 << 10;
        all.reserved_bytes = std::uint64_t{1} << 30;
        all.base = HOLDFAST_TEST_BASE_ADDRESS;
        return all;
    }
};
constexpr place places[] = {{"a file at power", true, false, level::power},
                            {"nvram at power", false, true, level::power},
                            {"a file at process", true, false, level::process}};

/// What `check` says of the pool at `path`; empty: it is sound, or not there.
inline std::string problems_of(const std::string& path, const contents_checker& contents = {}) {
    if (!std::filesystem::exists(path)) return {};
    const auto report = check_pool(path, contents);
    if (!report) return report.error().text();
    if (report->sound()) return {};
    std::string text;
    for (const auto& finding : report->findings) text += finding.part + ": " + finding.words + "; ";
    return text;
}

/// The names of the files there. A backup of a repair that was cut off is a whole copy: no harm.
inline std::string files_in(const std::string& directory) {
    std::set<std::string> files;
    for (const auto& file : std::filesystem::directory_iterator(directory)) files.insert(file.path().filename());
    std::string text;
    for (const auto& file : files)
        if (file.find(".before-repair") == std::string::npos) text += " /" + file;
    return text;
}

/// An attempt on a `Pool`, which is open or not.
template <class Pool>
class attempt_on_pool : public attempt {
public:
    attempt_on_pool(std::string name, const place& where, std::string directory)
        : attempt(std::move(name)), where_(where), directory_(std::move(directory)), options_(where.options()) {}
    bool has_log_on_file() const override { return where_.has_log_on_file(); }
    outcome end() override {
        if (!is_open()) return {};
        const auto said = outcome_of([&] { return pool_->close(); });
        pool_.reset();
        return said;
    }
    std::string check() override { return problems_of(path()); }

protected:
    std::string path() const { return directory_ + "/pool"; }
    bool is_open() const { return pool_ && pool_->is_open(); }
    void kill() {
        pool_->abandon();
        pool_.reset();
    }

    place where_;
    std::string directory_;
    create_options options_;
    std::optional<Pool> pool_;
};

/// Makes an attempt of a program's table in a directory.
using attempt_of_directory = std::function<std::unique_ptr<attempt>(const std::string& directory)>;

/// Runs every one of them with every failure, under `parent`; HOLDFAST_FAILING_ROW names a part of those that are run.
inline void run_rows(const std::vector<attempt_of_directory>& rows, std::span<const known_failure> known = {},
                     const std::string& parent = "/dev/shm") {
    const bool all = std::getenv("HOLDFAST_SOAK") != nullptr;
    const char* const only = std::getenv("HOLDFAST_FAILING_ROW");
    const persist::test::scratch_directory directory(parent);
    unsigned runs = 0;
    for (const auto& row : rows) {
        const auto make = [&] { return row(directory.path()); };
        if (only != nullptr && make()->name().find(only) == std::string::npos) continue;
        failing_runs tried(make, directory.path(), known);
        tried.run(all);
        runs += tried.runs();
    }
    std::cout << runs << " runs\n";
}

inline std::uint64_t number_in_environment(const char* name, std::uint64_t otherwise) {
    const char* const text = std::getenv(name);
    if (text != nullptr) std::from_chars(text, text + std::string_view(text).size(), otherwise);
    return otherwise;
}

/// Rows, pasts and failures by chance until enough runs are done: a few, or in a soak `soak_runs`.
/// HOLDFAST_FAILING_RUNS and HOLDFAST_FAILING_SEED say otherwise.
inline void run_rows_by_chance(const std::vector<attempt_of_directory>& rows, std::uint64_t soak_runs,
                               std::span<const known_failure> known = {}) {
    const bool all = std::getenv("HOLDFAST_SOAK") != nullptr;
    const std::uint64_t wanted = number_in_environment("HOLDFAST_FAILING_RUNS", all ? soak_runs : 200);
    const std::uint64_t seed = number_in_environment("HOLDFAST_FAILING_SEED", all ? std::random_device()() : 1);
    const char* const only = std::getenv("HOLDFAST_FAILING_ROW");
    const persist::test::scratch_directory directory("/dev/shm");
    std::mt19937_64 random(seed);
    std::uint64_t runs = 0;
    while (runs < wanted && !::testing::Test::HasFailure()) {
        const auto& row = rows[random() % rows.size()];
        const auto make = [&] { return row(directory.path()); };
        if (only != nullptr && make()->name().find(only) == std::string::npos) continue;
        failing_runs tried(make, directory.path(), known);
        tried.run_by_chance(random, 30);
        runs += tried.runs();
    }
    std::cout << runs << " runs by chance, HOLDFAST_FAILING_SEED=" << seed << "\n";
}

}  // namespace holdfast::test
