// The ports together: a small undo and redo logger, attached from outside, that keeps every line out of the NVRAM until
// its log entries are there. A crash at any moment shows whether it could.
#include <sim/cache/tag_walker.hpp>
#include <sim/memory/memory_system.hpp>

#include <gtest/gtest.h>

#include <map>
#include <random>
#include <set>

namespace holdfast::sim {

namespace {

struct log_entry {
    std::uint64_t where = 0, old_value = 0, new_value = 0, rest[5]{};
};
static_assert(sizeof(log_entry) == line_bytes);

class small_logger : public port::store_commit, public port::write_back, public port::persisted {
public:
    small_logger(port::ports& attached, memory_system& memory) : memory_(memory) {
        attached.on_store = this;
        attached.on_write_back = this;
        attached.on_persist = this;
    }

    time commit(const port::store_event& event) override {
        if (!memory_.map().is_nvram(event.where)) return event.at;
        log_entry entry{event.where.value};
        std::memcpy(&entry.old_value, event.old_bytes.data(), 8);
        std::memcpy(&entry.new_value, event.new_bytes.data(), 8);
        needs_[event.where.line()] = ++appended_;
        // The store waits until the buffer has taken its entry.
        return memory_.nvram().append(log_at(appended_), std::as_bytes(std::span(&entry, 1)), event.at);
    }

    port::permission leave(const port::write_back_event& event) override {
        const std::uint64_t needed = event.from == port::level::controller ? needs_[event.line] : 0;
        // The controller as persist point tells of acceptance at once, which may be a little later than this line's.
        if (needed <= durable_at_.size()) return {needed == 0 ? event.at : durable_at_[needed - 1], false};
        held_.insert(event.line);
        ++holds_;
        return {event.at, true};
    }

    time press(address line, time at) override {
        held_.erase(line);
        return memory_.nvram().flush(at);
    }

    void reached(const port::persist_event& event) override {
        if (event.from != port::source::log) return;
        durable_at_.push_back(event.at);
        for (auto each = held_.begin(); each != held_.end();) {
            const address line = *each;
            if (needs_[line] > durable_at_.size()) {
                ++each;
            } else {
                each = held_.erase(each);
                memory_.nvram().release(line, event.at);
            }
        }
    }

    address log_at(std::uint64_t entry) const { return memory_.map().nvram_begin + (1 << 28) + entry * line_bytes; }
    std::uint64_t appended() const { return appended_; }
    std::uint64_t holds() const { return holds_; }

private:
    memory_system& memory_;
    std::uint64_t appended_ = 0, holds_ = 0;
    std::vector<time> durable_at_;
    std::map<address, std::uint64_t> needs_;
    std::set<address> held_;
};

constexpr std::uint64_t words = 64 * 8;

struct logged_machine {
    explicit logged_machine(const memory_config& config) : memory(config, attached), logger(attached, memory) {}

    static hierarchy_config small_caches() {
        hierarchy_config config;
        config.il1 = config.dl1 = {4 * 64 * 2, 2, ps(1600), ps(400)};
        config.l2 = {8 * 64 * 4, 4, ps(4400), ps(4400)};
        return config;
    }
    address word(std::uint64_t number) const { return memory.map().nvram_begin + number % words * 8; }

    port::ports attached;
    memory_system memory;
    hierarchy caches{small_caches(), memory, attached};
    small_logger logger;
};

std::uint64_t word_in(const memory_image& image, address where) {
    std::uint64_t value = 0;
    image.read_bytes(where, std::as_writable_bytes(std::span(&value, 1)));
    return value;
}

/// Undoes the log, newest first: what remains must be what was there in the beginning, zeros.
void check_that_the_log_undoes(const logged_machine& machine, memory_image& survives) {
    for (std::uint64_t number = machine.logger.appended(); number > 0; --number) {
        const address at = machine.logger.log_at(number);
        const std::uint64_t where = word_in(survives, at);
        if (where == 0) continue;
        const std::uint64_t old_value = word_in(survives, at + 8);
        survives.write_bytes(address{where}, std::as_bytes(std::span(&old_value, 1)));
    }
    for (std::uint64_t number = 0; number < words; ++number) {
        ASSERT_EQ(word_in(survives, machine.word(number)), 0u) << "word " << number;
    }
}

void run_and_cut(const memory_config& config, std::uint64_t seed) {
    std::mt19937_64 random(seed);
    logged_machine machine(config);
    tag_walker walker(machine.caches);
    const auto force_dirty = [](walked_line& line) { return line.dirty; };
    time now{};
    const std::uint64_t stores = 1 + random() % 400;
    for (std::uint64_t value = 1; value <= stores; ++value) {
        const auto core = static_cast<std::uint32_t>(random() % 4);
        const store_source who{core, hart_id{core}, {}};
        const address where = machine.word(random());
        const time at = now + ns(random() % 200);
        machine.caches.store(who, where, std::as_bytes(std::span(&value, 1)), at);
        if (value % 9 == 0) machine.caches.write_back(who, where, at);
        if (value % 31 == 0) machine.caches.fence(hart_id{core}, at);
        if (value % 13 == 0) walker.walk_l2(value % walker.l2_sets(), at, force_dirty);
        now += ns(random() % 100);
        machine.memory.settle(now);
    }
    memory_image survives = machine.memory.nvram().crash(now + ns(random() % 1000));
    check_that_the_log_undoes(machine, survives);
}

}  // namespace

TEST(Logging, through_the_ports_alone_no_line_reaches_the_persist_point_before_its_log) {
    memory_config config;
    config.controller.write_entries = 8;
    config.controller.high_mark = 6;
    config.controller.low_mark = 2;
    config.controller.log_entries = 4;
    for (std::uint64_t seed = 0; seed < 300; ++seed) {
        config.controller.drain = static_cast<drain_policy>(seed % 5);
        config.controller.log = static_cast<log_arbitration>(seed / 5 % 3);
        config.controller.persist = static_cast<persist_point>(seed / 15 % 2);
        SCOPED_TRACE("seed " + std::to_string(seed));
        run_and_cut(config, seed);
        if (HasFatalFailure()) return;
    }
}

TEST(Logging, holds_lines_whose_entries_are_still_on_their_way) {
    memory_config config;
    config.controller.log = log_arbitration::in_order;
    logged_machine machine(config);
    const std::uint64_t value = 1;
    machine.caches.store({}, machine.word(0), std::as_bytes(std::span(&value, 1)), ns(0));
    machine.caches.force_write_back(machine.word(0).line(), ns(200));
    EXPECT_EQ(machine.logger.holds(), 1u);
    machine.memory.nvram().flush(ns(300));
    machine.memory.settle(ns(300 + 300));
    EXPECT_EQ(machine.memory.nvram().waiting(), 1u) << "released, and waits for a drain now";
}

}  // namespace holdfast::sim
