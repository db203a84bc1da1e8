// libpmemobj on the list of suite dnv-list, by its C API.
//
// As the paper used it, links are its 16-byte pointers, and an object that changes is saved whole, payload and all. As
// its best user would, links are native pointers, which the same address at each opening allows; only the words that
// change are saved; and a fresh object is neither zeroed nor saved, nor, where it is large, written back, but streamed.
#include <bench/rivals/pmem_calls.hpp>
#include <bench/rivals/pmemobj_transaction.hpp>
#include <bench/rivals/rival.hpp>

#include <bench/contest/list_runs.hpp>

#include <cstring>
#include <memory>
#include <utility>

namespace holdfast::bench {
namespace {

struct paper_node {
    PMEMoid next;
    PMEMoid previous;
};
struct best_node {
    best_node* next;
    best_node* previous;
};

paper_node* node_at(const PMEMoid& link) { return static_cast<paper_node*>(pmemobj_direct(link)); }
best_node* node_at(best_node* link) { return link; }

/// A list of list_runs, over one of these nodes.
template <class Node>
class pmemobj_list {
    using link = decltype(Node::next);
    static constexpr bool as_paper = std::is_same_v<Node, paper_node>;

public:
    pmemobj_list(PMEMobjpool* pool, std::size_t bytes)
        : pool_(pool), bytes_(bytes), first_(link_of(pmemobj_root(pool, sizeof(Node)))), ends_(node_at(first_)) {}

    /// The pool is fresh.
    void make_circle() {
        transact([&] {
            pmemobj_snapshot(ends_, sizeof *ends_);
            ends_->next = ends_->previous = first_;
        });
    }

    void push_back(const std::uint64_t* payload) {
        transact([&] { link_at_the_end(allocate(payload)); });
    }
    std::uint64_t pop_front() {
        std::uint64_t word = 0;
        transact([&] {
            const link gone = ends_->next;
            Node* const first = node_at(gone);
            Node* const second = node_at(first->next);
            save(ends_, &ends_->next);
            ends_->next = first->next;
            save(second, &second->previous);
            second->previous = first_;
            word = *payload_of(first);
            if (pmemobj_tx_free(oid_of(gone)) != 0) child_failed(pmemobj_error());
        });
        return word;
    }
    std::uint64_t read() {
        // Nothing changes: its users need no transaction for that.
        std::uint64_t sum = 0;
        for (const Node* at = node_at(ends_->next); at != ends_; at = node_at(at->next)) sum += *payload_of(at);
        return sum;
    }
    void write() {
        transact([&] {
            for (Node* at = node_at(ends_->next); at != ends_; at = node_at(at->next)) {
                std::uint64_t* const word = payload_of(at);
                save(at, word);
                ++*word;
            }
        });
    }

    link make(const std::uint64_t* payload) {
        link made{};
        transact([&] { made = allocate(payload); });
        return made;
    }
    void append(const link& node) {
        transact([&] {
            Node* const at = node_at(node);
            pmemobj_snapshot(at, sizeof *at);
            link_at_the_end(node);
        });
    }

    list_report look(const std::uint64_t* payload) {
        list_report found;
        found.links_agree = node_at(node_at(ends_->next)->previous) == ends_;
        for (const Node* at = node_at(ends_->next); at != ends_; at = node_at(at->next)) {
            ++found.elements;
            found.sum += *payload_of(at);
            if (node_at(node_at(at->next)->previous) != at) found.links_agree = false;
            if (std::memcmp(payload_of(at) + 1, payload + 1, bytes_ - sizeof *payload) != 0)
                found.payloads_agree = false;
        }
        return found;
    }

private:
    /// From here on libpmem streams what it copies.
    static constexpr std::size_t streamed_from_bytes = 256;

    static std::uint64_t* payload_of(Node* node) { return reinterpret_cast<std::uint64_t*>(node + 1); }
    static const std::uint64_t* payload_of(const Node* node) {
        return reinterpret_cast<const std::uint64_t*>(node + 1);
    }
    static link link_of(PMEMoid oid) {
        if constexpr (as_paper) {
            return oid;
        } else {
            return static_cast<Node*>(pmemobj_direct(oid));
        }
    }
    static PMEMoid oid_of(const link& of) {
        if constexpr (as_paper) {
            return of;
        } else {
            return pmemobj_oid(of);
        }
    }

