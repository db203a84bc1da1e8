// What the killed process does, as data: transaction n of thread t follows from the seed alone, so that
// the test knows every state that may be found without being told.
#pragma once

#include <workload/random.hpp>

#include <algorithm>
#include <cstdint>
#include <deque>
#include <map>
#include <string>
#include <vector>

namespace holdfast::kill {

enum class action : std::uint8_t {
    put_number,
    erase_number,
    put_word,
    erase_word,
    append,
    chop,
    replace,
    push,
    pop,
    fill_table,
    change_table,
    drop_table,
};
inline constexpr std::uint64_t action_count = 12;

struct step {
    action what;
    std::uint64_t key;
    std::uint64_t value;
};

struct planned_transaction {
    std::vector<step> steps;
    bool shared = false;   ///< also changes what all threads share, under its lock
    bool retried = false;  ///< is first run and rolled back by an exception
};

inline std::string word_key(std::uint64_t key) { return "word " + std::to_string(key); }

/// Short, middling, and now and then longer than a slab's largest block.
inline std::string word_text(std::uint64_t value) {
    const std::uint64_t kind = value % 16;
    const std::size_t size = kind < 8 ? value / 16 % 24 : kind < 15 ? value / 16 % 400 : 3000 + value / 16 % 4000;
    return std::string(size, static_cast<char>('a' + value / 7 % 26));
}

/// A table grows by more than a page at a time: its blocks are of whole pages, and are freed and taken again.
inline constexpr std::uint64_t table_part = 1000;
inline constexpr std::uint64_t changes_of_table = 40;
inline constexpr std::uint64_t change_stride = 97;

/// The pool grows after each `transactions_between_growth` transactions, until it has `largest_pool_bytes`.
inline constexpr std::uint64_t transactions_between_growth = 50;
inline constexpr std::uint64_t pool_grows_by = 1 << 20;
inline constexpr std::uint64_t largest_pool_bytes = 40 << 20;

inline planned_transaction transaction_of(std::uint64_t seed, std::uint64_t thread, std::uint64_t number) {
    workload::random random(seed ^ thread * 0xD1342543DE82EF95 ^ number * 0x2545F4914F6CDD1D);
    planned_transaction planned;
    planned.shared = random.below(4) == 0;
    planned.retried = random.below(16) == 0;
    const std::uint64_t count = 1 + random.below(5);
    for (std::uint64_t i = 0; i < count; ++i)
        planned.steps.push_back({static_cast<action>(random.below(action_count)), random.below(700), random.next()});
    return planned;
}

/// A std::queue that can be compared element by element.
struct model_queue : std::deque<std::uint64_t> {
    void push(std::uint64_t value) { push_back(value); }
    void pop() { pop_front(); }
};

/// Takes one step in the containers of a thread, standard ones or those of a pool.
template <class State>
void take_step(State& its, const step& one) {
    switch (one.what) {
        case action::put_number: its.numbers.insert_or_assign(one.key, one.value); break;
        case action::erase_number: its.numbers.erase(one.key); break;
        case action::put_word: its.words.insert_or_assign(word_key(one.key), word_text(one.value)); break;
        case action::erase_word: its.words.erase(word_key(one.key)); break;
        case action::append: its.list.push_back(one.value); break;
        case action::chop:
            if (!its.list.empty()) its.list.pop_back();
            break;
        case action::replace:
            if (!its.list.empty()) its.list[one.key % its.list.size()] = one.value;
            break;
        case action::push: its.line.push(one.value); break;
        case action::pop:
            if (!its.line.empty()) its.line.pop();
            break;
        case action::fill_table:
            for (std::uint64_t i = 0; i < table_part; ++i) its.table.push_back(one.value + i);
            break;
        case action::change_table:
            for (std::uint64_t i = 0; i < changes_of_table && !its.table.empty(); ++i)
                its.table[(one.key + i * change_stride) % its.table.size()] = one.value;
            break;
        case action::drop_table:
            its.table.clear();
            its.table.shrink_to_fit();
            break;
    }
}

/// What one thread's containers must hold.
struct thread_model {
    std::uint64_t done = 0;
    std::map<std::uint64_t, std::uint64_t> numbers;
    std::map<std::string, std::string> words;
    std::vector<std::uint64_t> list;
    model_queue line;
    std::vector<std::uint64_t> table;
    std::uint64_t shared_count = 0;
    std::uint64_t shared_latest = 0;

    void run(const planned_transaction& planned) {
        ++done;
        if (planned.shared) {
            ++shared_count;
            shared_latest = done;
        }
        for (const step& each : planned.steps) take_step(*this, each);
    }
};

/// Told through the pipe once a transaction has committed.
struct acknowledgement {
    std::uint64_t thread;
    std::uint64_t number;
};

}  // namespace holdfast::kill
