#include <bench/buffers.hpp>
#include <bench/contest/bounded_buffer.hpp>
#include <bench/line_commits.hpp>
#include <bench/nvram.hpp>
#include <bench/pools.hpp>

#include <holdfast/engine/redo.hpp>
#include <holdfast/line/line.hpp>
#include <holdfast/line/lines.hpp>
#include <holdfast/persist/sites.hpp>

#if HOLDFAST_HAS_WOVEN_BUFFER
#include <workload/woven_buffer.hpp>
#endif

#include <new>

namespace holdfast::bench {
namespace {

/// `Buffer`s side by side in memory that stands for NVRAM.
template <class Buffer>
class nvram_buffers {
public:
    nvram_buffers(const setting& where, scratch& space)
        : memory_(space.memory_directory(), buffers_at_once * sizeof(Buffer)),
          all_(reinterpret_cast<Buffer*>(memory_.data())),
          commits_power_(where.level == "power"),
          delay_ns_(where.delay_ns) {
        for (unsigned i = 0; i < buffers_at_once; ++i) new (&all_[i]) Buffer;
    }

    line_commits commits() const noexcept { return line_commits(commits_power_, delay_ns_); }

protected:
    nvram memory_;
    Buffer* all_;

private:
    bool commits_power_;
    std::uint32_t delay_ns_;
};

class plain_buffers : public nvram_buffers<plain_buffer> {
public:
    using nvram_buffers::nvram_buffers;

    void reset() {
        for (unsigned i = 0; i < buffers_at_once; ++i) all_[i].reset();
    }
    [[gnu::noinline]] void add(unsigned i, char byte) { all_[i].add(byte); }
    [[gnu::noinline]] char get(unsigned i) { return all_[i].get(); }
    [[gnu::noinline]] void fill(unsigned i, const char* from, unsigned count) { all_[i].fill(from, count); }
    [[gnu::noinline]] void drain(unsigned i, char* to, unsigned count) { all_[i].drain(to, count); }
};

/// line<plain_buffer> and lines<plain_buffer>.
template <class Transactional>
class line_buffers : public nvram_buffers<Transactional> {
public:
    using nvram_buffers<Transactional>::nvram_buffers;

    void reset() {
        for (unsigned i = 0; i < buffers_at_once; ++i)
            this->all_[i].transact([](plain_buffer& active) { active.reset(); });
    }
    [[gnu::noinline]] void add(unsigned i, char byte) {
        this->all_[i].transact([=](plain_buffer& active) { active.add(byte); });
    }
    [[gnu::noinline]] char get(unsigned i) {
        return this->all_[i].transact([](plain_buffer& active) { return active.get(); });
    }
    [[gnu::noinline]] void fill(unsigned i, const char* from, unsigned count) {
        this->all_[i].transact([=](plain_buffer& active) { active.fill(from, count); });
    }
    [[gnu::noinline]] void drain(unsigned i, char* to, unsigned count) {
        this->all_[i].transact([=](plain_buffer& active) { active.drain(to, count); });
    }
};

#if HOLDFAST_HAS_WOVEN_BUFFER
struct alignas(64) woven_line {
    woven_line() { workload::woven_buffer_construct(bytes); }
    unsigned char bytes[64];
};

class woven_buffers : public nvram_buffers<woven_line> {
public:
    using nvram_buffers::nvram_buffers;

    void reset() {
        for (unsigned i = 0; i < buffers_at_once; ++i) workload::woven_buffer_reset(&all_[i]);
    }
    void add(unsigned i, char byte) { workload::woven_buffer_add(&all_[i], byte); }
    char get(unsigned i) { return workload::woven_buffer_get(&all_[i]); }
    void fill(unsigned i, const char* from, unsigned count) { workload::woven_buffer_fill(&all_[i], from, count); }
    void drain(unsigned i, char* to, unsigned count) { workload::woven_buffer_drain(&all_[i], to, count); }
};
#endif

/// Members that are fields of a redo pool. A truncation that falls into a reset is not timed; few do, for a reset is
/// one record where the scenarios write thousands.
class redo_buffers {
    template <class T>
    using member = basic_field<redo, T>;
    struct buffers {
        bounded_buffer<member> all[buffers_at_once];
    };

public:
    redo_buffers(const setting& where, scratch& space)
        : pool_(space.path(where.medium, "redo"), where, (16u << 20) + where.log_bytes, [](basic_pool<redo>&) {}),
          all_(pool_.pool().root<buffers>("buffers").value()->all) {}

