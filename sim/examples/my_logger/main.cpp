// Shows that every port does what the logger counts on: first without cores, a hart being a store queue that drains in
// program order, which is all of a core that logging hardware can see; then on the whole machine, with a program.
#include "my_logger.hpp"

#include <sim/machine/simulated_machine.hpp>
#include <sim/machine/simulation.hpp>

#include <cstdio>
#include <optional>

namespace my {
namespace {

constexpr time cycle = ps(400);

/// Four harts that store random words, eight in a transaction, each in a region of its own.
class program {
public:
    explicit program(logged_machine& machine) : machine_(machine) {}

    static constexpr std::uint64_t words = 4096;
    address word(std::uint64_t number) const { return machine_.memory.map().nvram_begin + number * 8; }

    /// A store drains when the one before it has taken effect. Returns how long it took.
    time store(hart_id hart, std::uint64_t number, std::uint64_t value) {
        const store_source who{hart.value, hart, machine_.registers.transaction(hart)};
        const time begin = now_;
        now_ = machine_.caches.store(who, word(number), std::as_bytes(std::span(&value, 1)), now_).done;
        return now_ - begin;
    }
    void transaction(bool commits) {
        const hart_id hart{next_id_ % 4u};
        now_ = machine_.registers.begin(hart, {next_id_++}, now_);
        for (int i = 0; i < 8; ++i) {
            random_ = random_ * 6364136223846793005u + 1442695040888963407u;
            store(hart, hart.value * (words / 4) + (random_ >> 40) % (words / 4), random_);
        }
        if (commits) now_ = machine_.registers.commit(hart, now_);
        machine_.memory.settle(now_);
    }
    /// What loads would see.
    std::vector<std::uint64_t> contents() const {
        std::vector<std::uint64_t> all(words);
        machine_.caches.peek(word(0), std::as_writable_bytes(std::span(all)));
        return all;
    }
    time& now() { return now_; }

private:
    logged_machine& machine_;
    time now_{};
    std::uint16_t next_id_ = 1;
    std::uint64_t random_ = 1;
};

int failures = 0;

void check(bool good, const char* what) {
    std::printf("%s  %s\n", good ? "yes" : "NO ", what);
    failures += good ? 0 : 1;
}

std::uint64_t word_in(const memory_image& image, address where) {
    std::uint64_t value = 0;
    image.read_bytes(where, std::as_writable_bytes(std::span(&value, 1)));
    return value;
}

void rebuild_old_memory(const logged_machine& machine, program& run) {
    const std::vector<std::uint64_t> before = run.contents();
    const std::size_t first = machine.log.appended().size();
    for (int i = 0; i < 500; ++i) run.transaction(true);
    std::vector<std::uint64_t> rebuilt = run.contents();
    for (std::size_t i = machine.log.appended().size(); i > first; --i) {
        const log_record& each = machine.log.appended()[i - 1];
        if (each.kind == record_kind::store) rebuilt[(each.where - run.word(0).value) / 8] = each.old_value;
    }
    check(rebuilt == before && run.contents() != before, "old memory is what the old bytes of 4000 stores say");
}

void refuse(logged_machine& machine, program& run) {
    run.store({0}, 0, 1);
    const time usual = run.store({0}, 0, 2);
    machine.log.refuse_for = cycle * 100;
    const time refused = run.store({0}, 0, 3);
    machine.log.refuse_for = {};
    check(refused == usual + cycle * 100, "a store refused for 100 cycles stalls the drain by 100 cycles");
}

void hold(logged_machine& machine, program& run) {
    const address line = run.word(1024).line();
    const std::uint64_t holds = machine.log.holds();
    const std::uint64_t before = word_in(machine.memory.nvram().image(), line);
    run.store({0}, 1024, before + 1);
    // Its record is still in the write-combining buffer, so the line may not go.
    machine.caches.force_write_back(line, run.now());
    run.now() += ns(10'000);
    machine.memory.settle(run.now());
    const bool stayed = word_in(machine.memory.nvram().image(), line) == before;
    run.now() = machine.memory.nvram().flush(run.now());
    machine.memory.settle(run.now());
    run.now() = machine.memory.nvram().finish(run.now());
    const bool went = word_in(machine.memory.nvram().image(), line) == before + 1;
    check(machine.log.holds() == holds + 1 && stayed && went, "a line is held until its record is durable");
}

/// (c) The force-write-back scan of the paper's section III-C and Figure 5, for every set of every cache:
///   1. A dirty line whose flag (the paper's fwb bit, here the spare bits) is not set: set it.
///   2. A dirty line whose flag is set, so that it was dirty in the last scan as well: force it to memory.
///   3. A line that is clean: no flag. The caches reset it whenever the line becomes clean.
/// Returns the number of dirty lines found.
std::uint32_t scan(logged_machine& machine, program& run) {
    std::uint32_t dirty = 0;
    const auto visit = [&](walked_line& line) {
        const bool was_flagged = line.spare != 0;
        line.spare = line.dirty ? 1 : 0;
        dirty += line.dirty ? 1 : 0;
        return line.dirty && was_flagged;
    };
    tag_walker walker(machine.caches);
    for (std::uint32_t core = 0; core < machine.caches.cores(); ++core) {
        for (std::uint64_t set = 0; set < walker.data_sets(); ++set) {
            run.now() = std::max(run.now(), walker.walk_data(core, set, run.now(), visit).tags_done);
        }
    }
    for (std::uint64_t set = 0; set < walker.l2_sets(); ++set) {
        run.now() = std::max(run.now(), walker.walk_l2(set, run.now(), visit).tags_done);
    }
    return dirty;
}

void clean_by_scan(logged_machine& machine, program& run) {
    const std::uint32_t dirty_before = scan(machine, run);
    scan(machine, run);
    check(dirty_before > 0 && scan(machine, run) == 0, "two scans of the tags leave no line dirty");
    run.now() = machine.memory.nvram().finish(machine.memory.nvram().flush(run.now()));
    std::vector<std::uint64_t> homes(program::words);
    machine.memory.nvram().image().read_bytes(run.word(0), std::as_writable_bytes(std::span(homes)));
    check(homes == run.contents(), "then NVRAM has every line, without the log");
}

void crash(logged_machine& machine, program& run) {
    const std::vector<std::uint64_t> committed = run.contents();
    for (int i = 0; i < 4; ++i) run.transaction(false);
    memory_image survives = machine.memory.nvram().crash(run.now());
    const std::size_t records = recover(survives, machine.registers.log_head);
    std::vector<std::uint64_t> recovered(program::words);
    survives.read_bytes(run.word(0), std::as_writable_bytes(std::span(recovered)));
    const bool lacks_only_the_last = records <= machine.log.appended().size() && records >= machine.log.durable();
    check(lacks_only_the_last, "a crash leaves the log but for its last records");
    check(recovered == committed, "the log alone brings back every transaction that committed, and no other");
}

/// A run of the hash table, whose caches are so small that lines leave all the time.
struct program_run {
    explicit program_run(const char* path) {
        set(config, "cache.dl1.size", "4KiB");
        set(config, "cache.l2.size", "64KiB");
        set(config, "controller.log_order", "kept");
        options.program = path;
        options.footprint_bytes = 512 << 10;
        options.operations = 1000;
    }
    /// Instructions and cycles tell what it was like.
    double number(const char* name) {
        for (const statistic& each : done->statistics) {
            if (each.name == name) return each.value;
        }
        return 0;
    }
    bool go() {
        auto result = simulate(config, options, [](const char*) {});
        if (!result) std::printf("%s\n", result.problem().text().c_str());
        if (result) done = *std::move(result);
        return done && done->verified;
    }

    machine_config config;
    simulation_options options;
    std::optional<simulation_result> done{};
};

/// Whether the newest bytes are what recovery makes of the NVRAM: all transactions had committed.
bool log_has_everything(const simulated_machine& machine, const logger& log) {
    memory_image survives;
    machine.memory.nvram().image().for_each_page([&](address page, std::span<const std::byte> bytes) {
        survives.write_bytes(page, bytes);
    });
    recover(survives, machine.registers.log_head);
    for (const log_record& each : log.appended()) {
        std::uint64_t newest = 0;
        if (each.kind != record_kind::store) continue;
        machine.caches.peek({each.where}, std::as_writable_bytes(std::span(&newest, 1)).first(each.bytes));
        if ((word_in(survives, {each.where}) ^ newest) << (64 - 8 * each.bytes) != 0) return false;
    }
    return true;
}

void whole_machine(const char* path) {
    program_run plain(path), logged(path);
    std::optional<logger> log;
    bool complete = false;
    logged.options.attach = [&](simulated_machine& machine) {
        log.emplace(machine.ports, machine.registers, machine.memory);
    };
    logged.options.measured = [&](simulated_machine& machine, time end) {
        machine.memory.settle(std::max(end, machine.memory.nvram().flush(end)));
        complete = log_has_everything(machine, *log);
    };
    const bool both = plain.go() && logged.go();
    check(both, "on the whole machine, a program with the logger attached finds its structure right");
    if (!both) return;
    check(logged.number("instructions") == plain.number("instructions"), "it executes no instruction more");
    check(logged.number("cycles") > plain.number("cycles"), "it waits for its log");
    check(complete, "homes and log together have what caches and memory have");
}

}  // namespace
}  // namespace my

int main(int count, char** arguments) {
    using namespace my;
    if (count != 2) {
        std::printf("usage: my_logger PROGRAM, such as hash, compiled for the simulated machine\n");
        return 2;
    }
    logged_machine machine;
    program run(machine);
    rebuild_old_memory(machine, run);
    refuse(machine, run);
    hold(machine, run);
    clean_by_scan(machine, run);
    crash(machine, run);
    whole_machine(arguments[1]);
    const unsigned long long durable = machine.log.durable(), holds = machine.log.holds();
    std::printf("records: %zu, of which durable by now: %llu; times a line was held: %llu\n",
                machine.log.appended().size(), durable, holds);
    return failures == 0 ? 0 : 1;
}
