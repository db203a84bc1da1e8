#include <bench/dnv/process.hpp>

#include <bench/contest/child.hpp>

#include <holdfast/persist/file.hpp>
#include <holdfast/pool/superblock.hpp>
#include <holdfast/powerfail/shadow_log.hpp>

#include <array>
#include <cstdio>

namespace holdfast::bench {
namespace {

#ifdef HOLDFAST_HAS_DNV
constexpr std::array programs{dnv_program{"value", "holdfast-dnv-value"},
                              dnv_program{"versioned", "holdfast-dnv-versioned"}};
#else
constexpr std::array<dnv_program, 0> programs{};
#endif

class dnv_contestant final : public contestant {
public:
    /// `job`: what the program is told behind the pool.
    dnv_contestant(const dnv_program& program, const std::string& mode, const setting& where, scratch& space,
                   const std::vector<std::string>& job)
        : pool_(space.path(where.medium, "dnv")) {
        std::vector<std::string> arguments{program_beside(program.program), mode, where.level, pool_};
        arguments.insert(arguments.end(), job.begin(), job.end());
        child_ = std::make_unique<child_process>("dnv " + mode, arguments, environment_without({"ITM_"}));
        child_->wait_until_ready();
    }
    ~dnv_contestant() override {
        child_.reset();
        forget_log();
        std::remove(pool_.c_str());
    }

    batch run(const std::string& name, std::uint64_t transactions) override { return child_->run(name, transactions); }

private:
    /// The child was killed: its log in memory would stay. The first commit has named it in the pool.
    void forget_log() const {
        const auto file = persist::file::open(pool_, persist::file::access::read_only);
        if (!file) return;
        if (const auto block = read_superblock(*file)) powerfail::shadow_log::remove(*block);
    }

    std::string pool_;
    std::unique_ptr<child_process> child_;
};

}  // namespace

std::span<const dnv_program> dnv_programs() noexcept { return programs; }

std::unique_ptr<contestant> start_dnv_list(const dnv_program& program, const std::string& mode, const setting& where,
                                           scratch& space) {
    return std::make_unique<dnv_contestant>(
        program, mode, where, space,
        std::vector<std::string>{std::to_string(where.bytes), std::to_string(where.elements)});
}

std::unique_ptr<contestant> start_dnv_cache(const dnv_program& program, const std::string& mode, const setting& where,
                                            scratch& space) {
    return std::make_unique<dnv_contestant>(
        program, mode, where, space,
        std::vector<std::string>{std::to_string(where.bytes), std::to_string(where.elements),
                                 std::to_string(where.threads)});
}

std::unique_ptr<contestant> start_dnv_stamp(const dnv_program& program, const std::string& mode,
                                            const std::string& name, const setting& where, scratch& space) {
    return std::make_unique<dnv_contestant>(
        program, mode, where, space, std::vector<std::string>{"stamp", name, std::to_string(where.threads)});
}

}  // namespace holdfast::bench
