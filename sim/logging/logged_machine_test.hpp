// For tests of the logging hardware: a machine of caches, memory and log without cores, and random transactions on it
// that are cut at a random moment.
#pragma once

#include <sim/logging/logging_hardware.hpp>
#include <sim/logging/recovery.hpp>

#include <gtest/gtest.h>

#include <algorithm>
#include <array>
#include <map>
#include <random>
#include <set>

namespace holdfast::sim::test {

inline constexpr std::uint32_t cores = 4;

/// So small that lines leave all the time.
inline hierarchy_config small_caches() {
    hierarchy_config config;
    config.il1 = config.dl1 = {4 * 64 * 2, 2, ps(1600), ps(400)};
    config.l2 = {16 * 64 * 4, 4, ps(4400), ps(4400)};
    return config;
}

/// An L2 that has all that cut_run stores to: lines leave it only when they are forced.
inline hierarchy_config roomy_caches() {
    hierarchy_config config = small_caches();
    config.l2 = {64 * 64 * 4, 4, ps(4400), ps(4400)};
    return config;
}

struct logged_machine {
    static constexpr std::uint32_t harts = cores;
    explicit logged_machine(design what, const log_config& log = {}, const hierarchy_config& cache = small_caches(),
                            const memory_config& behind = {})
        : memory(behind, attached),
          caches(cache, memory, attached),
          hardware(what, log, attached, registers, memory, caches) {
        memory.set_instant(true);
        hardware.measured_begin();
        memory.set_instant(false);
    }

    address word(std::uint64_t number) const { return memory.map().nvram_begin + number * 8; }
    void settle(time now) {
        memory.settle(now);
        caches.settle(now);
        hardware.reached(now);
    }
    time begin(hart_id hart, time at) { return registers.begin(hart, {static_cast<std::uint16_t>(hart.value)}, at); }
    time commit(hart_id hart, time at) { return registers.commit(hart, at); }
    time store(hart_id hart, std::uint64_t number, std::uint64_t value, time at) {
        const store_source who{hart.value, hart, registers.transaction(hart), registers.in_transaction(hart)};
        return caches.store(who, word(number), std::as_bytes(std::span(&value, 1)), at).done;
    }
    time write_back(hart_id hart, std::uint64_t number, time at) {
        return caches.write_back({hart.value, hart, registers.transaction(hart), true}, word(number), at);
    }

    /// A region for log_grow, far from words and log.
    port::log_region spare_region(std::uint64_t number, std::uint64_t bytes) const {
        return {memory.map().nvram_begin + (number + 1) * (1u << 20), bytes};
    }

    port::ports attached;
    memory_system memory;
    hierarchy caches;
    port::control_registers registers{harts, attached};
    logging_hardware hardware;
};

inline std::uint64_t word_in(const memory_image& image, address where) {
    std::uint64_t value = 0;
    image.read_bytes(where, std::as_writable_bytes(std::span(&value, 1)));
    return value;
}

using contents = std::map<std::uint64_t, std::uint64_t>;

/// Cores store to words, in transactions, until a crash. Words are in parts, each of which a core has to itself until
/// its transaction has committed.
class cut_run {
public:
    cut_run(design what, const log_config& log, const memory_config& config, std::uint64_t seed,
            const hierarchy_config& caches = small_caches())
        : log_(log), writes_back_(what == design::hwl), machine_(what, log, caches, config), random_(seed) {}

    struct outcome {
        std::uint64_t wrong = 0;  ///< parts whose words are what no commit left
        std::uint64_t lost = 0;   ///< parts that lost what was acknowledged
        std::uint64_t laps = 0;
    };
    /// Parts have two words of each line, instead of lines of their own.
    void share_lines() noexcept { shares_lines_ = true; }
    /// Each transaction of a core is on another part, instead of all on the same one.
    void pass_parts_on() noexcept { passes_parts_on_ = true; }
    /// From now on the log gets a region more whenever a store has one of these numbers.
    void grow_at(std::vector<std::uint64_t> stores) { grow_at_ = std::move(stores); }
    outcome run(std::uint64_t stores) {
        memory_image survives = crash_behind(stores);
        recover(survives, machine_.hardware.region(), machine_.hardware.log().config());
        outcome found{.laps = counters.bytes / log_.bytes};
        for (const part& each : parts_) judge(each, survives, cut_, found);
        return found;
    }
    /// What the crash leaves, for recovery.
    memory_image crash_behind(std::uint64_t stores) {
        for (std::uint64_t value = 1; value <= stores; ++value) step(value);
        cut_ = furthest_behind().now + ns(random_() % 1000);
        machine_.settle(furthest_behind().now);
        if (const auto& why = machine_.hardware.log().failure()) ADD_FAILURE() << why->text();
        counters = machine_.hardware.log().counters();
        scans = machine_.hardware.scans_until(cut_);
        return machine_.memory.nvram().crash(cut_);
    }

    logged_machine& machine() noexcept { return machine_; }

    log_counters counters{};
    scan_counters scans{};

private:
    static constexpr std::uint64_t words = 64 * 16;
    /// Of a transaction: those of four cores are far from filling a log.
    static constexpr unsigned most_stores = 10;
    struct part {
        std::uint64_t number = 0;
        bool is_taken = false;
        time free_from{};
        contents newest{};
        std::vector<contents> committed{{}};  ///< what each commit left, and nothing in the beginning
        std::vector<time> acknowledged{{}};
    };
    struct core_state {
        std::uint32_t number = 0;
        time now{};
        part* stores_to = nullptr;  ///< in the open transaction
        std::uint64_t line = 0;     ///< stored to last
        std::set<std::uint64_t> lines{};  ///< that the open transaction stored to, by their first words
        unsigned stores = 0;     ///< of the open transaction
    };

