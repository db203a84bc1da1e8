// What homes in private memory take, and that giving it back shows nobody an older value.
#include <holdfast/engine/engine_test_support.hpp>

#include <atomic>
#include <fstream>
#include <random>
#include <sstream>
#include <thread>

namespace holdfast {
namespace {

using namespace holdfast::test;

constexpr std::uint64_t page_bytes = 4096;

/// Anonymous memory of the mapping that holds `address`, as the kernel counts it.
std::uint64_t anonymous_bytes_at(const void* address) {
    std::ifstream maps("/proc/self/smaps");
    const auto wanted = reinterpret_cast<std::uintptr_t>(address);
    std::uint64_t all = 0;
    bool is_there = false;
    for (std::string line; std::getline(maps, line);) {
        std::uintptr_t begin = 0, end = 0;
        char dash = 0;
        std::istringstream words(line);
        if (line.find('-') < line.find(' ') && words >> std::hex >> begin >> dash >> end && dash == '-')
            is_there = wanted >= begin && wanted < end;
        std::uint64_t kilobytes = 0;
        if (is_there && std::sscanf(line.c_str(), "Anonymous: %lu kB", &kilobytes) == 1) all += kilobytes << 10;
    }
    return all;
}

template <class Engine>
class PrivateMemory : public ::testing::Test {
protected:
    using word = typename Engine::template field<std::uint64_t>;
    struct table {
        static constexpr std::size_t words = (4 << 20) / sizeof(word);
        word at[words];
    };
    static constexpr std::uint64_t bound = 1 << 20;

    PrivateMemory() {
        options_.bytes = 12 << 20;
        options_.log_bytes = 256 << 10;
        options_.reserved_bytes = std::uint64_t{1} << 30;
        options_.base = HOLDFAST_TEST_BASE_ADDRESS;
        options_.private_bytes = bound;
        pool_.emplace(basic_pool<Engine>::create(path(), options_).value());
        find();
    }
    std::string path() const { return directory_.file("pool"); }
    /// Empty tables are made by pieces: all at once would be the transaction that may go beyond the bound.
    void find() {
        table_ = pool_->template root<typename Engine::template field<table*>>("table").value();
        if (table_->get() != nullptr) return;
        pool_->atomically([&] { *table_ = reinterpret_cast<table*>(Engine::allocate(sizeof(table))); }).value();
        for (std::size_t i = 0; i < table::words; i += 8192)
            pool_->atomically([&] { Engine::fill_zero(&words()[i], 8192 * sizeof(word)); }).value();
    }
    word* words() { return table_->get()->at; }
    void reopen() {
        pool_.reset();
        pool_.emplace(basic_pool<Engine>::open(path(), options_).value());
        find();
    }

