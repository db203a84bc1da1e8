// A counter that survives kill -9: a child counts and says aloud what it has counted, the parent
// kills it in the middle, opens the pool and finds every count that was said.
#include <holdfast/holdfast.hpp>

#include <csignal>
#include <cstdio>
#include <cstdlib>
#include <sys/wait.h>
#include <unistd.h>

namespace {

using store = holdfast::redo;

holdfast::create_options options() {
    holdfast::create_options wanted;
    wanted.bytes = 1 << 20;
    wanted.durability = holdfast::level::process;  // a kill is all that happens here, not a power cut
    return wanted;
}

/// Counts until it is killed. Each number is written to `said` only after its commit.
[[noreturn]] void count_for_ever(int said) {
    // A child opens the pool itself: a pool that was open before a fork is not there after it.
    auto pool = store::pool::open_or_create("counter.pool", options()).value();
    auto* counter = pool.root<store::field<long>>("counter").value();
    for (;;) {
        const long now = pool.atomically([&] { return (++*counter).get(); }).value();
        if (::write(said, &now, sizeof now) != sizeof now) std::abort();
    }
}

/// Runs the child until it has said `numbers` more, kills it, and returns the last number it said.
long run_and_kill(int numbers) {
    int ends[2];
    if (::pipe(ends) != 0) std::abort();
    const pid_t child = ::fork();
    if (child == 0) count_for_ever(ends[1]);
    ::close(ends[1]);
    long last = 0;
    for (int i = 0; i < numbers && ::read(ends[0], &last, sizeof last) == sizeof last; ++i) {
    }
    ::kill(child, SIGKILL);
    // It may have said more between the last look and its death.
    while (::read(ends[0], &last, sizeof last) == sizeof last) {
    }
    ::close(ends[0]);
    ::waitpid(child, nullptr, 0);
    return last;
}

}  // namespace

int main() {
    for (int round = 1; round <= 10; ++round) {
        const long said = run_and_kill(100 * round);
        auto pool = store::pool::open("counter.pool", options()).value();
        const long found = pool.root<store::field<long>>("counter").value()->get();
        std::printf("killed after %ld: the pool holds %ld\n", said, found);
        // At most one count was committed and not yet said.
        if (said == 0 || found < said || found > said + 1) return 1;
    }
}
