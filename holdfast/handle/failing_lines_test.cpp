// Every public function of pools of lines and of the objects in them, while one allocation or one system call in it
// fails.
#include <holdfast/handle/failing_rows_test_support.hpp>

#include <holdfast/handle/line_pool.hpp>

#include <array>

namespace holdfast::test {
namespace {

struct pair_of_words {
    std::uint64_t first = 0;
    std::uint64_t second = 0;
};
struct record {
    std::array<std::uint64_t, 30> words{};
};
using pairs = line_array<pair_of_words, 4>;
using records = lines_array<record, 3>;

/// What a row works on: a pool of lines, and where its objects are.
struct scene {
    std::string directory;
    create_options options;
    std::optional<line_pool>& pool;
    pairs* lines_alone = nullptr;
    records* many = nullptr;
    line<std::uint64_t>* goes_on = nullptr;

    std::string path() const { return directory + "/pool"; }
    void find() {
        lines_alone = pool->root<pairs>("pairs").value();
        many = pool->root<records>("records").value();
        goes_on = pool->root<line<std::uint64_t>>("goes on").value();
    }
    void open() {
        if (pool && pool->is_open()) return;
        pool.reset();
        pool.emplace(line_pool::open(path(), options).value());
        find();
    }
    void close() {
        pool->close().value();
        pool.reset();
    }
    void change(std::size_t which, std::uint64_t value) {
        (*lines_alone)[which % pairs::size()].transact([=](pair_of_words& all) { all = {value, ~value}; });
        (*many)[which % records::size()].transact([=](record& all) { all.words.fill(value); });
    }
    /// A process opens the pool by `how`, and dies inside two transactions.
    template <class F>
    void let_one_die(F&& how) {
        close();
        const int died = persist::test::run_in_child([&] {
            auto mine = how();
            if (!mine) return 1;
            pool.emplace(*std::move(mine));
            find();
            (*many)[1].transact([&](record& all) {
                all.words[0] = all.words[29] = 77;
                (*lines_alone)[1].transact([](pair_of_words& half) {
                    half.first = 77;
                    ::_exit(0);
                });
            });
            return 1;
        });
        if (!persist::test::exited_with(died, 0)) throw std::runtime_error("the process that was to die did not");
    }
};

/// One row of the table: what is done to the pool before, and the call.
struct row {
    const char* name;
    std::function<void(scene&)> ready;
    std::function<outcome(scene&)> call;
    bool makes = true;
};

class lines_attempt : public attempt_on_pool<line_pool> {
public:
    lines_attempt(const row& what, const place& where, const std::string& directory)
        : attempt_on_pool(std::string("line, ") + where.name + ", " + what.name, where, directory), row_(what),
          scene_{directory, options_, pool_} {}

