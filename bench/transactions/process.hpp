// The programs that run transactions, from the parent's side: one for each runtime, as no two can be linked together.
#pragma once

#include <bench/contest/child.hpp>
#include <bench/contest/contestant.hpp>

#include <memory>
#include <span>
#include <string>
#include <vector>

namespace holdfast::bench {

/// One runtime under the name of an engine.
struct transaction_engine {
    const char* name;
    const char* program;
    const char* libitm_method;  ///< what that library is told to use; nullptr: its own choice, and for the others
    bool concurrent;            ///< false: for one thread only
    bool tries_hardware;        ///< where the processor has transactions (RTM)
    bool runs_alone;            ///< the blocks of the only thread run as code without barriers
};

/// value, versioned, value_alone, versioned_alone, hybrid, explicit, libitm_default, libitm_ml_wt, libitm_gl_wt and
/// plain; without a compiler for __transaction_atomic, explicit and plain.
std::span<const transaction_engine> transaction_engines() noexcept;

/// Starts the program and waits until it is ready. Throws failure: not_found, io.
std::shared_ptr<child_process> start_transactions(const transaction_engine& engine,
                                                  const std::vector<std::string>& arguments);

/// One case of a started program, of which several may share it.
class transaction_contestant final : public contestant {
public:
    /// `asked`: what the program calls the case.
    transaction_contestant(std::shared_ptr<child_process> child, std::string asked)
        : child_(std::move(child)), asked_(std::move(asked)) {}
    batch run(const std::string&, std::uint64_t transactions) override { return child_->run(asked_, transactions); }

private:
    std::shared_ptr<child_process> child_;
    std::string asked_;
};

}  // namespace holdfast::bench
