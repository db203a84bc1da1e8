// libpmemobj on the cache of suite cache, by its C API, as its best user would: links are native pointers, which the
// same address at each opening allows; an item whose value changes is saved as a whole, elsewhere only the words
// that change are; and a fresh object is neither zeroed nor saved. Its transactions do not isolate, so there is a lock
// around each.
#include <bench/rivals/pmem_calls.hpp>
#include <bench/rivals/pmemobj_access.hpp>
#include <bench/rivals/rival.hpp>

#include <bench/contest/cache_runs.hpp>

#include <memory>
#include <mutex>

namespace holdfast::bench {
namespace {

using saving_access = pmemobj_access<pmemobj_snapshots::each_store>;

class items_saved_access : public saving_access {
public:
    using saving_access::saving_access;

    template <class T>
    void store(T* home, const std::type_identity_t<T>& value) const {
        const auto at = reinterpret_cast<std::uintptr_t>(home);
        if (at - fresh_ < fresh_bytes_ || at - saved_ < saved_bytes_)
            *home = value;
        else
            saving_access::store(home, value);
    }
    /// Each snapshot is written back and fenced, so one of the item costs less than one of each word of its value.
    void will_write(workload::cache_item* item) const {
        saved_ = reinterpret_cast<std::uintptr_t>(item);
        saved_bytes_ = workload::cache_item_bytes(item->key_bytes, item->value_bytes);
        pmemobj_snapshot(item, saved_bytes_);
    }
    template <class T>
    void will_write(T*) const {}
    void* allocate(std::size_t bytes) const {
        void* const made = saving_access::allocate(bytes);
        fresh_ = reinterpret_cast<std::uintptr_t>(made);
        fresh_bytes_ = bytes;
        return made;
    }
    template <class Lock, class F>
    bool atomically(Lock& lock, F&& f) const {
        const std::lock_guard held(lock);
        fresh_bytes_ = saved_bytes_ = 0;
        return saving_access::atomically(f);
    }

private:
    // A transaction of the cache allocates one object.
    static inline thread_local std::uintptr_t fresh_ = 0;
    static inline thread_local std::uintptr_t fresh_bytes_ = 0;
    // It stores to the value of one that was there.
    static inline thread_local std::uintptr_t saved_ = 0;
    static inline thread_local std::uintptr_t saved_bytes_ = 0;
};

class libpmemobj_cache final : public rival {
    using runs_type = cache_runs<under_one_lock<items_saved_access, std::mutex>>;

public:
    explicit libpmemobj_cache(const rival_job& job) : job_(job), path_(job.directory + "/pool") {}
    ~libpmemobj_cache() override {
        if (pool_ != nullptr) pmemobj_close(pool_);
    }

    void fill() override {
        pool_ = pmemobj_create(path_.c_str(), "cache", pool_bytes_for(the_cache()), 0600);
        make_runs();
        runs_->fill();
    }
    void open() override {
        pool_ = pmemobj_open(path_.c_str(), "cache");
        set_libpmem_delay(job_.delay_ns);
        make_runs();
    }
    bool concurrent() const noexcept override { return true; }
    std::optional<batch> run(const std::string& name, std::uint64_t transactions) override {
        batch done = runs_->run(name, transactions);
        done.spent.reset();
        return done;
    }

private:
    cache_job the_cache() const { return {job_.elements, job_.bytes, job_.threads}; }
    void make_runs() {
        if (pool_ == nullptr) child_failed(pmemobj_error());
        auto* const root =
            static_cast<workload::cache_root*>(pmemobj_direct(pmemobj_root(pool_, sizeof(workload::cache_root))));
        runs_ = std::make_unique<runs_type>(under_one_lock(items_saved_access(pool_), lock_), root, the_cache());
    }

    rival_job job_;
    std::string path_;
    PMEMobjpool* pool_ = nullptr;
    std::mutex lock_;
    std::unique_ptr<runs_type> runs_;
};

}  // namespace

std::unique_ptr<rival> make_libpmemobj_cache(const rival_job& job) { return std::make_unique<libpmemobj_cache>(job); }

}  // namespace holdfast::bench
