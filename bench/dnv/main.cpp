// holdfast-dnv-ALGORITHM rtx|tx|notx LEVEL POOL BYTES ELEMENTS [THREADS]
// holdfast-dnv-ALGORITHM rtx|tx|rtx_flips|rtx_no_flips|rtx_all|tx_all LEVEL POOL stamp PROGRAM THREADS
//
// The child process of `holdfast bench dnv-list`, with THREADS of `holdfast bench cache`, and with a program of
// `holdfast bench stamp`, in which a dnv pool is open, of which a process has one; bench/contest/serve.hpp says what it
// answers. The paper's modes: rtx, words have codes; tx, they have none; notx, the same list in memory of malloc,
// without blocks and without a pool. The others: bench/dnv/stamp.hpp.
#include <bench/contest/cache_runs.hpp>
#include <bench/contest/list_runs.hpp>
#include <bench/contest/serve.hpp>
#include <bench/dnv/list.hpp>
#include <bench/dnv/stamp.hpp>

#include <holdfast/dnv/access.hpp>
#include <holdfast/dnv/commit_log.hpp>
#include <holdfast/dnv/dnv.hpp>
#include <holdfast/powerfail/handler.hpp>

#include <sys/prctl.h>

#include <algorithm>
#include <bit>
#include <csignal>
#include <cstdlib>
#include <string>
#include <utility>
#include <vector>

namespace holdfast::bench {
namespace {

struct in_blocks {
    static void* allocate(std::size_t bytes) { return dnv_malloc(bytes); }
    static void free(void* block) { dnv_free(block); }
    static std::uint64_t stored_bytes() { return dnv::stored_bytes_of_this_thread; }
    template <class F>
    static void atomically(F&& f) {
        __transaction_atomic { f(); }
    }
};

struct in_plain_memory {
    static void* allocate(std::size_t bytes) { return std::malloc(bytes); }
    static void free(void* block) { std::free(block); }
    template <class F>
    static void atomically(F&& f) {
        f();
    }
};

/// The machine stays up while it is measured.
class always_armed final : public powerfail::handler {
public:
    bool arm(powerfail::charge&) override { return true; }
    void disarm(powerfail::charge&) noexcept override {}
};

DNV_POD list_node ends;
DNV_POD workload::cache_root kept_cache;
list_node plain_ends;

dnv_options options_for(const std::string& mode, const std::string& level) {
    dnv_options asked;
    asked.log_bytes = 4u << 20;  // what a pool has unless told, if it is not small
    asked.durability = level_named(level).value_or(level::power);
    asked.protect = mode.starts_with("rtx");
    asked.tmpfs_is_nvram = true;
    return asked;
}

dnv_options with_room_for(const list_job& job, dnv_options asked) {
    // Blocks are powers of two, and take twice their size; the longest record is that of a write, which has a tag, a
    // word and a code for each element. The log has more if one write would fill most of it.
    const std::uint64_t blocks = job.elements * std::bit_ceil(sizeof(list_node) + job.bytes) * 2;
    const std::uint64_t record = job.elements * 24;
    asked.log_bytes = std::max<std::uint64_t>(asked.log_bytes, std::bit_ceil(record * 2));
    asked.bytes = (64u << 20) + blocks * 3 / 2 + asked.log_bytes + 2 * pool_bytes_for({job.elements, job.bytes, 1});
    return asked;
}

void open_new_pool(const std::string& path, const dnv_options& asked) {
    static always_armed handler;
    powerfail::use_handler(&handler);
    if (auto opened = dnv_open(path, asked); !opened) child_failed(opened.error().text());
}

template <class List>
int serve_list(List list, const list_job& job) {
    list_runs<List> runs(std::move(list), job);
    runs.fill();
    return serve([&](const std::string& name, std::uint64_t transactions) { return runs.run(name, transactions); });
}

int serve_cache(const cache_job& job) {
    try {
        cache_runs<dnv::dnv_access> runs(dnv::dnv_access(), &kept_cache, job);
        runs.fill();
        return serve([&](const std::string& name, std::uint64_t transactions) { return runs.run(name, transactions); });
    } catch (const failure& reason) {
        child_failed(reason.what());
    }
}

int run(const std::vector<std::string>& arguments) {
    if (arguments.size() != 6 && arguments.size() != 7) child_failed("started by `holdfast bench` only");
    const auto number = [&](std::size_t i) { return std::strtoull(arguments[i].c_str(), nullptr, 10); };
    const std::string &mode = arguments[1], &pool = arguments[3];
    const dnv_options asked = options_for(mode, arguments[2]);
    if (arguments[4] == "stamp") {
        open_new_pool(pool, with_room_for_stamp(arguments[5], asked));
        return serve_stamp_in_pool(mode, arguments[5], static_cast<unsigned>(number(6)));
    }
    const list_job job{number(5), number(4)};
    if (mode == "notx") return serve_list(linked_list<in_plain_memory>(&plain_ends, job.bytes), job);
    open_new_pool(pool, with_room_for(job, asked));
    if (arguments.size() == 7) return serve_cache({job.elements, job.bytes, static_cast<unsigned>(number(6))});
    return serve_list(linked_list<in_blocks>(&ends, job.bytes), job);
}

}  // namespace
}  // namespace holdfast::bench

int main(int count, char** arguments) {
    // Goes with its parent, however that ends.
    ::prctl(PR_SET_PDEATHSIG, SIGKILL);
    return holdfast::bench::run({arguments, arguments + count});
}
