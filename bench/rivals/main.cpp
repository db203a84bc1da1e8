// holdfast-rivals RIVAL fill|run SUITE LEVEL DIRECTORY ELEMENTS SWAPS THREADS shared|own DELAY_NS RATE BYTES
//
// The child process of `holdfast bench` in which a rival runs; bench/serve.hpp says what it answers.
#include <bench/rivals/rival.hpp>

#include <holdfast/base/result.hpp>

#include <fcntl.h>
#include <sys/prctl.h>
#include <unistd.h>

#include <chrono>
#include <csignal>
#include <cstdio>
#include <cstdlib>
#include <latch>
#include <mutex>
#include <thread>
#include <vector>

namespace holdfast::bench {
namespace {

/// Runs batches over one rival's data.
class driver {
public:
    driver(std::unique_ptr<rival> data, rival_job job, unsigned threads, bool shared_lock)
        : data_(std::move(data)),
          job_(std::move(job)),
          threads_(threads),
          // A rival that cannot do two at once is helped by a lock, whatever was asked for.
          locked_(threads > 1 && (shared_lock || !data_->concurrent())) {
        for (unsigned i = 0; i < threads; ++i) numbers_.emplace_back(1000 + i);
    }

    batch run(const std::string& name, std::uint64_t transactions) {
        if (const auto whole = data_->run(name, transactions)) return *whole;
        std::latch ready(threads_), start(1);
        std::vector<std::thread> workers;
        const auto part = [&](unsigned thread) {
            const std::uint64_t begin = transactions * thread / threads_;
            run_part(name, thread, begin, transactions * (thread + 1) / threads_ - begin);
        };
        if (threads_ > 1)
            for (unsigned i = 0; i < threads_; ++i)
                workers.emplace_back([&, i] {
                    ready.count_down();
                    start.wait();
                    part(i);
                });
        if (threads_ > 1) ready.wait();
        const auto begin = std::chrono::steady_clock::now();
        start.count_down();
        if (threads_ == 1) part(0);
        for (auto& worker : workers) worker.join();
        const double ns = std::chrono::duration<double, std::nano>(std::chrono::steady_clock::now() - begin).count();
        if (name == "insert") inserted_ += transactions;
        if (name == "remove") removed_ += transactions;
        return {ns, transactions, std::nullopt, {}};
    }

private:
    void run_part(const std::string& name, unsigned thread, std::uint64_t begin, std::uint64_t transactions) {
        auto& numbers = numbers_[thread];
        const std::uint64_t slice = job_.elements / threads_;
        const auto random_key = [&] { return workload::scattered_key(numbers.below(job_.elements)); };
        for (std::uint64_t i = begin; i < begin + transactions; ++i) {
            std::unique_lock lock(mutex_, std::defer_lock);
            if (locked_) lock.lock();
            if (name == "swap") {
                data_->swap(numbers, slice * thread, slice);
            } else if (name == "insert") {
                data_->insert(workload::scattered_key(job_.elements + inserted_ + i), static_cast<std::int64_t>(i));
            } else if (name == "remove") {
                data_->remove(workload::scattered_key(job_.elements + removed_ + i));
            } else if (name == "update") {
                data_->update(random_key(), static_cast<std::int64_t>(i));
            } else if (name == "get") {
                data_->get(random_key());
            } else {
                child_failed("there is no case " + name);
            }
        }
    }

    std::unique_ptr<rival> data_;
    rival_job job_;
    unsigned threads_;
    bool locked_;
    std::mutex mutex_;
    std::vector<workload::random> numbers_;
    std::uint64_t inserted_ = 0;
    std::uint64_t removed_ = 0;
};

std::unique_ptr<rival> make(const std::string& name, const rival_job& job) {
    const bool objects = job.suite == "bounded-buffer" || job.suite == "lines";
    if (objects && name.starts_with("libpmemobj")) return make_libpmemobj_objects(job, name == "libpmemobj");
    if (job.suite == "wrap" && name.starts_with("libpmemobj")) return make_libpmemobj_tree(job, name == "libpmemobj");
    if (job.suite == "dnv-list" && name.starts_with("libpmemobj"))
        return make_libpmemobj_list(job, name == "libpmemobj");
    if (job.suite == "cache" && name == "libpmemobj") return make_libpmemobj_cache(job);
    if (name == "libpmemobj") return make_libpmemobj(job);
    if (name == "lmdb") return make_lmdb(job);
    if (name == "sqlite") return make_sqlite(job);
    child_failed("there is no rival " + name);
}

int run(const std::vector<std::string>& arguments) {
    if (arguments.size() != 13) child_failed("started by `holdfast bench` only");
    rival_job job;
    job.suite = arguments[3];
    job.power = arguments[4] == "power";
    job.directory = arguments[5];
    job.elements = std::strtoull(arguments[6].c_str(), nullptr, 10);
    job.swaps = std::strtoull(arguments[7].c_str(), nullptr, 10);
    const auto threads = static_cast<unsigned>(std::strtoul(arguments[8].c_str(), nullptr, 10));
    job.threads = threads;
    job.delay_ns = static_cast<std::uint32_t>(std::strtoul(arguments[10].c_str(), nullptr, 10));
    job.rate = std::strtoull(arguments[11].c_str(), nullptr, 10);
    job.bytes = std::strtoull(arguments[12].c_str(), nullptr, 10);
    auto data = make(arguments[1], job);
    if (arguments[2] == "fill") {
        data->fill();
        data.reset();
        // What is measured must not pay for what was filled in.
        if (const int directory = ::open(job.directory.c_str(), O_RDONLY | O_CLOEXEC); directory >= 0) {
            ::syncfs(directory);
            ::close(directory);
        }
        std::printf("ready\n");
        return 0;
    }
    data->open();
    driver runs(std::move(data), job, threads, arguments[9] == "shared");
    return serve([&](const std::string& name, std::uint64_t transactions) { return runs.run(name, transactions); });
}

}  // namespace
}  // namespace holdfast::bench

int main(int count, char** arguments) {
    // The data vanish with the parent; so should whoever fills them.
    ::prctl(PR_SET_PDEATHSIG, SIGKILL);
    try {
        return holdfast::bench::run({arguments, arguments + count});
    } catch (const holdfast::failure& reason) {
        holdfast::bench::child_failed(reason.what());
    }
}
