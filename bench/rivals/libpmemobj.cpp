// libpmemobj by its C API, used as its users do: a snapshot for each range before it is stored to.
//
// It runs the very workloads that ours run, over an Access of its own, with native pointers instead
// of its 16-byte ones, which favours it.
#include <bench/rivals/pmemobj_access.hpp>
#include <bench/rivals/rival.hpp>

#include <workload/btree.hpp>
#include <workload/hash.hpp>
#include <workload/rbtree.hpp>
#include <workload/sps.hpp>

#include <libpmemobj.h>

#include <utility>

namespace holdfast::bench {
namespace {

using snapshots_of_words = pmemobj_access<pmemobj_snapshots::each_store>;

struct root {
    root* self;  ///< the address at which the pointers inside hold
    workload::sps_root sps;
    workload::hash_root hash;
    workload::btree_root btree;
    workload::rbtree_root rbtree;
    workload::rbtree_uncounted_root uncounted;
};

class libpmemobj final : public rival {
public:
    explicit libpmemobj(rival_job job) : job_(std::move(job)), path_(job_.directory + "/pool") {}
    ~libpmemobj() override {
        if (pool_ != nullptr) pmemobj_close(pool_);
    }

    void fill() override {
        const std::uint64_t each = job_.swaps_entries() ? 10 : 400;
        pool_ = pmemobj_create(path_.c_str(), "bench", job_.elements * each + (128u << 20), 0600);
        if (pool_ == nullptr) child_failed(pmemobj_error());
        root* const all = find_root();
        const snapshots_of_words access(pool_);
        bool good = access.atomically([&] { access.store(&all->self, all); });
        with_structure([&](auto structure) {
            if constexpr (requires { structure.create(job_.elements); }) good = good && structure.create(job_.elements);
            if constexpr (requires { structure.prefill(0, job_.elements); })
                good = good && structure.prefill(0, job_.elements);
        });
        require(good, "libpmemobj: a transaction failed");
    }

    void open() override {
        pool_ = pmemobj_open(path_.c_str(), "bench");
        if (pool_ == nullptr) child_failed(pmemobj_error());
        require(find_root()->self == find_root(), "libpmemobj: the pool is at another address than before");
    }

    bool concurrent() const noexcept override { return job_.swaps_entries(); }

    void swap(workload::random& numbers, std::uint64_t first, std::uint64_t count) override {
        transact([&](auto structure) {
            if constexpr (requires { structure.swap_random(numbers, job_.swaps, first, count); })
                return structure.swap_random(numbers, job_.swaps, first, count), true;
            return false;
        });
    }
    void insert(std::int64_t key, std::int64_t value) override {
        transact([&](auto structure) {
            if constexpr (requires { structure.insert(key, value); }) return structure.insert(key, value);
            return false;
        });
    }
    void update(std::int64_t key, std::int64_t value) override {
        transact([&](auto structure) {
            if constexpr (requires { structure.update(key, value); }) return structure.update(key, value);
            return false;
        });
    }
    void remove(std::int64_t key) override {
        transact([&](auto structure) {
            if constexpr (requires { structure.remove(key); }) return structure.remove(key);
            return false;
        });
    }
    void get(std::int64_t key) override {
        // Reading needs no transaction there.
        bool found = false;
        with_structure([&](auto structure) {
            std::int64_t value = 0;
            if constexpr (requires { structure.get(key, value); }) found = structure.get(key, value);
        });
        require(found, "libpmemobj: a key is missing");
    }

private:
    root* find_root() { return static_cast<root*>(pmemobj_direct(pmemobj_root(pool_, sizeof(root)))); }

    template <class F>
    void with_structure(F&& f) {
        const snapshots_of_words access(pool_);
        if (job_.suite == "sps") {
            f(workload::sps(access, &find_root()->sps));
        } else if (job_.suite == "hash") {
            f(workload::hash_table(access, &find_root()->hash));
        } else if (job_.suite == "btree") {
            f(workload::btree(access, &find_root()->btree));
        } else if (job_.suite == "cchtm") {
            f(workload::rbtree(access, &find_root()->uncounted));
        } else {
            f(workload::rbtree(access, &find_root()->rbtree));
        }
    }

    template <class F>
    void transact(F&& f) {
        bool good = false;
        with_structure([&](auto structure) {
            const bool committed = snapshots_of_words(pool_).atomically([&] { good = f(structure); });
            good = good && committed;
        });
        require(good, "libpmemobj: an operation failed");
    }

    rival_job job_;
    std::string path_;
    PMEMobjpool* pool_ = nullptr;
};

}  // namespace

std::unique_ptr<rival> make_libpmemobj(const rival_job& job) { return std::make_unique<libpmemobj>(job); }

}  // namespace holdfast::bench
