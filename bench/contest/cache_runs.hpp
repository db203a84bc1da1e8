// Suite cache in the programs that run it: a key-value cache, whatever its transactions are. Source: DNV Memory,
// section 5.3, which measures memcached.
#pragma once

#include <bench/contest/threads.hpp>

#include <holdfast/base/result.hpp>

#include <workload/cache/cache.hpp>
#include <workload/random.hpp>

#include <cstdint>
#include <string>
#include <vector>

namespace holdfast::bench {

struct cache_job {
    std::uint64_t items = 0;
    std::uint64_t bytes = 100;  ///< of a value
    unsigned threads = 1;
};

/// What a pool for it needs at most, in an allocator that rounds up to powers of two.
inline std::uint64_t pool_bytes_for(const cache_job& job) { return (64u << 20) + job.items * (512 + 2 * job.bytes); }

/// Batches of commands: get, set, and mixed, of which 9 in 10 are gets. Keys of 16 bytes are drawn uniformly. Nothing
/// is evicted, so every get must find a value of the right length: otherwise failure is thrown. `Isolated` is an Access
/// under which threads may run commands at once.
template <workload::access Isolated>
class cache_runs {
public:
    cache_runs(Isolated memory, workload::cache_root* root, const cache_job& job)
        : job_(job), all_(memory, root), text_(job.bytes, 'x') {
        for (unsigned i = 0; i < job.threads; ++i) numbers_.emplace_back(1000 + i);
    }

    /// The cache does not exist yet.
    void fill() {
        const workload::cache_settings settings{.limit_bytes = job_.items * (256 + job_.bytes), .buckets = job_.items};
        if (!all_.create(settings)) fail(errc::io, "the cache was not created");
        for (std::uint64_t i = 0; i < job_.items; ++i) set(i);
    }

    batch run(const std::string& name, std::uint64_t transactions) {
        const std::uint64_t sets_of_ten = name == "get" ? 0 : name == "set" ? 10 : 1;
        if (sets_of_ten == 1 && name != "mixed") fail(errc::io, "there is no case '" + name + "'");
        return run_on_threads(job_.threads, transactions, [&](unsigned thread, std::uint64_t count) {
            workload::random& numbers = numbers_[thread];
            for (std::uint64_t i = 0; i < count; ++i) {
                const std::uint64_t which = numbers.below(job_.items);
                if (numbers.below(10) < sets_of_ten)
                    set(which);
                else
                    get(which);
            }
        });
    }

private:
    static constexpr std::uint64_t now_s = 1'700'000'000;

    static workload::cache_key key_of(std::uint64_t which) {
        // By hand, since a format would take a fifth of the time of a get.
        const std::uint64_t number = which * 0x9E3779B97F4A7C15u;
        char text[16];
        for (unsigned i = 0; i < sizeof text; ++i) text[i] = "0123456789abcdef"[number >> (60 - 4 * i) & 0xF];
        return {text, sizeof text};
    }
    void set(std::uint64_t which) {
        if (all_.set(key_of(which), {text_.data(), text_.size()}, now_s) != workload::cache_answer::stored)
            fail(errc::io, "a set was not stored");
    }
    void get(std::uint64_t which) {
        char room[4096];
        workload::cache_found found{room, sizeof room};
        const auto answer = all_.get(key_of(which), now_s, found);
        if (answer != workload::cache_answer::found || found.bytes != job_.bytes || room[0] != 'x')
            fail(errc::io, "a get has not found its value");
    }

    cache_job job_;
    workload::cache<Isolated> all_;
    std::string text_;
    std::vector<workload::random> numbers_;
};

/// An Access that does not isolate, with one lock.
template <class Access, class Lock>
class under_one_lock : public Access {
public:
    under_one_lock(Access memory, Lock& lock) : Access(memory), lock_(&lock) {}
    template <class F>
    bool atomically(F&& f) const {
        return Access::atomically(*lock_, f);
    }

private:
    Lock* lock_;
};

}  // namespace holdfast::bench