    void reset() {
        transact([&] {
            for (unsigned i = 0; i < buffers_at_once; ++i) all_[i].reset();
        });
    }
    [[gnu::noinline]] void add(unsigned i, char byte) {
        transact([&] { all_[i].add(byte); });
    }
    [[gnu::noinline]] char get(unsigned i) {
        char byte = 0;
        transact([&] { byte = all_[i].get(); });
        return byte;
    }
    [[gnu::noinline]] void fill(unsigned i, const char* from, unsigned count) {
        transact([&] { all_[i].fill(from, count); });
    }
    [[gnu::noinline]] void drain(unsigned i, char* to, unsigned count) {
        transact([&] { all_[i].drain(to, count); });
    }
    std::uint64_t truncations() { return pool_.log_truncations(); }

private:
    template <class F>
    void transact(F&& f) {
        pool_.pool().atomically(std::forward<F>(f)).value();
    }

    bench_pool<redo> pool_;
    bounded_buffer<member>* all_;
};

struct alignas(64) bare_line {
    std::uint64_t words[8] = {};
};

class floor_buffers : public nvram_buffers<bare_line> {
public:
    using nvram_buffers::nvram_buffers;

    void reset() noexcept {}
    /// Another line each time, because the least is asked for: one that was written back a moment ago takes longer.
    [[gnu::noinline]] void add(unsigned, char byte) {
        bare_line& next = all_[next_++ % buffers_at_once];
        persist::store_word(next.words, static_cast<unsigned char>(byte), 0xFF, persist::site::measure);
        persist::write_back_one(memory_.path(), &next, persist::site::measure);
        persist::fence(memory_.path(), persist::site::measure);
    }
    char get(unsigned) const noexcept { return 0; }
    void fill(unsigned, const char*, unsigned) const noexcept {}
    void drain(unsigned, char*, unsigned) const noexcept {}

private:
    unsigned next_ = 0;
};

template <class Buffers>
class buffer_contestant final : public contestant {
public:
    buffer_contestant(const setting& where, scratch& space) : buffers_(where, space) {}

    batch run(const std::string& name, std::uint64_t transactions) override {
        const scenario which = scenario_named(name).value_or(scenario::one);
        if constexpr (requires { buffers_.truncations(); }) {
            const std::uint64_t before = buffers_.truncations();
            batch done = run_scenario(buffers_, which, transactions);
            done.spent->has_log = true;
            done.spent->truncations = buffers_.truncations() - before;
            return done;
        } else {
            const line_commits as_asked = buffers_.commits();
            return run_scenario(buffers_, which, transactions);
        }
    }

private:
    Buffers buffers_;
};

}  // namespace

std::vector<std::string> buffer_engines() {
    return {
        "plain",
#if HOLDFAST_HAS_WOVEN_BUFFER
        "woven",
#endif
        "line",  "lines", "redo",
    };
}

std::unique_ptr<contestant> make_buffers(const std::string& engine, const setting& where, scratch& space) {
#if HOLDFAST_HAS_WOVEN_BUFFER
    if (engine == "woven") return std::make_unique<buffer_contestant<woven_buffers>>(where, space);
#endif
    if (engine == "plain") return std::make_unique<buffer_contestant<plain_buffers>>(where, space);
    if (engine == "redo") return std::make_unique<buffer_contestant<redo_buffers>>(where, space);
    if (engine == "lines")
        return std::make_unique<buffer_contestant<line_buffers<lines<plain_buffer>>>>(where, space);
    return std::make_unique<buffer_contestant<line_buffers<line<plain_buffer>>>>(where, space);
}

std::unique_ptr<contestant> make_buffer_floor(scratch& space) {
    return std::make_unique<buffer_contestant<floor_buffers>>(setting{}, space);
}

}  // namespace holdfast::bench
