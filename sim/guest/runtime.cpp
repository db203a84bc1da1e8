// What a program stands on without a C library: the beginning, memory, threads, and the functions that compilers call
// of themselves.
#include <sim/base/address_map.hpp>
#include <sim/guest/heap.hpp>
#include <sim/guest/text.hpp>
#include <sim/guest/threads.hpp>

extern "C" {

long start_hart(unsigned long flags, void* stack, void* parent_number, void* thread_pointer, void* child_number,
                void (*function)(void*), void* argument);

int main(int count, char** arguments);

[[noreturn]] void guest_start(long* stack) {
    const int count = static_cast<int>(stack[0]);
    holdfast::guest::leave(main(count, reinterpret_cast<char**>(stack + 1)));
}

// By words where both ends are aligned, which in these programs is nearly always.
void* memcpy(void* to, const void* from, std::size_t bytes) {
    auto* out = static_cast<unsigned char*>(to);
    const auto* in = static_cast<const unsigned char*>(from);
    if (((reinterpret_cast<std::uintptr_t>(out) | reinterpret_cast<std::uintptr_t>(in)) & 7) == 0) {
        for (; bytes >= 8; bytes -= 8, out += 8, in += 8) {
            *reinterpret_cast<std::uint64_t*>(out) = *reinterpret_cast<const std::uint64_t*>(in);
        }
    }
    for (; bytes > 0; --bytes) *out++ = *in++;
    return to;
}

void* memmove(void* to, const void* from, std::size_t bytes) {
    auto* out = static_cast<unsigned char*>(to);
    const auto* in = static_cast<const unsigned char*>(from);
    if (out <= in || out >= in + bytes) return memcpy(to, from, bytes);
    while (bytes-- > 0) out[bytes] = in[bytes];
    return to;
}

void* memset(void* to, int value, std::size_t bytes) {
    auto* out = static_cast<unsigned char*>(to);
    const std::uint64_t word = (static_cast<unsigned>(value) & 255) * 0x0101010101010101u;
    if ((reinterpret_cast<std::uintptr_t>(out) & 7) == 0) {
        for (; bytes >= 8; bytes -= 8, out += 8) *reinterpret_cast<std::uint64_t*>(out) = word;
    }
    for (; bytes > 0; --bytes) *out++ = static_cast<unsigned char>(value);
    return to;
}

int memcmp(const void* a, const void* b, std::size_t bytes) {
    const auto* left = static_cast<const unsigned char*>(a);
    const auto* right = static_cast<const unsigned char*>(b);
    for (; bytes > 0; --bytes, ++left, ++right) {
        if (*left != *right) return *left < *right ? -1 : 1;
    }
    return 0;
}
}

namespace holdfast::guest {

void give_up(const char* reason) noexcept {
    write_line("gave up: ", reason);
    leave(3);
}

void* map_memory(std::uint64_t address, std::size_t bytes) noexcept {
    constexpr long read_and_write = 1 | 2;
    constexpr long private_anonymous = 2 | 0x20;
    constexpr long fixed_noreplace = 0x100000;
    // No reserve: the host gives memory to what is touched.
    constexpr long no_reserve = 0x4000;
    const long got = call_system(222, static_cast<long>(address), static_cast<long>(bytes), read_and_write,
                                 private_anonymous | no_reserve | fixed_noreplace, -1, 0);
    if (got != static_cast<long>(address)) give_up("no memory where it is wanted");
    return reinterpret_cast<void*>(address);
}

void* allocate_volatile(std::size_t bytes) noexcept {
    constexpr std::size_t chunk_bytes = std::size_t{1} << 20;
    static lock one_at_a_time;
    static std::uint64_t next = sim::heap_begin.value;
    static std::uint64_t end = sim::heap_begin.value;
    bytes = (bytes + 63) & ~std::size_t{63};
    one_at_a_time.acquire();
    if (bytes > end - next) {
        const std::size_t mapped = (bytes + chunk_bytes - 1) & ~(chunk_bytes - 1);
        map_memory(end, mapped);
        end += mapped;
    }
    const std::uint64_t made = next;
    next += bytes;
    one_at_a_time.release();
    return reinterpret_cast<void*>(made);
}

namespace detail {

void start_thread(thread_start& start) noexcept {
    // What a thread of the C library has: it shares memory, files and signals. The kernel tells of its end.
    constexpr unsigned long as_thread = 0x100 | 0x200 | 0x400 | 0x800 | 0x10000 | 0x40000;
    constexpr unsigned long clears_number = 0x200000;
    constexpr std::size_t stack_bytes = 65536;
    char* const stack = static_cast<char*>(allocate_volatile(stack_bytes));
    const auto run = [](void* of) {
        auto* const began = static_cast<thread_start*>(of);
        began->run(began->what, began->number);
    };
    const long started = start_hart(as_thread | clears_number, stack + stack_bytes, nullptr, nullptr,
                                    &start.is_running, run, &start);
    if (started < 0) give_up("no hart left for a thread");
}

void join_thread(thread_start& start) noexcept {
    while (__atomic_load_n(&start.is_running, __ATOMIC_ACQUIRE) != 0) sleep_while_shared(&start.is_running, 1);
}

}  // namespace detail
}  // namespace holdfast::guest