    void prepare() override {
        if (!row_.makes) return;
        pool_.emplace(line_pool::create(path(), options_).value());
        scene_.find();
        for (std::size_t i = 0; i < 4; ++i) scene_.change(i, 1 + i);
    }
    void grow_old(std::uint64_t seed) override {
        if (!row_.makes) return;
        std::mt19937_64 random(seed);
        for (std::uint64_t left = random() % 16; left != 0; --left) {
            const auto choice = random() % 12;
            if (choice == 0) kill();
            if (choice == 1) scene_.close();
            if (choice < 2) scene_.open();
            if (choice == 2) pool_->root<pairs>("of the past " + std::to_string(left)).value();
            if (choice == 3 && pool_->info().zones < 4) pool_->grow(pool_->info().bytes + (128 << 10)).value();
            scene_.change(random() % 16, random());
        }
    }
    void make_ready() override { row_.ready(scene_); }
    outcome call() override { return row_.call(scene_); }
    std::string contents() override {
        if (!std::filesystem::exists(path()) && !is_open()) return "nothing" + files_in(directory_);
        scene_.open();
        std::string text;
        for (const auto& each : *scene_.lines_alone)
            text += std::to_string(each->first) + "/" + std::to_string(each->second) + " ";
        for (const auto& each : *scene_.many) {
            std::uint64_t all = 0;
            for (const std::uint64_t word : each->words) all = all * 31 + word;
            text += std::to_string(all) + " ";
        }
        text += "of " + std::to_string(pool_->info().bytes);
        for (const auto& root : pool_->roots().value()) text += " " + root.name;
        return text + files_in(directory_);
    }
    outcome go_on() override {
        if (!is_open()) return {};
        return outcome_of([&]() -> result<void> {
            scene_.goes_on->transact([](std::uint64_t& count) { ++count; });
            return {};
        });
    }

private:
    row row_;
    scene scene_;
};

/// Opens into the scene, so that what was opened is closed later.
template <class F>
outcome keep(scene& in, F&& open) {
    auto said = outcome_of([&]() -> result<void> {
        auto opened = open();
        if (!opened) return opened.error();
        in.pool.emplace(*std::move(opened));
        return {};
    });
    const bool armed = std::exchange(this_thread_fails.armed, false);
    if (in.pool) in.find();
    this_thread_fails.armed = armed;
    return said;
}
outcome opens(scene& in) {
    return keep(in, [&] { return line_pool::open(in.path(), in.options); });
}
outcome opens_shared(scene& in) {
    return keep(in, [&] { return line_pool::open_shared(in.path(), in.options); });
}
template <class F>
outcome changes(F&& f) {
    return outcome_of([&]() -> result<void> {
        f();
        return {};
    });
}

void opened(scene&) {}
void closed(scene& in) { in.close(); }
void killed(scene& in) {
    in.pool->abandon();
    in.pool.reset();
}
void died(scene& in) {
    in.let_one_die([&] { return line_pool::open(in.path(), in.options); });
}
void sharer_died(scene& in) {
    in.let_one_die([&] { return line_pool::open_shared(in.path(), in.options); });
}

std::vector<row> rows_of_transactions() {
    return {
        {"a transaction on a line", opened,
         [](scene& in) {
             return changes([&] { (*in.lines_alone)[2].transact([](pair_of_words& all) { all = {5, 6}; }); });
         }},
        {"a transaction on many lines", opened,
         [](scene& in) {
             return changes([&] { (*in.many)[2].transact([](record& all) { all.words.fill(9); }); });
         }},
        {"the first transaction on a root that was found", closed,
         [](scene& in) {
             auto said = opens(in);
             if (!said.well()) return said;
             return changes([&] { in.goes_on->transact([](std::uint64_t& count) { ++count; }); });
         }},
        {"a transaction that is rolled back", opened,
         [](scene& in) {
             return changes([&] {
                 try {
                     (*in.many)[0].transact([](record& all) {
                         all.words.fill(9);
                         throw std::runtime_error("taken back");
                     });
                 } catch (const std::runtime_error&) {
                 }
             });
         }},
    };
}

std::vector<row> rows_of_lives() {
    return {
        {"create", opened,
         [](scene& in) { return keep(in, [&] { return line_pool::create(in.path(), in.options); }); }, false},
        {"open_or_create of nothing", opened,
         [](scene& in) { return keep(in, [&] { return line_pool::open_or_create(in.path(), in.options); }); }, false},
        {"open_or_create of a pool", closed,
         [](scene& in) { return keep(in, [&] { return line_pool::open_or_create(in.path(), in.options); }); }},
        {"open", closed, opens},
        {"open after a kill", killed, opens},
        {"open after a process died in a transaction", died, opens},
        {"close", opened, [](scene& in) { return outcome_of([&] { return in.pool->close(); }); }},
        {"the destructor", opened,
         [](scene& in) {
             in.pool.reset();
             return outcome{};
         }},
        {"grow", opened,
         [](scene& in) { return outcome_of([&] { return in.pool->grow(in.pool->info().bytes + (256 << 10)); }); }},
        {"roots", opened, [](scene& in) { return outcome_of([&] { return in.pool->roots(); }); }},
        {"info", opened,
         [](scene& in) { return outcome_of([&]() -> result<pool_info> { return in.pool->info(); }); }},
    };
}

/// Opened, and its roots not looked for: `root` recovers them.
outcome opens_and_finds(scene& in) {
    auto said = outcome_of([&]() -> result<void> {
        auto pool = line_pool::open(in.path(), in.options);
        if (!pool) return pool.error();
        const auto found = pool->root<records>("records");
        if (!found) return found.error();
        return pool->close();
    });
    return said;
}

std::vector<row> rows_of_roots() {
    return {
        {"a new root", opened, [](scene& in) { return outcome_of([&] { return in.pool->root<pairs>("other"); }); }},
        {"a new root of many lines", opened,
         [](scene& in) { return outcome_of([&] { return in.pool->root<records>("other"); }); }},
        {"a root that is there", opened,
         [](scene& in) { return outcome_of([&] { return in.pool->root<pairs>("pairs"); }); }},
        {"a root that is recovered", died, opens_and_finds},
    };
}

std::vector<row> rows_of_sharing() {
    const auto shared = [](scene& in) {
        in.close();
        in.pool.emplace(line_pool::open_shared(in.path(), in.options).value());
        in.find();
    };
    return {
        {"open_shared", closed, opens_shared},
        {"open_shared after a kill", killed, opens_shared},
        {"open_shared after a sharer died", sharer_died, opens_shared},
        {"taking over from a sharer that died", sharer_died,
         [](scene& in) {
             auto said = opens_shared(in);
             if (!said.well()) return said;
             return changes([&] {
                 (*in.lines_alone)[1].recover();
                 if (!(*in.many)[1].recover()) fail(errc::corrupt, "neither copy is whole");
                 (*in.many)[1].transact([](record& all) { all.words[3] = 4; });
             });
         }},
        {"a root of a shared pool", shared,
         [](scene& in) { return outcome_of([&] { return in.pool->root<records>("records"); }); }},
        {"a transaction in a shared pool", shared,
         [](scene& in) {
             return changes([&] { (*in.many)[1].transact([](record& all) { all.words[3] = 4; }); });
         }},
        {"close of a shared pool", shared,
         [](scene& in) { return outcome_of([&] { return in.pool->close(); }); }},
    };
}

std::vector<attempt_of_directory> attempts(const std::vector<row>& rows, std::span<const place> where) {
    std::vector<attempt_of_directory> all;
    for (const place& at : where)
        for (const row& each : rows)
            all.push_back(
                [=](const std::string& directory) { return std::make_unique<lines_attempt>(each, at, directory); });
    return all;
}
/// An ordinary file at `power` is not shared.
std::vector<attempt_of_directory> attempts_of_sharing() {
    return attempts(rows_of_sharing(), std::span(places).subspan(1));
}

TEST(FailingLines, TransactionsLoseNothing) { run_rows(attempts(rows_of_transactions(), places)); }

TEST(FailingLines, LivesOfAPoolLoseNothing) { run_rows(attempts(rows_of_lives(), places)); }

TEST(FailingLines, RootsAreThereOrNot) { run_rows(attempts(rows_of_roots(), places)); }

TEST(FailingLines, SharersLoseNothing) { run_rows(attempts_of_sharing()); }

TEST(FailingLines, FailuresByChanceInPoolsWithAPastLoseNothing) {
    std::vector<attempt_of_directory> all = attempts_of_sharing();
    for (const auto& rows : {rows_of_transactions(), rows_of_lives(), rows_of_roots()})
        for (auto& each : attempts(rows, places)) all.push_back(std::move(each));
    run_rows_by_chance(all, 150'000);
}

}  // namespace
}  // namespace holdfast::test
