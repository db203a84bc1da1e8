// Whole workloads, here and under qemu: what is left in memory, how many instructions, every register on the way.
#include <sim/front/guest_test_support.hpp>

#include <sim/base/address_map.hpp>
#include <sim/base/line.hpp>
#include <workload/random.hpp>

#include <array>
#include <cstdlib>
#include <cstring>
#include <map>

namespace holdfast::sim::test {
namespace {

/// Of what qemu says, only its log.
const char* const to_log = " 2>&1 >/dev/null";

const char* const programs[] = {"hash", "rbtree", "btree", "sps", "ssca2"};
const char* const kernels[] = {"ctree", "hashmap", "ycsb", "tpcc", "echo", "vacation", "memcached"};
const char* const stamp_programs[] = {"stamp-bayes",     "stamp-genome", "stamp-intruder", "stamp-kmeans",
                                      "stamp-labyrinth", "stamp-ssca2",  "stamp-vacation", "stamp-yada"};

TEST(Workloads, LeaveTheSameImageOfTheArenaAsUnderQemu) {
    for (const char* const program : programs) {
        for (const char* const element : {"int", "string"}) {
            const arguments given{"--footprint", "200000", "--operations", "5000", "--element", element,
                                  "--image", "1"};
            const std::string here = output_here(program, given);
            EXPECT_EQ(here, output_there(program, given)) << program << " " << element;
            EXPECT_NE(here.find("verified"), std::string::npos) << here;
            EXPECT_NE(here.find("image"), std::string::npos) << here;
        }
    }
}

TEST(Workloads, HoldTheSameAsUnderQemuWithAnyNumberOfThreads) {
    for (const char* const program : programs) {
        for (const char* const threads : {"2", "4", "8"}) {
            const arguments given{"--footprint", "200000", "--operations", "5000", "--threads", threads, "--seed", "3"};
            const std::string here = output_here(program, given);
            EXPECT_EQ(here, output_there(program, given)) << program << " with " << threads << " threads";
            EXPECT_NE(here.find("verified"), std::string::npos) << here;
        }
    }
}

TEST(Workloads, OfWhispersKindHoldTheSameAsUnderQemu) {
    for (const char* const program : kernels) {
        for (const char* const threads : {"1", "8"}) {
            for (const char* const element : {"int", "string"}) {
                const arguments given{"--footprint", "200000", "--operations", "3000", "--threads", threads,
                                      "--element", element};
                const std::string here = output_here(program, given);
                EXPECT_EQ(here, output_there(program, given)) << program << ", threads " << threads << ", " << element;
                EXPECT_NE(here.find("verified"), std::string::npos) << here;
            }
        }
    }
}

TEST(Workloads, HoldTheSameOnFrequentKeysAsUnderQemu) {
    for (const std::string program : {"hash-zipf", "rbtree-zipf", "btree-zipf", "sps-zipf", "ctree-zipf",
                                      "hashmap-zipf", "ycsb-zipf", "tpcc-zipf", "echo-zipf", "memcached-zipf"}) {
        const arguments given{"--footprint", "200000", "--operations", "3000", "--threads", "4"};
        const std::string here = output_here(program, given);
        EXPECT_EQ(here, output_there(program, given)) << program;
        EXPECT_NE(here.find("verified"), std::string::npos) << here;
    }
}

TEST(Workloads, OfWhispersKindHoldTheSameHoweverTheyLog) {
    for (const char* const program : kernels) {
        const arguments given{"--footprint", "100000", "--operations", "1000", "--threads", "2", "--logging"};
        const auto logged = [&](const char* how) {
            arguments all = given;
            all.push_back(how);
            return output_here(program, all);
        };
        const std::string expected = logged("none");
        EXPECT_NE(expected.find("verified"), std::string::npos) << expected;
        for (const char* const how : {"undo", "redo"}) EXPECT_EQ(logged(how), expected) << program << ", " << how;
    }
}

TEST(Workloads, OfStampHoldTheSameAsUnderQemu) {
    for (const char* const program : stamp_programs) {
        for (const char* const threads : {"1", "2"}) {
            const arguments given{"--footprint", "20000", "--operations", "1000", "--threads", threads, "--seed", "2"};
            const std::string here = output_here(program, given);
            EXPECT_EQ(here, output_there(program, given)) << program << " with " << threads << " threads";
            EXPECT_NE(here.find("verified"), std::string::npos) << here;
        }
    }
}

TEST(Workloads, OfStampHoldTheSameHoweverTheyLog) {
    for (const char* const program : stamp_programs) {
        for (const char* const threads : {"1", "2"}) {
            const auto logged = [&](const char* how) {
                return output_here(program, {"--footprint", "20000", "--operations", "300", "--threads", threads,
                                             "--logging", how});
            };
            const std::string expected = logged("none");
            EXPECT_NE(expected.find("verified"), std::string::npos) << expected;
            for (const char* const how : {"undo", "redo"}) EXPECT_EQ(logged(how), expected) << program << ", " << how;
        }
    }
}

TEST(Workloads, OfStampLeaveTheSameImageOfTheArenaAsUnderQemuWhenTheyRunAgain) {
    for (const char* const program : stamp_programs) {
        const arguments given{"--footprint", "10000", "--operations", "5000", "--image", "1"};
        EXPECT_EQ(output_here(program, given), output_there(program, given)) << program;
    }
}

/// Stops what has lost its way.
struct impatient_observer {
    void retired(hart& at, const retired_instruction&) {
        ++at.local_time;
        if (++count > 5'000'000) at.stop = hart_stop::paused;
    }
    std::uint64_t count = 0;
};

/// The arena's lines by their addresses.
std::map<std::uint64_t, line_data> lines_of_arena(const address_space& space) {
    std::map<std::uint64_t, line_data> lines;
    for (std::uint64_t page = arena_begin.value; space.find<1>(page, readable) != nullptr;
         page += address_space::page_bytes) {
        const std::byte* const bytes = space.find<1>(page, readable);
        for (std::uint64_t at = 0; at < address_space::page_bytes; at += line_bytes)
            std::memcpy(lines[page + at].data(), bytes + at, line_bytes);
    }
    return lines;
}

/// What the program says when a line that its operations changed is as it was before them.
std::string output_without_a_line(const char* program, const arguments& given, std::uint64_t seed) {
    guest_run<impatient_observer> guest(program);
    const auto go_on = [&](custom_operation until) {
        guest.memory.pause_behind(until);
        return machine<functional_memory, impatient_observer>(*guest.running, guest.memory, guest.observer).run();
    };
    guest.memory.pause_behind(custom_operation::region_of_interest_begin);
    EXPECT_TRUE(guest.run(given));
    const auto before = lines_of_arena(guest.space);
    EXPECT_TRUE(go_on(custom_operation::region_of_interest_end));
    std::vector<std::uint64_t> changed;
    for (const auto& [at, line] : lines_of_arena(guest.space))
        if (before.at(at) != line) changed.push_back(at);
    EXPECT_GT(changed.size(), 100u) << program;
    const std::uint64_t lost = changed[workload::random(seed).below(changed.size())];
    std::memcpy(guest.space.find<1>(lost, writable), before.at(lost).data(), line_bytes);
    static_cast<void>(go_on({}));
    return guest.output;
}

void expect_to_find_lost_lines(const char* program, const arguments& given) {
    const std::string expected = output_here(program, given);
    std::uint64_t found = 0;
    constexpr std::uint64_t tries = 6;
    for (std::uint64_t seed = 1; seed <= tries; ++seed)
        if (output_without_a_line(program, given, seed) != expected) ++found;
    // A block that was freed may have anything.
    EXPECT_GE(found, tries * 2 / 3) << program;
}

TEST(Workloads, OfWhispersKindFindThatALineWasLost) {
    for (const char* const program : kernels)
        expect_to_find_lost_lines(program, {"--footprint", "200000", "--operations", "1500"});
}

/// Those that have many lines in the end.
TEST(Workloads, OfStampFindThatALineWasLost) {
    for (const char* const program : {"stamp-genome", "stamp-labyrinth", "stamp-ssca2", "stamp-vacation", "stamp-yada"})
        expect_to_find_lost_lines(program, {"--footprint", "200000", "--operations", "300"});
}

TEST(Workloads, HoldTheSameInAnyNumberOfShards) {
    std::vector<std::string> seen;
    for (const char* const shards : {"1", "7", "256"}) {
        seen.push_back(output_here("btree", {"--footprint", "200000", "--operations", "5000", "--shards", shards}));
    }
    EXPECT_NE(seen[0].find("verified"), std::string::npos);
    EXPECT_EQ(seen[0], seen[1]);
    EXPECT_EQ(seen[0], seen[2]);
}

TEST(Workloads, TakeAsManyInstructionsAsQemuExecutesOneByOne) {
    for (const char* const program : programs) {
        const arguments given{"--footprint", "20000", "--operations", "200"};
        guest_run<> here(program);
        ASSERT_TRUE(here.run(given));
        // A line for each block that is executed, and each block a single instruction.
        const std::string command = emulator_command("-singlestep -d nochain,exec", program, given) + to_log;
        std::uint64_t there = 0;
        read_lines(command, [&](const char* line) {
            if (std::string_view(line).starts_with("Trace ")) ++there;
        });
        EXPECT_GT(there, 10000u);
        EXPECT_EQ(here.retired(), there) << program;
    }
}

TEST(Workloads, RepeatExactly) {
    for (const char* const threads : {"1", "5"}) {
        std::vector<std::string> seen;
        for (int round = 0; round < 2; ++round) {
            guest_run<> guest("hash");
            ASSERT_TRUE(guest.run({"--operations", "3000", "--threads", threads, "--image", "1"}));
            for (const hart& each : guest.running->harts().all()) {
                guest.output += std::to_string(each.retired) + " " + std::to_string(each.waited) + " " +
                                std::to_string(each.spun) + " " + hexadecimal(each.pc) + "\n";
            }
            seen.push_back(guest.output);
        }
        EXPECT_EQ(seen[0], seen[1]);
    }
}

/// Instructions take any time, so that harts meet everywhere.
struct random_clock {
    void retired(hart& at, const retired_instruction&) { at.local_time += numbers.below(40); }
    workload::random numbers{1};
};

TEST(Workloads, HoldTheSameHoweverTheirThreadsMeet) {
    for (const char* const program : programs) {
        const arguments given{"--footprint", "20000", "--operations", "3000", "--threads", "8", "--shards", "4"};
        const std::string expected = output_here(program, given);
        for (std::uint64_t seed = 1; seed <= 5; ++seed) {
            guest_run<random_clock> guest(program, random_clock{workload::random(seed)});
            const auto status = guest.run(given, {.quantum = 1});
            ASSERT_TRUE(status) << status.problem().text();
            EXPECT_EQ(guest.output, expected) << program << ", seed " << seed;
        }
    }
}

TEST(Workloads, ThatWaitForEachOtherSleep) {
    guest_run<> guest("hash");
    ASSERT_TRUE(guest.run({"--operations", "20000", "--threads", "8"}));
    std::uint64_t spun = 0;
    std::uint64_t waited = 0;
    for (const hart& each : guest.running->harts().all()) {
        spun += each.spun;
        waited += each.waited;
    }
    EXPECT_GT(waited, 0u);
    EXPECT_LT(spun, guest.retired() / 50);
}

/// The registers before an instruction, as qemu shows them.
struct registers_there {
    std::uint64_t pc = 0;
    std::array<std::uint64_t, 64> all{};  ///< x0 to x31, f0 to f31
};

/// Reads "x5/t0  0000000000000001 x6/t1 …" or "f5/ft5 …" into registers.
void read_registers(const char* line, registers_there& into) {
    char name[16];
    unsigned long long value = 0;
    for (int read = 0; std::sscanf(line, "%15s %llx%n", name, &value, &read) == 2; line += read) {
        const unsigned long number = std::strtoul(name + 1, nullptr, 10);
        if (number < 32) into.all[number + (name[0] == 'f' ? first_fp_register : 0)] = value;
    }
}

/// At most `most` instructions, from the first on.
std::vector<registers_there> steps_there(const std::string& program, const arguments& given, std::size_t most) {
    std::vector<registers_there> steps;
    // 17 lines each.
    const std::string command = emulator_command("-singlestep -d nochain,cpu,fpu", program, given) + to_log +
                                " | head -n " + std::to_string(17 * most);
    read_lines(command, [&](const char* line) {
        if (std::string_view(line).starts_with(" pc ")) {
            steps.emplace_back().pc = std::strtoull(line + 4, nullptr, 16);
        } else if (!steps.empty() && (std::string_view(line).starts_with(" x") ||
                                      std::string_view(line).starts_with(" f"))) {
            read_registers(line, steps.back());
        }
    });
    return steps;
}

/// Compares after each instruction. The arguments lie elsewhere under qemu: addresses in the first stack are as good as
/// any other of them.
class comparing_observer {
public:
    explicit comparing_observer(const std::vector<registers_there>& steps) : steps_(&steps) {}

