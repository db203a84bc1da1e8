// What a rival is to the program that runs it.
#pragma once

#include <bench/contest/contestant.hpp>
#include <bench/contest/serve.hpp>

#include <workload/random.hpp>

#include <cstdint>
#include <memory>
#include <optional>
#include <string>

namespace holdfast::bench {

/// One rival's task, as the parent process gave it.
struct rival_job {
    std::string suite;      ///< sps, hash, btree, rbtree, bounded-buffer, lines, wrap, dnv-list or cache
    bool power = true;      ///< durable against a power cut; otherwise against a killed process
    std::string directory;  ///< exists, empty before the data are filled in
    std::uint64_t elements = 0;  ///< bytes of the object in suite lines
    std::uint64_t bytes = 0;     ///< of an element's payload in suite dnv-list, of a value in suite cache
    unsigned threads = 1;        ///< where `run` answers every case and several threads are asked for
    std::uint64_t swaps = 1;
    std::uint64_t rate = 0;      ///< of the requests in suite wrap; 0: one after another
    std::uint32_t delay_ns = 0;  ///< added for each line that goes to the medium; libpmemobj alone knows it

    bool swaps_entries() const noexcept { return suite == "sps"; }
};

/// A rival's data. Used by one thread at a time, unless `concurrent`.
/// Failures end the process: `child_failed`.
class rival {
public:
    virtual ~rival() = default;
    /// Makes the data: entry i holds i for i in [0, elements) for sps; otherwise the keys
    /// scattered_key(0 … elements - 1), each with itself as value.
    virtual void fill() = 0;
    /// Opens what an earlier process filled.
    virtual void open() = 0;
    /// Whether transactions of several threads may run at once.
    virtual bool concurrent() const noexcept = 0;

    /// One transaction each; not asked for where `run` answers every case. `swap` swaps job.swaps pairs drawn from
    /// [first, first + count).
    virtual void swap(workload::random& /*numbers*/, std::uint64_t /*first*/, std::uint64_t /*count*/) {
        no_such_case();
    }
    virtual void insert(std::int64_t /*key*/, std::int64_t /*value*/) { no_such_case(); }
    virtual void update(std::int64_t /*key*/, std::int64_t /*value*/) { no_such_case(); }
    virtual void remove(std::int64_t /*key*/) { no_such_case(); }
    virtual void get(std::int64_t /*key*/) { no_such_case(); }

    /// A whole batch of the case `name`, where it is timed inside; nothing: one of the above, again and again.
    virtual std::optional<batch> run(const std::string&, std::uint64_t) { return std::nullopt; }

private:
    /// A rival that forgot an operation is not to be measured doing nothing.
    [[noreturn]] static void no_such_case() { child_failed("the rival has no such case"); }
};

inline void require(bool good, const char* what) {
    if (!good) child_failed(what);
}

std::unique_ptr<rival> make_libpmemobj(const rival_job& job);
/// The objects of suites bounded-buffer and lines; `as_paper`: as the paper used it, else as its best user would.
std::unique_ptr<rival> make_libpmemobj_objects(const rival_job& job, bool as_paper);
/// The tree of suite wrap; `each_store`: a snapshot for each word stored, else for each node touched.
std::unique_ptr<rival> make_libpmemobj_tree(const rival_job& job, bool each_store);
/// The list of suite dnv-list; `as_paper` as above.
std::unique_ptr<rival> make_libpmemobj_list(const rival_job& job, bool as_paper);
/// The cache of suite cache, as its best user would use libpmemobj.
std::unique_ptr<rival> make_libpmemobj_cache(const rival_job& job);
std::unique_ptr<rival> make_lmdb(const rival_job& job);
std::unique_ptr<rival> make_sqlite(const rival_job& job);

}  // namespace holdfast::bench