    persist::test::scratch_directory directory_{"."};
    create_options options_;
    std::optional<basic_pool<Engine>> pool_;
    typename Engine::template field<table*>* table_ = nullptr;
};

using logging_on_files = ::testing::Types<redo, softwrap>;
TYPED_TEST_SUITE(PrivateMemory, logging_on_files);

TYPED_TEST(PrivateMemory, StaysBelowItsBoundInAPoolOfFourTimesAsMuch) {
    std::vector<std::uint64_t> model(TestFixture::table::words);
    constexpr std::uint64_t seed = 1;
    std::mt19937_64 random(seed);
    std::uint64_t most = 0;
    for (std::uint64_t i = 1; i <= 500; ++i) {
        this->pool_->atomically([&] {
                 for (int j = 0; j < 16; ++j) {
                     const std::size_t place = random() % model.size();
                     this->words()[place] = model[place] = i;
                 }
             }).value();
        const auto info = this->pool_->info();
        ASSERT_EQ(info.private_bytes_at_most, this->bound);
        ASSERT_LE(info.private_bytes, this->bound);
        if (i % 50 == 0) most = std::max(most, anonymous_bytes_at(this->words()));
    }
    EXPECT_LE(most, this->bound + 2 * page_bytes) << "the kernel counts what the pool's header takes, too";
    EXPECT_GT(most, this->bound / 8) << "it was in use";
    const auto is_right = [&] {
        std::size_t wrong = 0;
        for (std::size_t i = 0; i < model.size(); ++i) wrong += this->words()[i].get() != model[i];
        return wrong == 0;
    };
    EXPECT_TRUE(is_right());
    this->pool_->abandon();
    this->reopen();
    EXPECT_TRUE(is_right());
    this->pool_->close().value();
    this->reopen();
    EXPECT_TRUE(is_right());
}

TYPED_TEST(PrivateMemory, ACheckpointGivesBackWhatIsHome) {
    this->pool_->atomically([&] {
             for (std::size_t i = 0; i < 100; ++i) this->words()[i * page_bytes / 8] = 7;
         }).value();
    EXPECT_GE(this->pool_->info().private_bytes, 100 * page_bytes);
    this->pool_->checkpoint().value();
    EXPECT_EQ(this->pool_->info().private_bytes, 0u);
    EXPECT_EQ(anonymous_bytes_at(this->words()), 0u);
    EXPECT_EQ(this->words()[99 * page_bytes / 8], 7u);
}

TYPED_TEST(PrivateMemory, WhatAProgramStoredPastTheLibraryStays) {
    this->pool_->atomically([&] { this->words()[0] = 7; }).value();
    auto* const plain = reinterpret_cast<std::uint64_t*>(&this->words()[1]);
    *plain = 9;
    this->pool_->checkpoint().value();
    EXPECT_EQ(*plain, 9u);
    EXPECT_EQ(this->words()[0], 7u);
}

TYPED_TEST(PrivateMemory, ABlockOfARolledBackTransactionIsGivenBackAtOnce) {
    this->pool_->checkpoint().value();
    const auto left = this->pool_->atomically([&] {
        auto* const block = reinterpret_cast<typename TestFixture::word*>(TypeParam::allocate(1 << 20));
        for (std::size_t i = 0; i < (1 << 20) / 8; i += 64) block[i] = 5;
        EXPECT_GE(this->pool_->info().private_bytes, std::uint64_t{1} << 20);
        fail(errc::aborted, "rolled back");
    });
    EXPECT_EQ(code_of(left), errc::aborted);
    EXPECT_EQ(this->pool_->info().private_bytes, 0u);
}

TYPED_TEST(PrivateMemory, AReaderWithoutALockNeverSeesAnOlderValue) {
    // Two words of each page, which other transactions count up; many checkpoints between them.
    constexpr std::size_t pages = 600;
    std::atomic<bool> stops{false};
    std::atomic<std::uint64_t> steps_back{0};
    std::thread reader([&] {
        std::vector<std::uint64_t> seen(pages);
        while (!stops.load())
            for (std::size_t page = 0; page < pages; ++page) {
                const auto* home = reinterpret_cast<const std::uint64_t*>(&this->words()[page * page_bytes / 8]);
                const std::uint64_t now = __atomic_load_n(home, __ATOMIC_RELAXED);
                if (now < seen[page]) ++steps_back;
                seen[page] = now;
            }
    });
    std::mutex mutex;
    std::vector<std::thread> writers;
    for (int which = 0; which < 2; ++which)
        writers.emplace_back([&, which] {
            std::mt19937_64 random(static_cast<std::uint64_t>(which) + 1);
            for (int i = 0; i < 150; ++i)
                this->pool_->atomically(mutex, [&] {
                         for (int j = 0; j < 8; ++j) ++this->words()[random() % pages * page_bytes / 8];
                     }).value();
        });
    for (auto& each : writers) each.join();
    stops = true;
    reader.join();
    EXPECT_EQ(steps_back.load(), 0u);
    std::uint64_t sum = 0;
    for (std::size_t page = 0; page < pages; ++page) sum += this->words()[page * page_bytes / 8].get();
    EXPECT_EQ(sum, 2u * 150 * 8);
}

}  // namespace
}  // namespace holdfast
