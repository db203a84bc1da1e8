// holdfast-dnv-ALGORITHM rtx|tx|notx LEVEL POOL BYTES ELEMENTS [THREADS]
//
// The child process of `holdfast bench dnv-list`, and with THREADS of `holdfast bench cache`, in which a dnv pool is
// open, of which a process has one; bench/contest/serve.hpp says what it answers. The paper's modes: rtx, words have
// codes; tx, they have none; notx, the same list in memory of malloc, without blocks and without a pool.
#include <bench/contest/cache_runs.hpp>
#include <bench/contest/list_runs.hpp>
#include <bench/contest/serve.hpp>
#include <bench/dnv/list.hpp>

#include <holdfast/dnv/commit_log.hpp>
#include <holdfast/dnv/dnv.hpp>
#include <holdfast/pool/open_pool.hpp>
#include <holdfast/pool/superblock.hpp>
#include <holdfast/powerfail/handler.hpp>
#include <holdfast/powerfail/shadow_log.hpp>

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

/// The parent kills this process and removes the pool: its log in memory would stay.
void forget_log_of(const std::string& pool) {
    const auto file = persist::file::open(pool, persist::file::access::read_only);
    if (!file) return;
    if (const auto block = read_superblock(*file)) powerfail::shadow_log::remove(*block);
}

/// The Access of the cache.
struct dnv_access {
    template <class T>
    T load(const T* home) const {
        return *home;
    }
    template <class T>
    void store(T* home, const std::type_identity_t<T>& value) const {
        *home = value;
    }
    template <class T>
    void will_write(T*) const {}
    void* allocate(std::size_t bytes) const {
        void* const made = dnv_malloc(bytes);
        if (made == nullptr) HOLDFAST_CANCEL;
        return made;
    }
    void free(void* block) const { dnv_free(block); }
    template <class F>
    bool atomically(F&& f) const {
        return dnv_atomically(f).has_value();
    }
};

DNV_POD list_node ends;
DNV_POD workload::cache_root kept_cache;
list_node plain_ends;

dnv_options options_for(const std::string& mode, const std::string& level, const list_job& job) {
    // Blocks are powers of two, and take twice their size; the longest record is that of a write, which has a tag, a
    // word and a code for each element.
    const std::uint64_t blocks = job.elements * std::bit_ceil(sizeof(list_node) + job.bytes) * 2;
    const std::uint64_t record = job.elements * 24;
    dnv_options asked;
    // What a pool of this size has unless told, or more if one write would fill most of it.
    asked.log_bytes = std::max<std::uint64_t>(4u << 20, std::bit_ceil(record * 2));
    asked.bytes = (64u << 20) + blocks * 3 / 2 + asked.log_bytes + 2 * pool_bytes_for({job.elements, job.bytes, 1});
    asked.durability = level_named(level).value_or(level::power);
    asked.protect = mode == "rtx";
    asked.tmpfs_is_nvram = true;
    return asked;
}

template <class List>
int serve_list(List list, const list_job& job) {
    list_runs<List> runs(std::move(list), job);
    runs.fill();
    return serve([&](const std::string& name, std::uint64_t transactions) { return runs.run(name, transactions); });
}

int serve_cache(const cache_job& job) {
    try {
        cache_runs<dnv_access> runs(dnv_access(), &kept_cache, job);
        runs.fill();
        return serve([&](const std::string& name, std::uint64_t transactions) { return runs.run(name, transactions); });
    } catch (const failure& reason) {
        child_failed(reason.what());
    }
}

int run(const std::vector<std::string>& arguments) {
    if (arguments.size() != 6 && arguments.size() != 7) child_failed("started by `holdfast bench` only");
    const auto number = [&](std::size_t i) { return std::strtoull(arguments[i].c_str(), nullptr, 10); };
    const std::string& mode = arguments[1];
    const list_job job{number(5), number(4)};
    if (mode == "notx") return serve_list(linked_list<in_plain_memory>(&plain_ends, job.bytes), job);
    static always_armed handler;
    powerfail::use_handler(&handler);
    if (auto opened = dnv_open(arguments[3], options_for(mode, arguments[2], job)); !opened)
        child_failed(opened.error().text());
    forget_log_of(arguments[3]);
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
