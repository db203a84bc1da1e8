// Suite memory: what a bound on private memory costs. A pool on a file of four times the bound, updated at random all
// over, beside the same without a bound that matters.
#include <bench/pools.hpp>
#include <bench/suites.hpp>

#include <holdfast/engine/redo.hpp>

#include <holdfast/log/private_pages.hpp>
#include <workload/random.hpp>

#include <algorithm>
#include <filesystem>
#include <memory>
#include <string>

namespace holdfast::bench {
namespace {

constexpr std::uint64_t table_bytes = std::uint64_t{16} << 20;
constexpr std::uint64_t bound_bytes = table_bytes / 4;
constexpr std::uint64_t table_log_bytes = 256u << 10;
/// Enough to use half of the bound several times in a batch.
constexpr std::uint64_t words_of_batch = 8'000;

struct table_root {
    std::uint64_t* words;
};

class memory_contestant final : public contestant {
public:
    memory_contestant(std::string path, std::uint64_t private_bytes, unsigned words_of_transaction)
        : path_(std::move(path)), words_of_transaction_(words_of_transaction) {
        create_options options;
        options.bytes = table_bytes + table_bytes / 16 + table_log_bytes;
        options.log_bytes = table_log_bytes;
        options.private_bytes = private_bytes;
        pool_.emplace(redo::pool::create(path_, options).value());
        auto* const root = pool_->plain_root<table_root>("table").value();
        pool_->atomically([&] {
                 auto* const words = reinterpret_cast<std::uint64_t*>(redo::allocate(table_bytes));
                 store_value(current_transaction<redo>(), &root->words, words);
             }).value();
        words_ = root->words;
    }
    ~memory_contestant() override {
        pool_.reset();
        std::filesystem::remove(path_);
    }

    batch run(const std::string&, std::uint64_t transactions) override {
        batch done{0, transactions, costs{}};
        std::uint64_t held_bytes = 0;
        const persist::counters before = persist::thread_counters();
        const auto begin = clock::now();
        for (std::uint64_t i = 0; i < transactions; ++i) {
            pool_->atomically([&] {
                     for (unsigned word = 0; word < words_of_transaction_; ++word)
                         store_value(current_transaction<redo>(), words_ + numbers_.below(table_bytes / 8), i);
                 }).value();
            held_bytes = std::max(held_bytes, pool_->core().pages_of_homes()->bytes());
        }
        // A batch pays for what it put off.
        pool_->checkpoint().value();
        done.ns = ns_since(begin);
        done.spent->medium = persist::thread_counters() - before;
        done.seen.push_back({"private_bytes", "bytes", static_cast<double>(held_bytes)});
        return done;
    }

private:
    std::string path_;
    unsigned words_of_transaction_;
    std::optional<redo::pool> pool_;
    std::uint64_t* words_ = nullptr;
    workload::random numbers_{1};
};

}  // namespace

std::vector<planned_match> plan_memory(const options&, scratch& space) {
    std::vector<planned_match> planned;
    for (const unsigned words : {1u, 16u})
        planned.push_back([&space, words] {
            setting where;
            where.medium = "file";
            where.elements = table_bytes / 8;
            where.log_bytes = table_log_bytes;
            match made;
            made.suite = "memory";
            made.title = where.title("updates of words at random, " + std::to_string(words) + " in a transaction");
            made.limits.fixed_transactions = words_of_batch / words;
            for (const bool is_bounded : {true, false}) {
                const std::uint64_t bytes = is_bounded ? bound_bytes : 2 * table_bytes;
                where.variant = is_bounded ? "bounded" : "unbounded";
                auto its = where.as_parameters();
                its.emplace_back("words", words);
                its.emplace_back("private_bytes_at_most", bytes);
                made.entries.push_back(
                    {"redo",
                     std::make_unique<memory_contestant>(space.path("file", where.variant), bytes, words),
                     {"update"},
                     std::move(its)});
            }
            return made;
        });
    return planned;
}

}  // namespace holdfast::bench
