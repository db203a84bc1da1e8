// LMDB. power: its default, two syncs a commit. process: MDB_WRITEMAP and MDB_NOSYNC, which is as
// much as a killed process needs and the fastest way it offers.
#include <bench/rivals/rival.hpp>

#include <fcntl.h>
#include <lmdb.h>
#include <unistd.h>

#include <algorithm>
#include <utility>

namespace holdfast::bench {
namespace {

void check(int code, const char* what) {
    if (code != MDB_SUCCESS) child_failed(std::string("lmdb: ") + what + ": " + mdb_strerror(code));
}

class lmdb final : public rival {
public:
    explicit lmdb(rival_job job) : job_(std::move(job)) {}
    ~lmdb() override {
        if (reader_ != nullptr) mdb_txn_abort(reader_);
        if (environment_ != nullptr) mdb_env_close(environment_);
    }

    void fill() override {
        start(MDB_NOSYNC | MDB_WRITEMAP);
        constexpr std::uint64_t batch = 1u << 20;
        for (std::uint64_t done = 0; done < job_.elements;) {
            transact([&](MDB_txn* open) {
                for (std::uint64_t end = std::min(done + batch, job_.elements); done < end; ++done) {
                    const std::int64_t key =
                        job_.swaps_entries() ? static_cast<std::int64_t>(done) : workload::scattered_key(done);
                    put(open, key, key, job_.swaps_entries() ? MDB_APPEND : 0u);
                }
            });
        }
        check(mdb_env_sync(environment_, 1), "sync");
    }
    void open() override {
        start(job_.power ? 0u : static_cast<unsigned>(MDB_NOSYNC | MDB_WRITEMAP));
        check(mdb_txn_begin(environment_, nullptr, MDB_RDONLY, &reader_), "begin");
        mdb_txn_reset(reader_);
    }
    // Writers wait for each other inside; the reading transaction is one for all threads.
    bool concurrent() const noexcept override { return job_.swaps_entries(); }

    void swap(workload::random& numbers, std::uint64_t first, std::uint64_t count) override {
        transact([&](MDB_txn* open) {
            for (std::uint64_t i = 0; i < job_.swaps; ++i) {
                const auto a = static_cast<std::int64_t>(first + numbers.below(count));
                const auto b = static_cast<std::int64_t>(first + numbers.below(count));
                const std::int64_t of_a = look_up(open, a);
                const std::int64_t of_b = look_up(open, b);
                put(open, a, of_b, 0);
                put(open, b, of_a, 0);
            }
        });
    }
    void insert(std::int64_t key, std::int64_t value) override {
        transact([&](MDB_txn* open) { put(open, key, value, MDB_NOOVERWRITE); });
    }
    void update(std::int64_t key, std::int64_t value) override {
        transact([&](MDB_txn* open) { put(open, key, value, 0); });
    }
    void remove(std::int64_t key) override {
        transact([&](MDB_txn* open) {
            MDB_val wanted{sizeof key, &key};
            check(mdb_del(open, table_, &wanted, nullptr), "del");
        });
    }
    void get(std::int64_t key) override {
        check(mdb_txn_renew(reader_), "renew");
        look_up(reader_, key);
        mdb_txn_reset(reader_);
    }

private:
    void start(unsigned flags) {
        check(mdb_env_create(&environment_), "create");
        const std::uint64_t bytes = job_.elements * 200 + (256u << 20);
        check(mdb_env_set_mapsize(environment_, bytes / 4096 * 4096), "map size");
        check(mdb_env_open(environment_, job_.directory.c_str(), flags | MDB_NOTLS, 0600), "open");
        transact([&](MDB_txn* open) { check(mdb_dbi_open(open, nullptr, MDB_INTEGERKEY, &table_), "table"); });
    }
    template <class F>
    void transact(F&& f) {
        MDB_txn* open = nullptr;
        check(mdb_txn_begin(environment_, nullptr, 0, &open), "begin");
        f(open);
        check(mdb_txn_commit(open), "commit");
    }
    void put(MDB_txn* open, std::int64_t key, std::int64_t value, unsigned flags) {
        MDB_val name{sizeof key, &key};
        MDB_val data{sizeof value, &value};
        check(mdb_put(open, table_, &name, &data, flags), "put");
    }
    std::int64_t look_up(MDB_txn* open, std::int64_t key) {
        MDB_val name{sizeof key, &key};
        MDB_val data{};
        check(mdb_get(open, table_, &name, &data), "get");
        return *static_cast<const std::int64_t*>(data.mv_data);
    }

    rival_job job_;
    MDB_env* environment_ = nullptr;
    MDB_dbi table_ = 0;
    MDB_txn* reader_ = nullptr;
};

}  // namespace

std::unique_ptr<rival> make_lmdb(const rival_job& job) { return std::make_unique<lmdb>(job); }

}  // namespace holdfast::bench
