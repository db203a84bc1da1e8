#include <sim/machine/run_trace.hpp>

#include <sim/base/result.hpp>

namespace holdfast::sim {
namespace {

const char* name_of(answered_by who) noexcept {
    constexpr std::array<const char*, 5> names{"hit", "miss, waits for another", "miss, L2 has it",
                                               "miss, another L1 has it", "miss, memory has it"};
    return names[static_cast<std::size_t>(who)];
}

const char* name_of(l1_user user) noexcept {
    constexpr std::array<const char*, 4> names{"fetch", "load", "store", "prefetch"};
    return names[static_cast<std::size_t>(user)];
}

const char* name_of(queued_kind kind) noexcept {
    constexpr std::array<const char*, 9> names{"store",    "streamed store", "line write-back",
                                               "persist fence", "tx begin",  "tx commit",
                                               "log create", "log truncate", "log grow"};
    return names[static_cast<std::size_t>(kind)];
}

const char* name_of(port::cache_event::kind what) noexcept {
    constexpr std::array<const char*, 4> names{"hit", "miss", "eviction", "write-back"};
    return names[static_cast<std::size_t>(what)];
}

timeline_colour colour_of(port::cache_event::kind what) noexcept {
    constexpr std::array<timeline_colour, 4> colours{timeline_colour::hit, timeline_colour::miss,
                                                     timeline_colour::mark, timeline_colour::write};
    return colours[static_cast<std::size_t>(what)];
}

std::string with_address(std::string text, address where) { return std::move(text) + " " + hexadecimal(where.value); }

}  // namespace

run_trace::run_trace(const machine_config& config, const hart_placement& placement, trace_window window, bool with_log)
    : clock_(config.core.clock),
      l1_latency_(config.caches.dl1.latency),
      last_load_(placement.harts, answered_by::l1) {
    made_.begin = clock_.time_of(window.from);
    made_.end = clock_.time_of(window.to);
    made_.cycle = config.core.clock;
    std::vector<std::string>& lanes = made_.lanes;
    for (std::uint32_t hart = 0; hart < placement.harts; ++hart) {
        const std::string who =
            "hart " + std::to_string(hart) + ", core " + std::to_string(placement.core_of(hart)) + ": ";
        lanes.push_back(who + "instructions");
        lanes.push_back(who + "store queue");
    }
    first_l1_ = lanes.size();
    for (std::uint32_t core = 0; core < std::min(placement.harts, placement.cores); ++core) {
        lanes.push_back("core " + std::to_string(core) + ": IL1");
        lanes.push_back("core " + std::to_string(core) + ": DL1");
    }
    l2_ = lanes.size();
    const auto add = [&lanes](const char* name) {
        lanes.push_back(name);
        return lanes.size() - 1;
    };
    add("L2");
    log_buffer_ = held_lines_ = scans_ = l2_;
    if (with_log) {
        log_buffer_ = add("log buffer");
        scans_ = add("scans");
        held_lines_ = add("held lines");
    }
    read_queue_ = add("NVRAM read queue");
    write_queue_ = add("NVRAM write queue");
    log_queue_ = with_log ? add("NVRAM log queue") : write_queue_;
    first_bank_ = lanes.size();
    for (std::uint32_t bank = 0; bank < config.memory.nvram.banks; ++bank) {
        lanes.push_back("NVRAM bank " + std::to_string(bank));
    }
}

void run_trace::executed(const instruction_event& event) {
    const answered_by load_was = std::exchange(last_load_[event.hart.value], answered_by::l1);
    if (!is_seen(event.entered, event.commit + 1)) return;
    const retired_instruction& what = event.what;
    timeline_span made{instructions_of(event.hart), sim::name_of(what.code), clock_.time_of(event.entered),
                       clock_.time_of(event.commit + 1), timeline_colour::work, {}, {}};
    made.active = timeline_part{clock_.time_of(event.issued), clock_.time_of(event.result)};
    const auto cycles = [&made](const char* name, cycle at) { made.detail += name + std::to_string(at); };
    made.detail = with_address("pc", {what.pc});
    if (what.memory_bytes != 0) made.detail += with_address(", address", {what.address});
    if (what.group == operation_class::load) {
        made.colour = load_was == answered_by::l1 ? timeline_colour::hit : timeline_colour::miss;
    }
    cycles("\ncycle: enters the reorder buffer ", event.entered);
    cycles(", issued ", event.issued);
    cycles(", result ", event.result);
    cycles(", commits ", event.commit);
    made_.spans.push_back(std::move(made));
}

void run_trace::drained(const drain_event& event) {
    const cycle free_to_go = event.what.may_drain;
    if (!is_seen(free_to_go, event.done)) return;
    timeline_span made{store_queue_of(event.hart), name_of(event.what.kind), clock_.time_of(free_to_go),
                       clock_.time_of(event.done), timeline_colour::write, {}, {}};
    made.active = timeline_part{clock_.time_of(event.begin), clock_.time_of(event.done)};
    if (!event.what.is_store() && event.what.kind != queued_kind::write_back) made.colour = timeline_colour::mark;
    if (event.what.where != address{}) made.detail = with_address("address", event.what.where) + "\n";
    made.detail += "transaction " + std::to_string(event.what.transaction.value) + ", committed at cycle " +
                   std::to_string(event.what.may_drain) + ", drains from cycle " + std::to_string(event.begin);
    made_.spans.push_back(std::move(made));
}

void run_trace::accessed(const l1_event& event) {
    if (event.by == l1_user::load) last_load_[event.hart.value] = event.how.by;
    if (!is_seen(event.at, event.how.done)) return;
    const timeline_colour colour = event.how.by == answered_by::l1 ? timeline_colour::hit : timeline_colour::miss;
    made_.spans.push_back({l1_of(event.core, event.by == l1_user::fetch),
                           std::string(name_of(event.by)) + " " + hexadecimal(event.where.value), event.at,
                           event.how.done, colour, {}, name_of(event.how.by)});
}

void run_trace::happened(const port::cache_event& event) {
    if (!is_seen(event.begin, event.end)) return;
    const std::size_t lane = event.where == port::level::l1 ? l1_of(event.cache, event.instructions) : l2_;
    if (lane >= l2_ && event.where == port::level::l1) return;  // of a core that no hart runs on
    made_.spans.push_back({lane, with_address(name_of(event.what), event.line), event.begin, event.end,
                           colour_of(event.what), {}, {}});
}

void run_trace::access(const port::bank_event& event) {
    if (!is_seen(event.queued, event.end)) return;
    const bool is_log = event.from == port::source::log;
    const timeline_colour colour = is_log           ? timeline_colour::log
                                   : event.is_write ? timeline_colour::write
                                                    : timeline_colour::read;
    const std::string kind = is_log ? "log write" : event.is_write ? "write" : "read";
    const std::string name = kind + (event.row_hit ? ", row hit" : ", conflict");
    const std::string detail = with_address("line", event.line) + ", row " + std::to_string(event.row) + ", bank " +
                               std::to_string(event.bank);
    const std::size_t queue = is_log ? log_queue_ : event.is_write ? write_queue_ : read_queue_;
    made_.spans.push_back({queue, name, event.queued, event.end, colour,
                           timeline_part{event.begin, event.end}, detail});
    if (!is_seen(event.begin, event.end)) return;  // it waits in the window, and is served behind it
    made_.spans.push_back({first_bank_ + event.bank, name, event.begin, event.end, colour, {}, detail});
}

void run_trace::happened(const port::log_event& event) {
    if (!is_seen(event.begin, event.end)) return;
    using enum port::log_event::kind;
    switch (event.what) {
    case buffered:
        made_.spans.push_back({log_buffer_, with_address("record of", event.line), event.begin, event.end,
                               timeline_colour::log, {}, {}});
        return;
    case held:
        made_.spans.push_back({held_lines_, with_address("line", event.line), event.begin, event.end,
                               timeline_colour::write, {}, "until its records are durable"});
        return;
    case scanned:
        made_.spans.push_back({scans_, "a set, lines forced: " + std::to_string(event.forced), event.begin, event.end,
                               event.forced == 0 ? timeline_colour::work : timeline_colour::write, {}, {}});
        return;
    }
}

}  // namespace holdfast::sim
