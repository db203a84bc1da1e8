#include <bench/contest/serve.hpp>

#include <cinttypes>
#include <cstdio>
#include <cstdlib>
#include <iostream>

namespace holdfast::bench {
namespace {

void answer(const batch& done) {
    std::printf("%" PRIu64 " %.0f", done.transactions, done.ns);
    if (done.spent) {
        const auto& counted = done.spent->medium;
        std::printf(" 1 %" PRIu64 " %" PRIu64 " %" PRIu64, counted.write_backs, counted.fences, counted.streamed_bytes);
    } else {
        std::printf(" 0");
    }
    for (const auto& one : done.seen) std::printf(" %s %s %.17g", one.metric.c_str(), one.unit.c_str(), one.value);
    std::printf("\n");
}

}  // namespace

void child_failed(const std::string& what) {
    std::printf("error %s\n", what.c_str());
    std::fflush(stdout);
    std::_Exit(1);
}

int serve(const std::function<batch(const std::string& name, std::uint64_t transactions)>& run) {
    std::printf("ready\n");
    std::fflush(stdout);
    std::string word, name;
    std::uint64_t transactions = 0;
    while (std::cin >> word >> name >> transactions) {
        if (word != "run") child_failed("not understood: " + word);
        answer(run(name, transactions));
        std::fflush(stdout);
    }
    return 0;
}

}  // namespace holdfast::bench
