// What the guest programs for workload/stamp/ have in common. Each thread has a program with an input and shared data
// of its own, in its part of the arena, as with part_program.hpp: what is there at the end does not depend on the order
// of the threads. An operation is a transaction of the work. A program that has come to its end with operations left
// takes its shared data away and runs again, on the same input; that is logged, too, and belongs to the region of
// interest.
//
// Its work needs the private data of its beginning, and these belong to one access. So it begins with the access of its
// work, where other programs fill their structures without a log.
#pragma once

#include <sim/guest/choose_access.hpp>
#include <sim/guest/heap.hpp>
#include <workload/stamp/frame.hpp>

namespace holdfast::guest {

/// The barrier of a thread that is alone with its program.
struct nobody_else {
    void arrive_and_wait() const noexcept {}
};

constexpr std::uint64_t within(std::uint64_t least, std::uint64_t number, std::uint64_t most) noexcept {
    return number < least ? least : number > most ? most : number;
}

/// A `Set` has `name`, and `of(bytes)`, the parameters of a program whose data, shared and private, take about as many.
template <class Set, class Access>
class stamp_program {
public:
    explicit stamp_program(const parameters& given) noexcept
        : given_(given), arena_(arena::create(given.footprint_bytes * 2 / given.threads + (4u << 20), given.threads)),
          roots_(static_cast<top*>(arena_.root())), all_there_(given.threads) {}

    int run() noexcept {
        auto work = [this](std::uint32_t thread) { work_as(thread); };
        run_threads(given_.threads, work);
        return report();
    }

private:
    using parameters_type = decltype(Set::of(0));
    using program_type = typename parameters_type::template program<Access>;

    /// Each on lines of its own.
    struct alignas(64) top {
        typename program_type::root_type of_part;
    };
    static_assert(sizeof(top) * most_threads <= arena::root_bytes);

    struct alignas(64) outcome {
        const char* problem;
        std::uint64_t sum;
    };

    parameters_type part_of(std::uint32_t thread) const noexcept {
        parameters_type part = Set::of(given_.footprint_bytes / given_.threads);
        part.seed = given_.seed * most_threads + thread;
        return part;
    }
    std::uint64_t operations_of(std::uint32_t thread) const noexcept {
        return given_.operations / given_.threads + (thread < given_.operations % given_.threads ? 1 : 0);
    }

    void work_as(std::uint32_t thread) noexcept {
        const Access memory(arena_, thread);
        program_type program(memory, &roots_[thread].of_part, part_of(thread));
        begin(program);
        all_there_.arrive_and_wait();
        if (thread == 0) begin_region_of_interest();
        const std::uint64_t done = operate(program, memory);
        all_there_.arrive_and_wait();
        if (thread == 0) end_region_of_interest();
        outcomes_[thread] = {program.check().problem, program.hash() + done};
    }

    static void begin(program_type& program) noexcept {
        if (!program.begin(1)) give_up("a program could not be begun");
    }

    /// How many operations there were: as many as are wanted, and those that the last run had left.
    std::uint64_t operate(program_type& program, const Access& memory) noexcept {
        for (std::uint64_t done = 0;;) {
            nobody_else all;
            workload::stamp_thread<nobody_else> me(0, 1, all);
            program.work(me);
            done += me.transactions();
            if (done >= operations_of(memory.thread())) return done;
            if (!program.end()) give_up("a program could not be ended");
            memory.atomically([&] { arena_.clear(memory, memory.thread()); });
            begin(program);
        }
    }

    int report() const noexcept {
        std::uint64_t sum = 0;
        for (std::uint32_t thread = 0; thread < given_.threads; ++thread) {
            if (const char* const problem = outcomes_[thread].problem; problem != nullptr) {
                write_line("failed: ", problem);
                return 1;
            }
            sum += outcomes_[thread].sum;
        }
        line said;
        said.add(Set::name).add(" verified: ").add_decimal(given_.operations).add(" operations, checksum ")
            .add_hexadecimal(sum);
        if (given_.prints_image) said.add(", image ").add_hexadecimal(arena_.image_checksum());
        said.write();
        return 0;
    }

    parameters given_;
    arena& arena_;
    top* roots_;
    barrier all_there_;
    outcome outcomes_[most_threads]{};
};

template <class Set>
int run_stamp_program(int count, char** arguments) noexcept {
    const parameters given = read_parameters(count, arguments);
    return with_access(given.logging, [&]<class Access>() { return stamp_program<Set, Access>(given).run(); });
}

}  // namespace holdfast::guest
