#include <bench/dnv/process.hpp>

#include <bench/contest/child.hpp>

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
    dnv_contestant(const dnv_program& program, const std::string& mode, const setting& where, scratch& space,
                   const std::vector<std::string>& more = {})
        : pool_(space.path(where.medium, "dnv")) {
        std::vector<std::string> arguments{program_beside(program.program), mode, where.level, pool_,
                                           std::to_string(where.bytes), std::to_string(where.elements)};
        arguments.insert(arguments.end(), more.begin(), more.end());
        child_ = std::make_unique<child_process>("dnv " + mode, arguments, environment_without({"ITM_"}));
        child_->wait_until_ready();
    }
    ~dnv_contestant() override {
        child_.reset();
        std::remove(pool_.c_str());
    }

    batch run(const std::string& name, std::uint64_t transactions) override { return child_->run(name, transactions); }

private:
    std::string pool_;
    std::unique_ptr<child_process> child_;
};

}  // namespace

std::span<const dnv_program> dnv_programs() noexcept { return programs; }

std::unique_ptr<contestant> start_dnv_list(const dnv_program& program, const std::string& mode, const setting& where,
                                           scratch& space) {
    return std::make_unique<dnv_contestant>(program, mode, where, space);
}

std::unique_ptr<contestant> start_dnv_cache(const dnv_program& program, const std::string& mode, const setting& where,
                                            scratch& space) {
    return std::make_unique<dnv_contestant>(program, mode, where, space,
                                            std::vector<std::string>{std::to_string(where.threads)});
}

}  // namespace holdfast::bench