    void retired(hart& at, const retired_instruction& record) {
        ++at.local_time;
        if (differs_ || ++count_ >= steps_->size()) return;
        const registers_there& there = (*steps_)[count_];
        if (count_ == 1) stack_here_ = at.registers[2];
        differs_ = (*steps_)[count_ - 1].pc != record.pc || there.pc != record.next_pc;
        for (unsigned i = 1; i < 64; ++i) {
            const bool is_answer = i == 10 && record.code == operation_code::ecall;  // the kernel has it still to give
            if (is_answer || at.registers[i] == there.all[i]) continue;
            const bool in_stacks = is_in(stack_here_, at.registers[i]) && is_in((*steps_)[0].all[2], there.all[i]);
            differs_ = differs_ || !in_stacks;
        }
        EXPECT_FALSE(differs_) << "at instruction " << count_ << ", pc " << hexadecimal(record.pc);
        if (record.destination >= first_fp_register && record.destination < sink_register) ++floating_results_;
    }
    std::uint64_t count() const { return count_; }
    std::uint64_t floating_results() const { return floating_results_; }

private:
    static bool is_in(std::uint64_t stack, std::uint64_t address) { return address - stack < (1u << 20); }

    const std::vector<registers_there>* steps_;
    std::uint64_t count_ = 0;
    std::uint64_t stack_here_ = 0;
    std::uint64_t floating_results_ = 0;
    bool differs_ = false;
};

TEST(Workloads, HaveTheSameRegistersAsUnderQemuAfterEveryInstruction) {
    for (const char* const program : programs) {
        const arguments given{"--footprint", "4096", "--operations", "40", "--shards", "4"};
        const std::vector<registers_there> steps = steps_there(program, given, 1'000'000);
        guest_run<comparing_observer> here(program, comparing_observer(steps));
        ASSERT_TRUE(here.run(given));
        EXPECT_GT(steps.size(), 5000u);
        EXPECT_EQ(here.observer.count(), steps.size()) << program;
    }
}

TEST(Workloads, HaveTheSameFloatingPointRegistersAsUnderQemuAfterEveryInstruction) {
    const std::vector<registers_there> steps = steps_there("instructions_floating", {}, 50'000);
    guest_run<comparing_observer> here("instructions_floating", comparing_observer(steps));
    ASSERT_TRUE(here.run({}));
    EXPECT_EQ(steps.size(), 50'000u);
    EXPECT_GT(here.observer.floating_results(), 400u);
}

TEST(Guest, SaysWhatIsWrongWithItsArguments) {
    guest_run<> guest("hash");
    const auto status = guest.run({"--threads", "9"});
    ASSERT_TRUE(status);
    EXPECT_EQ(*status, 2);
    EXPECT_EQ(guest.output, "bad argument --threads: expected a number from 1 to 8, found 9\n");
}

TEST(Guest, ThatWantsMoreHartsThanThereAreGivesUpByItself) {
    guest_run<> guest("hash");
    const auto status = guest.run({"--threads", "4"}, {.most_harts = 2});
    ASSERT_TRUE(status);
    EXPECT_EQ(*status, 3);
    EXPECT_EQ(guest.output, "gave up: no hart left for a thread\n");
}

}  // namespace
}  // namespace holdfast::sim::test
