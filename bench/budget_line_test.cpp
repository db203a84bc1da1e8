// The budgets of line<T> and lines<T>, which are in no pool and have no log.
#include <bench/budget_test.hpp>
#include <bench/contest/bounded_buffer.hpp>
#include <bench/contest/word_object.hpp>
#include <bench/line_commits.hpp>

#include <holdfast/line/line.hpp>
#include <holdfast/line/lines.hpp>

namespace holdfast::bench::test {
namespace {

template <class F>
void count_transactions(ledger& to, const std::string& engine, const std::string& structure,
                        const std::string& operation, F&& transaction) {
    const line_commits as_asked(to.durability == level::power, 0);
    persist::counters before;
    for (std::uint64_t i = 0; i < 2 * to.operations; ++i) {
        if (i == to.operations) before = persist::thread_counters();
        transaction(i);
    }
    to.note(engine, structure, operation, to.operations, persist::thread_counters() - before);
}

template <class Buffer>
void count_buffer(ledger& to, const std::string& engine) {
    Buffer one;
    const auto count = [&](const std::string& operation, auto&& change) {
        count_transactions(to, engine, "buffer", operation, [&](std::uint64_t) { one.transact(change); });
    };
    count("add", [](plain_buffer& active) {
        if (active.full()) active.reset();
        active.add('a');
    });
    one.transact([](plain_buffer& active) { active.fill("12345678901234567890123456789", buffer_bytes); });
    count("add-full", [](plain_buffer& active) { active.add('a'); });
    count("refill", [](plain_buffer& active) {
        active.reset();
        active.fill("12345678901234567890123456789", buffer_bytes);
    });
}

template <std::size_t Bytes>
void count_words(ledger& to) {
    lines<word_object<Bytes>> object;
    for (const bool all : {false, true})
        count_transactions(to, "lines", "words" + std::to_string(Bytes), all ? "all-dirty" : "one-dirty",
                           [&](std::uint64_t value) {
                               object.transact([&](word_object<Bytes>& active) {
                                   change(active.words, Bytes / 8, all, value);
                               });
                           });
}

}  // namespace

void count_line(ledger& to) {
    count_buffer<line<plain_buffer>>(to, "line");
    count_buffer<lines<plain_buffer>>(to, "lines");
    count_words<48>(to);
    count_words<192>(to);
    count_words<4096>(to);
}

}  // namespace holdfast::bench::test
