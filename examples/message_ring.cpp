// A ring of cache lines as a message queue between two processes, one of which dies and is succeeded.
//
// A slot is empty or full. The producer alone writes to it while it is empty, the consumer alone while it is full, so
// that each line has one writer at any moment. A consumer that starts finds its place in the slots themselves: the full
// one with the lowest number. One that dies between handling a message and emptying its slot leaves it full, and its
// successor handles it again: delivery is at least once, in order.
#include <holdfast/holdfast.hpp>

#include <array>
#include <csignal>
#include <cstdint>
#include <cstdio>
#include <cstdlib>
#include <optional>

#include <sys/wait.h>
#include <unistd.h>

namespace {

constexpr std::uint32_t slots = 8;
constexpr std::uint32_t messages = 20'000;

struct slot {
    std::uint32_t number = 0;
    bool is_full = false;
    std::array<char, 20> text{};
};
using ring = holdfast::line_array<slot, slots>;

holdfast::create_options options() {
    holdfast::create_options wanted;
    wanted.bytes = 1 << 20;
    wanted.durability = holdfast::level::process;  // processes die here, not the machine
    return wanted;
}

slot message(std::uint32_t number) {
    slot made{number, true, {}};
    std::snprintf(made.text.data(), made.text.size(), "message %u", number);
    return made;
}

void produce(ring& all) {
    for (std::uint32_t number = 1; number <= messages; ++number) {
        auto& next = all[number % slots];
        while (next.load().is_full) ::usleep(10);
        next.transact([&](slot& empty) { empty = message(number); });
    }
}

/// The full slot with the lowest number: where the one before has stopped.
std::optional<std::uint32_t> first_full(const ring& all) {
    std::optional<std::uint32_t> lowest;
    for (const auto& each : all) {
        const slot now = each.load();
        if (now.is_full && (!lowest || now.number < *lowest)) lowest = now.number;
    }
    return lowest;
}

/// Handles messages, which is to write their numbers to `handled`, until it has had the last or is killed.
[[noreturn]] void consume(int handled) {
    auto pool = holdfast::line_pool::open_shared("ring.pool", options()).value();
    auto& all = *pool.root<ring>("ring").value();
    // What the one before has stored is durable then (at a level where that says something), before it is relied on.
    for (auto& each : all) each.recover();
    while (!first_full(all)) ::usleep(10);
    // Once more: while that one looked, the producer may have filled a slot that it had passed, and then this one.
    std::optional<std::uint32_t> number = first_full(all);
    for (;; ++*number) {
        auto& next = all[*number % slots];
        slot found = next.load();
        while (!found.is_full) {
            ::usleep(10);
            found = next.load();
        }
        const bool is_right = found.number == *number && found.text == message(*number).text;
        const std::uint32_t said = is_right ? *number : 0;
        if (::write(handled, &said, sizeof said) != sizeof said) std::abort();
        next.transact([](slot& full) { full.is_full = false; });
        if (*number == messages) ::_exit(0);
    }
}

}  // namespace

int main() {
    {
        // Roots are made by who has the pool alone.
        auto pool = holdfast::line_pool::create("ring.pool", options()).value();
        static_cast<void>(pool.root<ring>("ring").value());
    }
    const pid_t producer = ::fork();
    if (producer == 0) {
        auto pool = holdfast::line_pool::open_shared("ring.pool", options()).value();
        produce(*pool.root<ring>("ring").value());
        ::_exit(0);
    }
    int ends[2];
    if (::pipe(ends) != 0) return 1;
    std::uint32_t last = 0;
    std::uint32_t number = 0;
    int deaths = 0;
    int again = 0;
    bool in_order = true;
    while (last < messages) {
        const pid_t consumer = ::fork();
        if (consumer == 0) consume(ends[1]);
        // What it said before it was killed is read together with what its successor says.
        const std::uint32_t enough = deaths < 10 ? last + messages / 20 : messages;
        while (last < enough && ::read(ends[0], &number, sizeof number) == sizeof number) {
            in_order = in_order && (number == last || number == last + 1);
            again += number == last ? 1 : 0;
            last = number;
        }
        if (enough < messages) {
            ::kill(consumer, SIGKILL);
            ++deaths;
        }
        ::waitpid(consumer, nullptr, 0);
    }
    ::waitpid(producer, nullptr, 0);
    std::printf("%u messages in order, %d consumers died, at most one message each came again\n", last, deaths);
    return in_order && again <= deaths ? 0 : 1;
}
