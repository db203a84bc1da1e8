#include <bench/rivals/process.hpp>

#include <bench/contest/child.hpp>

#include <filesystem>
#include <vector>

namespace holdfast::bench {
namespace {

/// libpmem reads its environment when it is loaded: it has to be right before the child begins.
std::vector<std::string> environment_for(bool flushes_lines, bool survives_power) {
    auto all = environment_without({"PMEM_"});
    if (flushes_lines) all.emplace_back("PMEM_IS_PMEM_FORCE=1");
    if (flushes_lines && !survives_power) {
        all.emplace_back("PMEM_NO_FLUSH=1");
        // Nothing has to reach a medium, and streaming to lines that are in caches made it up to three times slower.
        all.emplace_back("PMEM_NO_MOVNT=1");
    }
    // One address for the child that fills and the child that is measured: the data hold native pointers.
    all.emplace_back("PMEM_MMAP_HINT=0x600000000000");
    return all;
}

class rival_contestant final : public contestant {
public:
    rival_contestant(const std::string& rival, const std::string& suite, const setting& where, scratch& space)
        : rival_(rival), directory_(space.path(where.medium, rival)) {
        std::filesystem::create_directory(directory_);
        const bool power = where.level == "power";
        // Filled as if on NVRAM: with one msync per range it would take hours on a file.
        start(suite, where, "fill", environment_for(true, false));
        child_.reset();
        start(suite, where, "run", environment_for(where.medium != "file" || !power, power));
    }
    ~rival_contestant() override {
        child_.reset();
        std::error_code ignored;
        std::filesystem::remove_all(directory_, ignored);
    }

    batch run(const std::string& name, std::uint64_t transactions) override { return child_->run(name, transactions); }

private:
    void start(const std::string& suite, const setting& where, const std::string& stage,
               const std::vector<std::string>& environment) {
        const std::vector<std::string> arguments{program_beside("holdfast-rivals"),
                                                 rival_,
                                                 stage,
                                                 suite,
                                                 where.level,
                                                 directory_,
                                                 std::to_string(where.elements),
                                                 std::to_string(where.swaps),
                                                 std::to_string(where.threads),
                                                 where.shared_lock ? "shared" : "own",
                                                 std::to_string(where.delay_ns),
                                                 std::to_string(where.rate),
                                                 std::to_string(where.bytes)};
        child_ = std::make_unique<child_process>(rival_, arguments, environment);
        child_->wait_until_ready();
    }

    std::string rival_;
    std::string directory_;
    std::unique_ptr<child_process> child_;
};

}  // namespace

std::unique_ptr<contestant> start_rival(const std::string& rival, const std::string& suite, const setting& where,
                                        scratch& space) {
    return std::make_unique<rival_contestant>(rival, suite, where, space);
}

}  // namespace holdfast::bench
