// What the interpreter asks of a memory, seen from a memory that only writes it down.
#include <sim/front/front_test_support.hpp>

#include <sstream>

namespace holdfast::sim::test {
namespace {

/// Answers each load with 100; refuses whatever comes before its time.
class mock_memory {
public:
    template <unsigned Bytes>
    bool load(hart& at, std::uint64_t address, std::uint64_t& value) {
        value = 100;
        return note(at) << "load " << Bytes << " at " << address, is_time(at);
    }
    template <unsigned Bytes>
    bool store(hart& at, std::uint64_t address, std::uint64_t value) {
        return note(at) << "store " << Bytes << " at " << address << ": " << value, is_time(at);
    }
    template <unsigned Bytes>
    bool load_reserved(hart& at, std::uint64_t address, std::uint64_t& value) {
        value = 100;
        return note(at) << "load reserved " << Bytes << " at " << address, is_time(at);
    }
    template <unsigned Bytes>
    bool store_conditional(hart& at, std::uint64_t address, std::uint64_t value, bool& done) {
        done = false;
        return note(at) << "store conditional " << Bytes << " at " << address << ": " << value, is_time(at);
    }
    template <unsigned Bytes>
    bool update(hart& at, std::uint64_t address, atomic_update how, std::uint64_t operand, std::uint64_t& old) {
        old = 100;
        return note(at) << "update " << Bytes << " at " << address << ": " << static_cast<int>(how) << " " << operand,
               is_time(at);
    }
    bool fence(hart& at, fence_order orders) {
        return note(at) << (orders == fence_order::all ? "fence" : "weak fence"), is_time(at);
    }
    bool synchronize(hart& at) { return note(at) << "synchronize", is_time(at); }
    bool custom(hart& at, custom_operation what, std::uint64_t first, std::uint64_t second) {
        return note(at) << "custom " << static_cast<int>(what) << ": " << first << " " << second << " after "
                        << at.retired, is_time(at);
    }
    bool read(hart&, std::uint64_t, std::span<std::byte>) { return true; }

    std::vector<std::string> seen() const {
        std::vector<std::string> lines;
        for (const auto& each : notes_) lines.push_back(each.str());
        return lines;
    }
    std::uint64_t open_from = 0;

private:
    std::ostream& note(const hart&) { return notes_.emplace_back(); }
    bool is_time(hart& at) const {
        if (at.local_time >= open_from) return true;
        at.stop = hart_stop::refused;
        at.local_time = open_from;
        return false;
    }
    std::vector<std::ostringstream> notes_{};
};

struct instruction_takes_1 {
    void retired(hart& at, const retired_instruction&) { ++at.local_time; }
};

struct mocked {
    explicit mocked(std::initializer_list<std::uint32_t> words) : instructions(code_base, bytes_of(words)) {
        at.pc = code_base;
        at.registers[a0] = 4096;
        at.registers[a1] = 7;
    }
    code instructions;
    mock_memory memory{};
    instruction_takes_1 clock{};
    hart at{};
    interpreter<mock_memory, instruction_takes_1> loop{instructions, memory, clock};
};

TEST(MemoryPolicy, IsAskedForEachAccessWithAddressSizeAndValue) {
    mocked machine({ld(a2, a0, 8), sd(a1, a0, 16), lr_d(a2, a0), sc_d(a3, a1, a0), amoadd_d(a2, a1, a0)});
    machine.loop.run(machine.at, 5);
    EXPECT_EQ(machine.memory.seen(),
              (std::vector<std::string>{"load 8 at 4104", "store 8 at 4112: 7", "load reserved 8 at 4096",
                                        "store conditional 8 at 4096: 7", "update 8 at 4096: 1 7"}));
    EXPECT_EQ(machine.at.registers[a2], 100u);
    EXPECT_EQ(machine.at.registers[a3], 1u);
}

TEST(MemoryPolicy, CustomOperationsReachItWithBothOperandsAndTheTime) {
    mocked machine({addi(zero, zero, 0), custom_word(custom_operation::log_create, a0)});
    machine.loop.run(machine.at, 2);
    EXPECT_EQ(machine.memory.seen(), std::vector<std::string>{"custom 6: 4096 7 after 1"});
}

TEST(MemoryPolicy, KnowsWhichFencesOrderLoadsAfterStores) {
    // fence; fence rw, w; fence r, rw; fence.tso; fence w, r; fence.i
    mocked machine({0x0ff0000f, 0x0310000f, 0x0230000f, 0x8330000f, 0x0120000f, 0x0000100f, ecall_word});
    machine.loop.run(machine.at, 7);
    EXPECT_EQ(machine.memory.seen(), (std::vector<std::string>{"fence", "weak fence", "weak fence", "weak fence",
                                                               "fence", "synchronize"}));
}

TEST(MemoryPolicy, ARefusedInstructionIsTriedAgainAndCountsOnce) {
    for (const std::uint32_t word : {ld(a2, a0, 0), sd(a1, a0, 0), lr_d(a2, a0), sc_d(a2, a1, a0),
                                     amoadd_d(a2, a1, a0), custom_word(custom_operation::persist_fence, 0),
                                     std::uint32_t{0x0ff0000f}, ecall_word}) {
        mocked machine({word, addi(a3, a3, 1)});
        machine.memory.open_from = 50;
        machine.loop.run(machine.at, 1);
        EXPECT_EQ(machine.at.stop, hart_stop::refused);
        EXPECT_EQ(machine.at.pc, code_base);
        EXPECT_EQ(machine.at.retired, 0u);
        EXPECT_EQ(machine.at.local_time, 50u);
        machine.at.stop = hart_stop::none;
        machine.loop.run(machine.at, 51);
        EXPECT_EQ(machine.at.pc, code_base + 4);
        EXPECT_EQ(machine.at.retired, 1u);
        EXPECT_EQ(machine.memory.seen().size(), 2u);
    }
}

}  // namespace
}  // namespace holdfast::sim::test