    template <class F>
    void transact(F&& f) {
        require(pmemobj_atomically(pool_, std::forward<F>(f)), "libpmemobj: a transaction failed");
    }
    template <class Part>
    void save(const Node* node, const Part* part) {
        if constexpr (as_paper) {
            pmemobj_snapshot(node, sizeof *node + (node == ends_ ? 0 : bytes_));
        } else {
            pmemobj_snapshot(part, sizeof *part);
        }
    }

    link allocate(const std::uint64_t* payload) {
        const bool streams = !as_paper && bytes_ >= streamed_from_bytes;
        const std::size_t size = sizeof(Node) + bytes_;
        const PMEMoid made = as_paper ? pmemobj_tx_alloc(size, 1)
                                      : pmemobj_tx_xalloc(size, 1, streams ? POBJ_XALLOC_NO_FLUSH : 0);
        if (OID_IS_NULL(made)) child_failed(pmemobj_error());
        auto* const node = static_cast<Node*>(pmemobj_direct(made));
        if (streams) {
            // The commit fences.
            pmemobj_memcpy(pool_, payload_of(node), payload, bytes_, PMEMOBJ_F_MEM_NODRAIN);
        } else {
            std::memcpy(payload_of(node), payload, bytes_);
        }
        return link_of(made);
    }
    void link_at_the_end(const link& made) {
        Node* const node = node_at(made);
        Node* const last = node_at(ends_->previous);
        node->next = first_;
        node->previous = ends_->previous;
        if (!as_paper && bytes_ >= streamed_from_bytes) pmemobj_flush(pool_, node, sizeof *node);
        save(last, &last->next);
        last->next = made;
        save(ends_, &ends_->previous);
        ends_->previous = made;
    }

    PMEMobjpool* pool_;
    std::size_t bytes_;
    link first_;  ///< to `ends_`
    Node* ends_;
};

template <class Node>
class libpmemobj_list final : public rival {
public:
    explicit libpmemobj_list(const rival_job& job) : job_(job), path_(job.directory + "/pool") {}
    ~libpmemobj_list() override {
        if (pool_ != nullptr) pmemobj_close(pool_);
    }

    void fill() override {
        // An object, what it is rounded to, and in the longest write a copy of it.
        const std::uint64_t bytes = (64u << 20) + job_.elements * (job_.bytes + 256) * 3;
        pool_ = pmemobj_create(path_.c_str(), "list", bytes, 0600);
        if (pool_ == nullptr) child_failed(pmemobj_error());
        pmemobj_list<Node> list(pool_, job_.bytes);
        list.make_circle();
        list_runs<pmemobj_list<Node>>(list, the_list()).fill();
    }
    void open() override {
        pool_ = pmemobj_open(path_.c_str(), "list");
        if (pool_ == nullptr) child_failed(pmemobj_error());
        set_libpmem_delay(job_.delay_ns);
        runs_ = std::make_unique<list_runs<pmemobj_list<Node>>>(pmemobj_list<Node>(pool_, job_.bytes), the_list());
    }
    bool concurrent() const noexcept override { return false; }
    std::optional<batch> run(const std::string& name, std::uint64_t transactions) override {
        return runs_->run(name, transactions);
    }

private:
    list_job the_list() const { return {job_.elements, job_.bytes}; }

    rival_job job_;
    std::string path_;
    PMEMobjpool* pool_ = nullptr;
    std::unique_ptr<list_runs<pmemobj_list<Node>>> runs_;
};

}  // namespace

std::unique_ptr<rival> make_libpmemobj_list(const rival_job& job, bool as_paper) {
    if (as_paper) return std::make_unique<libpmemobj_list<paper_node>>(job);
    return std::make_unique<libpmemobj_list<best_node>>(job);
}

}  // namespace holdfast::bench
