// What the programs have in common in which each thread has a part of the data to itself: what is there at the end does
// not depend on the order of the threads, and the check can do a part's operations again.
#pragma once

#include <sim/guest/choose_access.hpp>
#include <sim/guest/element.hpp>
#include <sim/guest/heap.hpp>
#include <sim/guest/keys.hpp>
#include <sim/guest/parameters.hpp>

namespace holdfast::guest {

/// What a kernel is told of its part.
struct part_size {
    std::uint64_t bytes = 0;  ///< that its structure shall have
    std::uint64_t seed = 0;
    std::uint64_t operations = 0;

    /// What a part begins with, and what its operations draw, are different numbers.
    workload::random filling() const noexcept { return workload::random(~seed); }
    /// The numbers that the operations of the part are drawn from.
    key_numbers drawing(std::uint64_t keys) const noexcept { return key_numbers(seed, keys); }
};

/// A kernel has `name`; `root`, what is persistent, all zero at first; `bytes_per_operation`, by which the structure
/// may grow; and `on<Element, Access>`, made from an access, a root and the part, with
///   fill()               makes the structure
///   keys()               how many there are to draw from
///   operate(numbers)     one operation, inside a transaction
///   problem(sum)         nullptr, or what is wrong with the structure after the operations of its part; adds what is
///                        in it to the sum
template <class Kernel, class Element, class Access>
class part_program {
public:
    explicit part_program(const parameters& given) noexcept
        : given_(given), arena_(arena::create(room(), given.threads)), roots_(static_cast<top*>(arena_.root())),
          locks_(static_cast<lock*>(allocate_volatile(given.threads * sizeof(lock)))), all_there_(given.threads) {}

    int run() noexcept {
        auto work = [this](std::uint32_t thread) { work_as(thread); };
        run_threads(given_.threads, work);
        return verify();
    }

private:
    template <class By>
    using on = typename Kernel::template on<Element, By>;

    /// Each on lines of its own.
    struct alignas(64) top {
        typename Kernel::root of_part;
    };
    static_assert(sizeof(top) * most_threads <= arena::root_bytes);

    /// Slabs have ends that nobody uses, and what is in use at the same time may be a little more.
    std::uint64_t room() const noexcept {
        const std::uint64_t growth = given_.operations * Kernel::bytes_per_operation;
        return (given_.footprint_bytes * 2 + growth) / given_.threads + (4u << 20);
    }

    part_size part_of(std::uint32_t thread) const noexcept {
        const std::uint64_t more = thread < given_.operations % given_.threads ? 1 : 0;
        return {given_.footprint_bytes / given_.threads, given_.seed * most_threads + thread,
                given_.operations / given_.threads + more};
    }

    void work_as(std::uint32_t thread) noexcept {
        const part_size part = part_of(thread);
        on<guest_access>(guest_access(arena_, thread), &roots_[thread].of_part, part).fill();
        all_there_.arrive_and_wait();
        const Access logged(arena_, thread);
        on<Access> kernel(logged, &roots_[thread].of_part, part);
        key_numbers numbers = part.drawing(kernel.keys());
        if (thread == 0) begin_region_of_interest();
        for (std::uint64_t i = 0; i < part.operations; ++i) {
            logged.atomically(locks_[thread], [&] { kernel.operate(numbers); });
        }
        all_there_.arrive_and_wait();
        if (thread == 0) end_region_of_interest();
    }

    int verify() noexcept {
        std::uint64_t sum = 0;
        for (std::uint32_t thread = 0; thread < given_.threads; ++thread) {
            const part_size part = part_of(thread);
            on<guest_access> kernel(guest_access(arena_, thread), &roots_[thread].of_part, part);
            if (const char* const problem = kernel.problem(sum); problem != nullptr) {
                write_line("failed: ", problem);
                return 1;
            }
        }
        line said;
        said.add(Kernel::name).add(" verified: ").add_decimal(given_.operations).add(" operations, checksum ")
            .add_hexadecimal(sum);
        if (given_.prints_image) said.add(", image ").add_hexadecimal(arena_.image_checksum());
        said.write();
        return 0;
    }

    parameters given_;
    arena& arena_;
    top* roots_;
    lock* locks_;  // all zero is free
    barrier all_there_;
};

template <class Kernel>
int run_part_program(int count, char** arguments) noexcept {
    const parameters given = read_parameters(count, arguments);
    return with_access(given.logging, [&]<class Access>() {
        if (given.element == element_kind::string) return part_program<Kernel, string_element, Access>(given).run();
        return part_program<Kernel, integer_element, Access>(given).run();
    });
}

/// Words of DRAM for a check, all zero.
inline std::uint64_t* words_for_check(std::uint64_t count) noexcept {
    return static_cast<std::uint64_t*>(allocate_volatile(count * sizeof(std::uint64_t)));
}
/// A number that depends on the order of the two.
inline std::uint64_t mixed(std::uint64_t one, std::uint64_t other) noexcept {
    std::uint64_t state = one;
    state = workload::splitmix(state) ^ other;
    return workload::splitmix(state);
}

}  // namespace holdfast::guest
