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
#include <optional>

#include <sys/mman.h>
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

/// What a consumer did, seen by all processes.
struct tally {
    volatile std::uint32_t last = 0;      ///< handled
    volatile std::uint32_t again = 0;     ///< handled twice
    volatile std::uint32_t wrong = 0;
};

[[noreturn]] void consume(tally& done) {
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
        if (!is_right || *number > done.last + 1) done.wrong = done.wrong + 1;
        if (*number == done.last) done.again = done.again + 1;
        done.last = *number;
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
    void* const shared = ::mmap(nullptr, sizeof(tally), PROT_READ | PROT_WRITE, MAP_SHARED | MAP_ANONYMOUS, -1, 0);
    if (shared == MAP_FAILED) return 1;
    auto& done = *new (shared) tally;

    const pid_t producer = ::fork();
    if (producer == 0) {
        auto pool = holdfast::line_pool::open_shared("ring.pool", options()).value();
        produce(*pool.root<ring>("ring").value());
        ::_exit(0);
    }
    int deaths = 0;
    for (bool finished = false; !finished;) {
        const pid_t consumer = ::fork();
        if (consumer == 0) consume(done);
        if (deaths < 10) {
            const std::uint32_t enough = done.last + messages / 20;
            while (done.last < enough) ::usleep(100);
            ::kill(consumer, SIGKILL);
            ++deaths;
        }
        int status = 0;
        ::waitpid(consumer, &status, 0);
        finished = WIFEXITED(status);
    }
    ::waitpid(producer, nullptr, 0);
    std::printf("%u messages in order, %d consumers died, at most one message each came again\n", done.last, deaths);
    const auto again = static_cast<int>(done.again);
    return done.wrong == 0 && done.last == messages && again <= deaths ? 0 : 1;
}
