#include <bench/transactions/process.hpp>

#include <array>

namespace holdfast::bench {
namespace {

constexpr std::array engines{
#ifdef HOLDFAST_HAS_COMPILED_TRANSACTIONS
    transaction_engine{"value", "holdfast-tm-value", nullptr, true, false, false},
    transaction_engine{"versioned", "holdfast-tm-versioned", nullptr, true, false, false},
    transaction_engine{"value_alone", "holdfast-tm-value", nullptr, false, false, true},
    transaction_engine{"versioned_alone", "holdfast-tm-versioned", nullptr, false, false, true},
    transaction_engine{"hybrid", "holdfast-tm-hybrid", nullptr, true, true, false},
#endif
    transaction_engine{"explicit", "holdfast-tm-explicit", nullptr, true, false, false},
#ifdef HOLDFAST_HAS_COMPILED_TRANSACTIONS
    transaction_engine{"libitm_default", "holdfast-tm-libitm", nullptr, true, true, true},
    transaction_engine{"libitm_ml_wt", "holdfast-tm-libitm", "ml_wt", true, false, false},
    transaction_engine{"libitm_gl_wt", "holdfast-tm-libitm", "gl_wt", true, false, false},
#endif
    transaction_engine{"plain", "holdfast-tm-plain", nullptr, false, false, false},
};

}  // namespace

std::span<const transaction_engine> transaction_engines() noexcept { return engines; }

std::shared_ptr<child_process> start_transactions(const transaction_engine& engine,
                                                  const std::vector<std::string>& arguments) {
    std::vector<std::string> all{program_beside(engine.program)};
    all.insert(all.end(), arguments.begin(), arguments.end());
    auto environment = environment_without({"ITM_", "HOLDFAST_BLOCKS_"});
    if (!engine.runs_alone) environment.emplace_back("HOLDFAST_BLOCKS_ALONE=off");
    if (engine.libitm_method != nullptr)
        environment.emplace_back("ITM_DEFAULT_METHOD=" + std::string(engine.libitm_method));
    auto child = std::make_shared<child_process>(engine.name, all, environment);
    child->wait_until_ready();
    return child;
}

}  // namespace holdfast::bench
