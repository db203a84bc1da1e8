#include <sim/machine/running_program.hpp>

#include <sim/core/log_operation.hpp>
#include <sim/front/machine.hpp>

namespace holdfast::sim {
namespace {

/// The program's --logging.
std::string software_logging(const simulation_options& options) {
    switch (options.design) {
    case design::unsafe_base: return options.unsafe_values == logged_values::undo ? "undo-unsafe" : "redo-unsafe";
    case design::redo_clwb: return "redo";
    case design::undo_clwb: return "undo";
    case design::hwl: return "lines";
    case design::snf_sw: return "snf";
    default: return "none";
    }
}

/// Undo and redo in a log of all threads have a program of their own beside it.
std::string program_of(const machine_config& config, const simulation_options& options) {
    const bool is_either = options.design == design::redo_clwb || options.design == design::undo_clwb;
    const bool is_central = layout_of(config.software_log.place, 0, options.threads).is_central();
    return options.program + (is_either && is_central ? "-central" : "");
}

}  // namespace

result<std::unique_ptr<running_program>> running_program::start(const machine_config& config,
                                                                const simulation_options& options,
                                                                std::uint64_t operations) {
    auto made = std::make_unique<running_program>();
    made->name_ = program_of(config, options);
    const auto file = read_file(made->name_);
    if (!file) return file.problem();
    auto space = address_space::create();
    if (!space) return space.problem();
    made->space_ = *std::move(space);
    auto loaded = load_elf(*file, made->name_, *made->space_);
    if (!loaded) return loaded.problem();
    made->loaded_ = *std::move(loaded);
    std::string& said = made->said_;
    made->process_.emplace(made->loaded_, *made->space_, [&said](int, std::string_view text) { said += text; },
                           process_options{options.threads, untimed_quantum});
    auto started = made->process_->start({options.program, "--operations", std::to_string(operations), "--footprint",
                                          std::to_string(options.footprint_bytes), "--threads",
                                          std::to_string(options.threads), "--seed", std::to_string(options.seed),
                                          "--element", options.element, "--logging", software_logging(options), "--log",
                                          std::string(name_of(config.software_log.place)),
                                          "--log-bytes", std::to_string(config.software_log.bytes)});
    if (!started) return started.problem();
    return made;
}

std::optional<problem> running_program::fill() {
    const auto status = run_functionally(true);
    if (!status) return status.problem();
    return std::nullopt;
}

void running_program::announce(port::control_registers& registers) const {
    for (const functional_memory::log_operation& each : log_operations_) {
        operate_log(registers, each.by, each.what, each.first, each.second, time{});
    }
    registers.take_over(transactions_, time{});
}

void running_program::restart_clocks(std::uint64_t quantum) {
    process_->harts().set_quantum(quantum);
    for (hart& each : process_->harts().all()) each.local_time = each.waited = each.spun = 0;
}

result<std::string> running_program::finish() {
    restart_clocks(untimed_quantum);
    const auto status = run_functionally(false);
    if (!status) return status.problem();
    while (!said_.empty() && said_.back() == '\n') said_.pop_back();
    if (status->value_or(-1) != 0) return problem{"the program failed", name_, "exit status 0", said_};
    return said_;
}

result<std::optional<int>> running_program::run_functionally(bool to_region_of_interest) {
    functional_memory memory(*space_);
    memory.take_over(transactions_);
    if (to_region_of_interest) memory.pause_behind(custom_operation::region_of_interest_begin);
    no_observer nobody;
    auto status = machine<functional_memory>(*process_, memory, nobody).run();
    log_operations_ = memory.log_operations();
    transactions_ = memory.transactions();
    return status;
}

}  // namespace holdfast::sim
