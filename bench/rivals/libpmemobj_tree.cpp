// libpmemobj under the tree of suite wrap: a snapshot of each word that is stored, as a log of old values is taken in
// the paper, or one of each node that is touched, as its best user would.
//
// Each batch begins with a copy of the pool as it was filled: a tree that has grown does not shrink again.
#include <bench/rivals/pmem_calls.hpp>
#include <bench/rivals/pmemobj_access.hpp>

#include <bench/contest/tree_requests.hpp>

#include <filesystem>
#include <utility>

namespace holdfast::bench {
namespace {

constexpr std::size_t tree_pool_bytes = 16u << 20;

struct tree_root {
    tree_root* self;  ///< the address at which the pointers inside hold
    workload::stx_root tree;
};

template <pmemobj_snapshots Snapshots>
class libpmemobj_tree final : public rival {
    using access_type = pmemobj_access<Snapshots>;

public:
    explicit libpmemobj_tree(rival_job job)
        : job_(std::move(job)), filled_path_(job_.directory + "/filled"), path_(job_.directory + "/pool") {}
    ~libpmemobj_tree() override { close(); }

    void fill() override {
        pool_ = pmemobj_create(filled_path_.c_str(), "tree", tree_pool_bytes, 0600);
        if (pool_ == nullptr) child_failed(pmemobj_error());
        const access_type access(pool_);
        tree_root* const root = find_root();
        const bool good = access.atomically([&] {
            access.will_write(&root->self);
            access.store(&root->self, root);
        });
        const workload::stx_btree tree(access, &root->tree);
        require(good && tree.prefill(0, tree_elements_filled), "libpmemobj: the tree could not be filled");
    }
    void open() override { set_libpmem_delay(job_.delay_ns); }
    bool concurrent() const noexcept override { return false; }

    std::optional<batch> run(const std::string&, std::uint64_t transactions) override {
        try {
            begin_anew();
            return run_tree_batch({batches_++, transactions, job_.rate}, access_type(pool_), &find_root()->tree,
                                  [](std::uint64_t count, auto&& body) { return run_on_threads(1, count, body); });
        } catch (const std::exception& reason) {
            child_failed(reason.what());
        }
    }

private:
    void begin_anew() {
        close();
        std::filesystem::copy_file(filled_path_, path_, std::filesystem::copy_options::overwrite_existing);
        pool_ = pmemobj_open(path_.c_str(), "tree");
        if (pool_ == nullptr) child_failed(pmemobj_error());
        require(find_root()->self == find_root(), "libpmemobj: the pool is at another address than before");
    }
    void close() {
        if (pool_ != nullptr) pmemobj_close(pool_);
        pool_ = nullptr;
    }
    tree_root* find_root() { return static_cast<tree_root*>(pmemobj_direct(pmemobj_root(pool_, sizeof(tree_root)))); }

    rival_job job_;
    std::string filled_path_;
    std::string path_;
    PMEMobjpool* pool_ = nullptr;
    std::uint64_t batches_ = 0;
};

}  // namespace

std::unique_ptr<rival> make_libpmemobj_tree(const rival_job& job, bool each_store) {
    if (each_store) return std::make_unique<libpmemobj_tree<pmemobj_snapshots::each_store>>(job);
    return std::make_unique<libpmemobj_tree<pmemobj_snapshots::each_object>>(job);
}

}  // namespace holdfast::bench
