// SQLite in WAL mode, one connection with its statements prepared and the file its own. power:
// synchronous=FULL, one sync a commit. process: synchronous=OFF, as much as a killed process needs.
#include <bench/rivals/rival.hpp>

#include <sqlite3.h>

#include <utility>
#include <vector>

namespace holdfast::bench {
namespace {

class sqlite final : public rival {
public:
    explicit sqlite(rival_job job) : job_(std::move(job)) {}
    ~sqlite() override {
        for (sqlite3_stmt* each : statements_) sqlite3_finalize(each);
        if (database_ != nullptr) sqlite3_close(database_);
    }

    void fill() override {
        start("OFF");
        execute("CREATE TABLE entries(key INTEGER PRIMARY KEY, value INTEGER NOT NULL)");
        prepare();
        step(begin_);
        for (std::uint64_t i = 0; i < job_.elements; ++i) {
            const std::int64_t key = job_.swaps_entries() ? static_cast<std::int64_t>(i) : workload::scattered_key(i);
            write(insert_, key, key);
        }
        step(commit_);
        // In the file and not in the log, and on the device: what is measured begins afterwards.
        execute("PRAGMA synchronous=FULL");
        execute("PRAGMA wal_checkpoint(TRUNCATE)");
    }
    void open() override {
        start(job_.power ? "FULL" : "OFF");
        prepare();
    }
    bool concurrent() const noexcept override { return false; }

    void swap(workload::random& numbers, std::uint64_t first, std::uint64_t count) override {
        step(begin_);
        for (std::uint64_t i = 0; i < job_.swaps; ++i) {
            const auto a = static_cast<std::int64_t>(first + numbers.below(count));
            const auto b = static_cast<std::int64_t>(first + numbers.below(count));
            const std::int64_t of_a = look_up(a);
            const std::int64_t of_b = look_up(b);
            write(update_, a, of_b);
            write(update_, b, of_a);
        }
        step(commit_);
    }
    // A statement alone is a transaction.
    void insert(std::int64_t key, std::int64_t value) override { write(insert_, key, value); }
    void update(std::int64_t key, std::int64_t value) override { write(update_, key, value); }
    void remove(std::int64_t key) override {
        sqlite3_bind_int64(remove_, 1, key);
        step(remove_);
        require(sqlite3_changes(database_) == 1, "sqlite: a key is missing");
    }
    void get(std::int64_t key) override { look_up(key); }

private:
    void start(const std::string& synchronous) {
        check(sqlite3_open_v2((job_.directory + "/database").c_str(), &database_,
                              SQLITE_OPEN_READWRITE | SQLITE_OPEN_CREATE | SQLITE_OPEN_NOMUTEX, nullptr));
        execute("PRAGMA locking_mode=EXCLUSIVE");
        execute("PRAGMA journal_mode=WAL");
        execute("PRAGMA synchronous=" + synchronous);
        execute("PRAGMA cache_size=-1048576");
    }
    void prepare() {
        begin_ = statement("BEGIN IMMEDIATE");
        commit_ = statement("COMMIT");
        select_ = statement("SELECT value FROM entries WHERE key=?1");
        insert_ = statement("INSERT INTO entries(key, value) VALUES(?1, ?2)");
        update_ = statement("UPDATE entries SET value=?2 WHERE key=?1");
        remove_ = statement("DELETE FROM entries WHERE key=?1");
    }
    void check(int code) const {
        if (code == SQLITE_OK || code == SQLITE_DONE || code == SQLITE_ROW) return;
        child_failed(std::string("sqlite: ") + sqlite3_errmsg(database_));
    }
    void execute(const std::string& text) { check(sqlite3_exec(database_, text.c_str(), nullptr, nullptr, nullptr)); }
    sqlite3_stmt* statement(const char* text) {
        sqlite3_stmt* made = nullptr;
        check(sqlite3_prepare_v3(database_, text, -1, SQLITE_PREPARE_PERSISTENT, &made, nullptr));
        statements_.push_back(made);
        return made;
    }
    void step(sqlite3_stmt* statement) {
        check(sqlite3_step(statement));
        check(sqlite3_reset(statement));
    }
    void write(sqlite3_stmt* statement, std::int64_t key, std::int64_t value) {
        sqlite3_bind_int64(statement, 1, key);
        sqlite3_bind_int64(statement, 2, value);
        step(statement);
    }
    std::int64_t look_up(std::int64_t key) {
        sqlite3_bind_int64(select_, 1, key);
        require(sqlite3_step(select_) == SQLITE_ROW, "sqlite: a key is missing");
        const std::int64_t value = sqlite3_column_int64(select_, 0);
        check(sqlite3_reset(select_));
        return value;
    }

    rival_job job_;
    sqlite3* database_ = nullptr;
    std::vector<sqlite3_stmt*> statements_;
    sqlite3_stmt* begin_ = nullptr;
    sqlite3_stmt* commit_ = nullptr;
    sqlite3_stmt* select_ = nullptr;
    sqlite3_stmt* insert_ = nullptr;
    sqlite3_stmt* update_ = nullptr;
    sqlite3_stmt* remove_ = nullptr;
};

}  // namespace

std::unique_ptr<rival> make_sqlite(const rival_job& job) { return std::make_unique<sqlite>(job); }

}  // namespace holdfast::bench
