#include <sim/front/kernel.hpp>

#include <algorithm>
#include <vector>

namespace holdfast::sim {
namespace {

// Numbers of the generic system call table, which RISC-V uses.
enum system_call_number : std::uint64_t {
    call_write = 64,
    call_exit = 93,
    call_exit_group = 94,
    call_set_tid_address = 96,
    call_futex = 98,
    call_gettid = 178,
    call_clone = 220,
    call_mmap = 222,
};

// Errors, as Linux numbers them; a call returns them negative.
constexpr std::int64_t bad_file = -9;
constexpr std::int64_t try_again = -11;
constexpr std::int64_t no_memory = -12;
constexpr std::int64_t already_there = -17;
constexpr std::int64_t invalid_argument = -22;

constexpr unsigned a0 = 10;
constexpr unsigned a7 = 17;
constexpr unsigned stack_pointer = 2;
constexpr unsigned thread_pointer = 4;

std::uint64_t argument(const hart& caller, unsigned number) noexcept { return caller.registers[a0 + number]; }

std::uint32_t thread_number(const hart& who) noexcept { return who.id.value + 1; }

}  // namespace

void kernel::serve(hart& caller, kernel_memory& memory) {
    caller.stop = hart_stop::none;
    std::int64_t answer = 0;
    switch (caller.registers[a7]) {
    case call_write: answer = write(caller, memory); break;
    case call_exit: return exit(caller, memory);
    case call_exit_group:
        exit_status_ = static_cast<int>(argument(caller, 0) & 0xff);
        caller.stop = hart_stop::exited;
        return;
    case call_set_tid_address:
        caller.clear_when_exited = argument(caller, 0);
        answer = thread_number(caller);
        break;
    case call_futex: answer = futex(caller, memory); break;
    case call_gettid: answer = thread_number(caller); break;
    case call_clone: answer = clone(caller, memory); break;
    case call_mmap: answer = map(caller); break;
    default:
        return stop_with(caller, {"no such system call", hexadecimal(caller.pc), "one that the machine has",
                                  std::to_string(caller.registers[a7])});
    }
    // Who waits finds the answer when it wakes.
    if (caller.stop != hart_stop::fault) caller.registers[a0] = static_cast<std::uint64_t>(answer);
}

std::int64_t kernel::write(hart& caller, kernel_memory& memory) {
    const std::uint64_t file = argument(caller, 0);
    const std::uint64_t length = argument(caller, 2);
    if (file != 1 && file != 2) return bad_file;
    constexpr std::uint64_t most_at_once = 1u << 20;
    std::vector<std::byte> text(std::min(length, most_at_once));
    if (text.empty()) return 0;
    if (!memory.read(caller, argument(caller, 1), text)) return 0;
    write_(static_cast<int>(file), {reinterpret_cast<const char*>(text.data()), text.size()});
    return static_cast<std::int64_t>(text.size());
}

std::int64_t kernel::futex(hart& caller, kernel_memory& memory) {
    constexpr std::uint64_t operation_mask = 0x7f;  // without the flag for futexes of one process
    enum : std::uint64_t { futex_wait = 0, futex_wake = 1 };
    const std::uint64_t word = argument(caller, 0);
    switch (argument(caller, 1) & operation_mask) {
    case futex_wait: {
        if (argument(caller, 3) != 0) return invalid_argument;  // a timeout: there is no clock to wait for
        std::uint64_t value = 0;
        if (!memory.load_int(caller, word, value)) return 0;
        if (static_cast<std::uint32_t>(value) != static_cast<std::uint32_t>(argument(caller, 2))) return try_again;
        harts_->wait(caller, word);
        return 0;
    }
    case futex_wake: return static_cast<std::int64_t>(harts_->wake(caller, word, argument(caller, 2)));
    default: return invalid_argument;
    }
}

std::int64_t kernel::clone(hart& caller, kernel_memory& memory) {
    enum : std::uint64_t {
        shares_memory = 0x100,
        is_thread = 0x10000,
        sets_thread_pointer = 0x80000,
        stores_number_for_parent = 0x100000,
        clears_number_at_exit = 0x200000,
    };
    const std::uint64_t flags = argument(caller, 0);
    if ((flags & shares_memory) == 0 || (flags & is_thread) == 0) return invalid_argument;
    hart* const made = harts_->add(caller);
    if (made == nullptr) return try_again;
    made->registers[a0] = 0;
    if (argument(caller, 1) != 0) made->registers[stack_pointer] = argument(caller, 1);
    if ((flags & sets_thread_pointer) != 0) made->registers[thread_pointer] = argument(caller, 3);
    if ((flags & clears_number_at_exit) != 0) made->clear_when_exited = argument(caller, 4);
    if ((flags & stores_number_for_parent) != 0) memory.store_int(caller, argument(caller, 2), thread_number(*made));
    return thread_number(*made);
}

std::int64_t kernel::map(hart& caller) {
    enum : std::uint64_t { map_private = 2, map_fixed = 0x10, map_anonymous = 0x20, map_fixed_noreplace = 0x100000 };
    constexpr std::uint64_t largest = address_space::limit;
    const std::uint64_t wanted = argument(caller, 0);
    const std::uint64_t flags = argument(caller, 3);
    if ((flags & map_anonymous) == 0 || (flags & map_private) == 0) return invalid_argument;
    if (argument(caller, 1) == 0 || argument(caller, 1) > largest) return invalid_argument;
    constexpr std::uint64_t in_page = address_space::page_bytes - 1;
    const std::uint64_t bytes = (argument(caller, 1) + in_page) & ~in_page;
    std::uint64_t place = next_mapping_;
    if ((flags & (map_fixed | map_fixed_noreplace)) != 0) {
        if (wanted % address_space::page_bytes != 0) return invalid_argument;
        if (!space_->is_free(wanted, bytes)) return already_there;
        place = wanted;
    } else {
        next_mapping_ += bytes;
        if (!space_->is_free(place, bytes)) return no_memory;
    }
    const auto access = static_cast<permission>(argument(caller, 2) & (readable | writable));
    return space_->map(place, bytes, access) ? static_cast<std::int64_t>(place) : no_memory;
}

void kernel::exit(hart& caller, kernel_memory& memory) {
    caller.stop = hart_stop::exited;
    if (caller.clear_when_exited != 0 && memory.store_int(caller, caller.clear_when_exited, 0)) {
        harts_->wake(caller, caller.clear_when_exited, 1);
    }
    const auto is_over = [](const hart& each) { return each.stop == hart_stop::exited; };
    if (std::ranges::all_of(harts_->all(), is_over)) exit_status_ = static_cast<int>(argument(caller, 0) & 0xff);
}

}  // namespace holdfast::sim
