// Suite itm in the program that runs it: what single transactions cost, whatever they are made of.
#pragma once

#include <bench/contest/serve.hpp>
#include <bench/contest/threads.hpp>

#include <array>
#include <cstdint>
#include <cstdlib>
#include <cstring>
#include <string>
#include <vector>

namespace holdfast::bench {

/// One thread; every transaction has the memory to itself, so that nothing but its own cost is seen.
template <class Access>
class word_runs {
public:
    explicit word_runs(Access memory) : memory_(memory), lines_(lines), many_(largest_write_set) {
        for (std::size_t i = 0; i + 1 < nodes.size(); ++i) nodes[i].next = &nodes[i + 1];
        block_ = std::malloc(block_bytes);
        std::memset(block_, 0, block_bytes);
    }
    ~word_runs() { std::free(block_); }
    word_runs(const word_runs&) = delete;
    word_runs& operator=(const word_runs&) = delete;

    batch run(const std::string& name, std::uint64_t transactions) {
        if (name == "read1") return repeat(transactions, 0, [&](std::uint64_t i) { read1(i); });
        if (name == "update1") return repeat(transactions, 0, [&](std::uint64_t i) { update1(i); });
        if (name == "update8") return repeat(transactions, 0, [&](std::uint64_t i) { update8(i); });
        if (name == "list_read") return repeat(transactions, nodes.size(), [&](std::uint64_t) { list_read(); });
        if (name == "list_write") return repeat(transactions, nodes.size(), [&](std::uint64_t) { list_write(); });
        if (name == "fresh4k") return repeat(transactions, 0, [&](std::uint64_t i) { fresh4k(i); });
        if (name.starts_with("write_set")) {
            const std::uint64_t words = std::strtoull(name.c_str() + std::strlen("write_set"), nullptr, 10);
            if (words == 0 || words > largest_write_set)
                child_failed("'" + name + "': a write set has 1 to " + std::to_string(largest_write_set) + " words");
            return repeat(transactions, words, [&](std::uint64_t i) { write_set(words, i); });
        }
        child_failed("there is no case '" + name + "'");
    }

private:
    static constexpr std::size_t lines = 1024;
    static constexpr std::size_t block_bytes = 4096;
    static constexpr std::uint64_t largest_write_set = 1'000'000;
    struct alignas(64) line {
        std::uint64_t word = 0;
    };
    struct alignas(128) node {
        node* next = nullptr;
        std::uint64_t payload[15]{};
    };

    /// `elements` of a transaction: how many nodes or words it goes through; 0 where that is not what is asked.
    template <class F>
    batch repeat(std::uint64_t transactions, std::uint64_t elements, F&& transaction) {
        const auto begin = clock::now();
        for (std::uint64_t i = 0; i < transactions; ++i) transaction(i);
        batch done{ns_since(begin), transactions, std::nullopt, {}};
        if (elements != 0)
            done.seen.push_back({"ns_per_element", "ns",
                                 done.ns / static_cast<double>(transactions) / static_cast<double>(elements)});
        return done;
    }

    void read1(std::uint64_t i) {
        const std::uint64_t* const home = &lines_[i % lines].word;
        std::uint64_t value = 0;
        memory_.atomically([&] { value = memory_.load(home); });
        sum_ = sum_ + value;
    }
    void update1(std::uint64_t i) {
        std::uint64_t* const home = &lines_[i % lines].word;
        memory_.atomically([&] { memory_.store(home, i); });
    }
    void update8(std::uint64_t i) {
        line* const first = &lines_[i * 8 % lines];
        memory_.atomically([&] {
            memory_.store(&first[0].word, i);
            memory_.store(&first[1].word, i);
            memory_.store(&first[2].word, i);
            memory_.store(&first[3].word, i);
            memory_.store(&first[4].word, i);
            memory_.store(&first[5].word, i);
            memory_.store(&first[6].word, i);
            memory_.store(&first[7].word, i);
        });
    }
    void list_read() {
        const node* const first = nodes.data();
        std::uint64_t sum = 0;
        memory_.atomically([&] {
            std::uint64_t all = 0;
            for (const node* at = first; at != nullptr; at = memory_.load(&at->next))
                all += memory_.load(&at->payload[0]);
            sum = all;
        });
        sum_ = sum_ + sum;
    }
    void list_write() {
        node* const first = nodes.data();
        memory_.atomically([&] {
            for (node* at = first; at != nullptr; at = memory_.load(&at->next))
                memory_.store(&at->payload[0], memory_.load(&at->payload[0]) + 1);
        });
    }
    void fresh4k(std::uint64_t i) {
        source_[i % source_.size()] = static_cast<std::uint8_t>(i);
        const void* const source = source_.data();
        void** const home = &block_;
        memory_.atomically([&] {
            void* const old = memory_.load(home);
            void* const made = memory_.allocate(block_bytes);
            // Behind memcpy g++ 12 may take its result for `made`, which libitm's does not return.
            memory_.store(home, made);
            if constexpr (requires { memory_.write_range(made, source, block_bytes); }) {
                memory_.write_range(made, source, block_bytes);
            } else {
                std::memcpy(made, source, block_bytes);
            }
            memory_.free(old);
        });
        if (std::memcmp(block_, source, 64) != 0) child_failed("a fresh block is not what was copied into it");
    }
    void write_set(std::uint64_t words, std::uint64_t i) {
        std::uint64_t* const first = many_.data();
        memory_.atomically([&] {
            for (std::uint64_t word = 0; word < words; ++word) memory_.store(first + word, i);
        });
        if (many_[words - 1] != i) child_failed("a word is not what was stored to it");
    }

    Access memory_;
    std::vector<line> lines_;
    std::vector<std::uint64_t> many_;
    static inline std::array<node, 500> nodes{};
    std::array<std::uint8_t, block_bytes> source_{};
    void* block_ = nullptr;
    volatile std::uint64_t sum_ = 0;  ///< so that the compiler keeps the loads
};

/// Answers the parent until it has no more batches.
template <class Access>
int serve_words(Access memory) {
    word_runs runs(memory);
    return serve([&](const std::string& name, std::uint64_t transactions) { return runs.run(name, transactions); });
}

}  // namespace holdfast::bench