    core_state& furthest_behind() {
        return *std::min_element(cores_.begin(), cores_.end(), [](auto& a, auto& b) { return a.now < b.now; });
    }
    void step(std::uint64_t value) {
        core_state& core = furthest_behind();
        machine_.settle(core.now);
        core.now += ns(random_() % 100);
        const hart_id hart{core.number};
        if (std::find(grow_at_.begin(), grow_at_.end(), value) != grow_at_.end()) grow(core);
        if (core.stores_to == nullptr) begin(core);
        part& stored_to = *core.stores_to;
        // Some stores go to one line in a row.
        if (random_() % 3 != 0) core.line = random_() % (words / cores / 8);
        const std::uint64_t number = shares_lines_ ? core.line * 8 + stored_to.number * 2 + random_() % 2
                                                   : (core.line * cores + stored_to.number) * 8 + random_() % 8;
        core.now = machine_.store(hart, number, value, core.now);
        stored_to.newest[number] = value;
        core.lines.insert(number / 8 * 8);
        if (random_() % 6 != 0 && ++core.stores < most_stores) return;
        core.stores = 0;
        if (writes_back_) write_lines_back(core);
        core.lines.clear();
        core.now = machine_.commit(hart, core.now);
        core.stores_to = nullptr;
        stored_to.is_taken = false;
        stored_to.free_from = core.now;
        stored_to.committed.push_back(stored_to.newest);
        stored_to.acknowledged.push_back(core.now);
    }
    void begin(core_state& core) {
        core.stores_to = &parts_[core.number];
        while (passes_parts_on_ && (core.stores_to = &parts_[random_() % cores])->is_taken) {}
        core.stores_to->is_taken = true;
        core.now = machine_.begin({core.number}, std::max(core.now, core.stores_to->free_from));
    }
    void grow(core_state& core) {
        const port::log_region more = machine_.spare_region(grown_, 1024 + 192 * grown_);
        core.now = machine_.registers.grow_log({core.number}, more, core.now);
        ++grown_;
    }
    /// What a program does for hardware that forces no line home.
    void write_lines_back(core_state& core) {
        const hart_id hart{core.number};
        for (const std::uint64_t each : core.lines) core.now = machine_.write_back(hart, each, core.now);
        core.now = machine_.registers.truncate_log(hart, core.now);
    }
    std::uint64_t owner_of(std::uint64_t number) const noexcept {
        return shares_lines_ ? number % 8 / 2 : number / 8 % cores;
    }
    void judge(const part& judged, const memory_image& survives, time cut, outcome& into) const {
        contents found;
        for (std::uint64_t number = 0; number < words; ++number) {
            if (owner_of(number) != judged.number) continue;
            if (const std::uint64_t value = word_in(survives, machine_.word(number))) found[number] = value;
        }
        std::size_t last = 0;
        while (last + 1 < judged.committed.size() && judged.acknowledged[last + 1] <= cut) ++last;
        const auto is_there = [&](std::size_t from, std::size_t to) {
            const auto end = judged.committed.begin() + static_cast<std::ptrdiff_t>(to);
            return std::find(judged.committed.begin() + static_cast<std::ptrdiff_t>(from), end, found) != end;
        };
        if (is_there(last, judged.committed.size())) return;
        (is_there(0, last) ? into.lost : into.wrong) += 1;
    }

    log_config log_;
    bool writes_back_;
    logged_machine machine_;
    std::mt19937_64 random_;
    time cut_{};
    bool shares_lines_ = false, passes_parts_on_ = false;
    std::vector<std::uint64_t> grow_at_{};
    std::uint64_t grown_ = 0;
    std::array<part, cores> parts_{{{.number = 0}, {.number = 1}, {.number = 2}, {.number = 3}}};
    std::array<core_state, cores> cores_{{{.number = 0}, {.number = 1}, {.number = 2}, {.number = 3}}};
};

inline log_config small_log() {
    log_config config;
    config.bytes = 8192;
    config.scan_period = ns(20'000);
    return config;
}

/// The same for each hart.
inline log_config small_logs_of_harts() {
    log_config config = small_log();
    config.place = log_place::hart;
    config.bytes = logged_machine::harts * 2048;
    return config;
}

/// Every drain policy, arbitration, persist point and order, by the numbers below `memories`.
inline constexpr std::uint64_t memories = 60;
inline memory_config memory_for(std::uint64_t seed) {
    memory_config config;
    config.controller.drain = static_cast<drain_policy>(seed % 5);
    config.controller.log = static_cast<log_arbitration>(seed / 5 % 3);
    config.controller.persist = static_cast<persist_point>(seed / 15 % 2);
    config.controller.log_order = static_cast<log_order>(seed / 30 % 2);
    return config;
}

/// With caches that lines leave only when somebody asks.
inline hierarchy_config usual_caches() { return {}; }

inline log_config plain_log() {
    log_config config;
    config.bytes = 8192;
    config.scan_period = log_config::paper_period;  // longer than what tests look at
    return config;
}

}  // namespace holdfast::sim::test
