// libpmemobj on small objects: the bounded buffer of the paper's Figure 1, and an object of many words.
//
// As the paper used it, a member takes a snapshot of itself whenever it is assigned to, and the buffer's bytes are an
// allocation of their own. As its best user would, one snapshot of the whole object, and only before a change.
// Pointers are native instead of its 16-byte ones, which favours it.
#include <bench/rivals/pmem_calls.hpp>
#include <bench/rivals/pmemobj_transaction.hpp>
#include <bench/rivals/rival.hpp>

#include <bench/contest/bounded_buffer.hpp>
#include <bench/contest/word_object.hpp>

#include <utility>

namespace holdfast::bench {
namespace {

/// What pmem::obj::p<T> does in a transaction.
template <class T>
class snapshot_member {
public:
    operator T() const noexcept { return value_; }
    snapshot_member& operator=(T value) {
        pmemobj_snapshot(&value_, sizeof value_);
        value_ = value;
        return *this;
    }
    snapshot_member& operator=(const snapshot_member& other) { return *this = other.value_; }

private:
    T value_;
};

using figure1_buffer = bounded_buffer<snapshot_member, snapshot_member<char>*>;

struct objects_root {
    figure1_buffer as_paper[buffers_at_once];
    plain_buffer best[buffers_at_once];
    std::uint64_t words[most_object_bytes / 8];
};

class as_paper_buffers {
public:
    explicit as_paper_buffers(objects_root* root) : all_(root->as_paper) {}

    void reset() {
        for (unsigned i = 0; i < buffers_at_once; ++i) transact(i, [](figure1_buffer& one) { one.reset(); });
    }
    [[gnu::noinline]] void add(unsigned i, char byte) {
        transact(i, [=](figure1_buffer& one) { one.add(byte); });
    }
    [[gnu::noinline]] char get(unsigned i) {
        char byte = 0;
        transact(i, [&](figure1_buffer& one) { byte = one.get(); });
        return byte;
    }
    [[gnu::noinline]] void fill(unsigned i, const char* from, unsigned count) {
        transact(i, [=](figure1_buffer& one) { one.fill(from, count); });
    }
    [[gnu::noinline]] void drain(unsigned i, char* to, unsigned count) {
        transact(i, [=](figure1_buffer& one) { one.drain(to, count); });
    }

private:
    template <class F>
    void transact(unsigned i, F&& f) {
        // The figure asks for the pool each time, with pool_by_vptr.
        const bool good = pmemobj_atomically(pmemobj_pool_by_ptr(&all_[i]), [&] { f(all_[i]); });
        require(good, "libpmemobj: a transaction failed");
    }

    figure1_buffer* all_;
};

class best_buffers {
public:
    best_buffers(PMEMobjpool* pool, objects_root* root) : pool_(pool), all_(root->best) {}

    void reset() {
        for (unsigned i = 0; i < buffers_at_once; ++i) transact(i, true, [](plain_buffer& one) { one.reset(); });
    }
    [[gnu::noinline]] void add(unsigned i, char byte) {
        transact(i, !all_[i].full(), [=](plain_buffer& one) { one.add(byte); });
    }
    [[gnu::noinline]] char get(unsigned i) {
        char byte = 0;
        transact(i, !all_[i].empty(), [&](plain_buffer& one) { byte = one.get(); });
        return byte;
    }
    [[gnu::noinline]] void fill(unsigned i, const char* from, unsigned count) {
        transact(i, !all_[i].full(), [=](plain_buffer& one) { one.fill(from, count); });
    }
    [[gnu::noinline]] void drain(unsigned i, char* to, unsigned count) {
        transact(i, !all_[i].empty(), [=](plain_buffer& one) { one.drain(to, count); });
    }

private:
    template <class F>
    void transact(unsigned i, bool changes, F&& f) {
        const bool good = pmemobj_atomically(pool_, [&] {
            if (changes) pmemobj_snapshot(&all_[i], sizeof all_[i]);
            f(all_[i]);
        });
        require(good, "libpmemobj: a transaction failed");
    }

    PMEMobjpool* pool_;
    plain_buffer* all_;
};

class libpmemobj_objects final : public rival {
public:
    libpmemobj_objects(rival_job job, bool as_paper)
        : job_(std::move(job)), as_paper_(as_paper), path_(job_.directory + "/pool") {}
    ~libpmemobj_objects() override {
        if (pool_ != nullptr) pmemobj_close(pool_);
    }

    void fill() override {
        pool_ = pmemobj_create(path_.c_str(), "objects", 32u << 20, 0600);
        if (pool_ == nullptr) child_failed(pmemobj_error());
        objects_root* const root = find_root();
        const bool good = pmemobj_atomically(pool_, [&] {
            pmemobj_snapshot(root, sizeof *root);
            for (auto& buffer : root->as_paper) {
                const PMEMoid made = pmemobj_tx_alloc(buffer_bytes, 1);
                if (OID_IS_NULL(made)) child_failed(pmemobj_error());
                buffer.bytes = static_cast<snapshot_member<char>*>(pmemobj_direct(made));
            }
        });
        require(good, "libpmemobj: the objects could not be made");
    }
    void open() override {
        pool_ = pmemobj_open(path_.c_str(), "objects");
        if (pool_ == nullptr) child_failed(pmemobj_error());
        set_libpmem_delay(job_.delay_ns);
    }
    bool concurrent() const noexcept override { return false; }

    std::optional<batch> run(const std::string& name, std::uint64_t transactions) override {
        if (job_.suite == "lines") return change_words(name == "all-dirty", transactions);
        const auto which = scenario_named(name);
        require(which.has_value(), "libpmemobj: there is no such scenario");
        if (as_paper_) {
            as_paper_buffers buffers(find_root());
            return run_scenario(buffers, *which, transactions);
        }
        best_buffers buffers(pool_, find_root());
        return run_scenario(buffers, *which, transactions);
    }

private:
    objects_root* find_root() {
        return static_cast<objects_root*>(pmemobj_direct(pmemobj_root(pool_, sizeof(objects_root))));
    }
    batch change_words(bool all, std::uint64_t transactions) {
        std::uint64_t* const words = find_root()->words;
        return time_transactions(transactions, [&](std::uint64_t value) {
            const bool good = pmemobj_atomically(pool_, [&] {
                pmemobj_snapshot(words, job_.elements);
                change(words, job_.elements / 8, all, value);
            });
            require(good, "libpmemobj: a transaction failed");
        });
    }

    rival_job job_;
    bool as_paper_;
    std::string path_;
    PMEMobjpool* pool_ = nullptr;
};

}  // namespace

std::unique_ptr<rival> make_libpmemobj_objects(const rival_job& job, bool as_paper) {
    return std::make_unique<libpmemobj_objects>(job, as_paper);
}

}  // namespace holdfast::bench
