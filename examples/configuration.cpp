// A configuration record that threads read without locks while one changes it, and that is there after a kill.
//
// Two commits bring the index back to where it was, over other bytes, so a reader cannot tell from the line alone that
// what it copied was valid all the time. A number in ordinary memory tells: the writer counts it up before and after.
// A reader may see a value that is not durable yet; who acts on it so that the outside notices must not be ahead of the
// writer's return.
#include <holdfast/holdfast.hpp>

#include <atomic>
#include <cstdint>
#include <cstdio>
#include <thread>
#include <vector>

namespace {

/// `share` and `rest` are 100 together.
struct configuration {
    std::uint32_t version = 0;
    std::uint32_t share = 40;
    std::uint32_t rest = 60;
    std::uint32_t timeout_ms = 1000;
};

class shared_configuration {
public:
    explicit shared_configuration(holdfast::line<configuration>& kept) : kept_(kept) {}

    /// One thread at a time.
    template <class F>
    void change(F&& f) {
        changes_.fetch_add(1, std::memory_order_acq_rel);
        kept_.transact([&](configuration& now) {
            f(now);
            ++now.version;
        });
        changes_.fetch_add(1, std::memory_order_release);
    }

    configuration read() const {
        for (;;) {
            const std::uint32_t before = changes_.load(std::memory_order_acquire);
            if (before % 2 != 0) continue;
            const configuration copy = kept_.load();
            std::atomic_thread_fence(std::memory_order_acquire);
            if (changes_.load(std::memory_order_relaxed) == before) return copy;
        }
    }

private:
    holdfast::line<configuration>& kept_;
    std::atomic<std::uint32_t> changes_{0};
};

bool is_consistent(const configuration& each) { return each.share + each.rest == 100; }

}  // namespace

int main() {
    holdfast::create_options options;
    options.bytes = 1 << 20;
    auto pool = holdfast::line_pool::open_or_create("configuration.pool", options).value();
    shared_configuration settings(*pool.root<holdfast::line<configuration>>("configuration").value());

    std::atomic<bool> done{false};
    std::atomic<std::uint64_t> inconsistent{0};
    std::vector<std::thread> readers;
    for (int i = 0; i < 2; ++i)
        readers.emplace_back([&] {
            while (!done) inconsistent += is_consistent(settings.read()) ? 0u : 1u;
        });
    const std::uint32_t first = settings.read().version;
    for (std::uint32_t i = 0; i < 200; ++i)
        settings.change([&](configuration& now) {
            now.share = i % 100;
            now.rest = 100 - now.share;
        });
    done = true;
    for (auto& each : readers) each.join();

    // As a killed process would leave it.
    pool.abandon();
    pool = holdfast::line_pool::open("configuration.pool", options).value();
    const configuration kept = pool.root<holdfast::line<configuration>>("configuration").value()->get();
    std::printf("version %u: %u and %u\n", kept.version - first, kept.share, kept.rest);
    return inconsistent == 0 && kept.version == first + 200 && is_consistent(kept) ? 0 : 1;
}
