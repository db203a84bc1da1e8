// Every function of the C interface, while one allocation or one system call in it fails.
#include <holdfast/handle/failing_rows_test_support.hpp>

#include <holdfast/c/wrap.h>

#include <cstring>

namespace holdfast::test {
namespace {

constexpr std::size_t word_count = 600;

outcome outcome_of_status(int status) {
    if (status == HOLDFAST_OK) return {};
    if (status == HOLDFAST_INVALID_ARGUMENT && std::strcmp(holdfast_last_error(), "no memory") == 0) return {{}, true};
    error reason{.code = static_cast<errc>(status - 1)};
    reason.what = holdfast_last_error();
    return {reason};
}
void require(int status) {
    if (status != HOLDFAST_OK) throw std::runtime_error(holdfast_last_error());
}

/// Where a C program's pool is.
struct place_in_c {
    const char* name;
    const char* engine;
    bool is_nvram;
    bool is_at_power;
};
constexpr place_in_c in_memory[] = {{"nvram at power", "softwrap_lat", true, true},
                                    {"nvram at power", "softwrap", true, true},
                                    {"tmpfs at process", "softwrap", false, false}};
constexpr place_in_c on_disk[] = {{"a file at power", "softwrap_lat", false, true},
                                  {"a file at power", "softwrap", false, true}};

/// What a row works on: a pool, and words in it of which the last is what goes on, and the one before names a block.
struct scene {
    std::string path;
    holdfast_options options{};
    holdfast_pool* pool = nullptr;
    std::uint64_t* words = nullptr;

    void find() {
        void* root = nullptr;
        require(holdfast_root(pool, "words", word_count * 8, "1", &root));
        words = static_cast<std::uint64_t*>(root);
    }
    void open() {
        if (pool != nullptr) return;
        require(holdfast_open_or_create(path.c_str(), &options, &pool));
        find();
    }
    void close() { require(holdfast_close(std::exchange(pool, nullptr))); }
    /// By a process that then dies; what it stored is in no `contents`.
    void kill() {
        close();
        const int killed = persist::test::run_in_child([&] {
            open();
            return store(word_count - 1, 2).well() ? 0 : 1;
        });
        if (!persist::test::exited_with(killed, 0)) throw std::runtime_error("the process that was to die did not");
    }
    /// One wrap by f; it is aborted where f fails.
    template <class F>
    outcome wrapped(F&& f) {
        wrap_id id = nullptr;
        if (const int status = OpenWrap(pool, &id); status != HOLDFAST_OK) return outcome_of_status(status);
        if (const int status = f(id); status != HOLDFAST_OK) {
            auto said = outcome_of_status(status);
            AbortWrap(id);
            return said;
        }
        return outcome_of_status(CloseWrap(id));
    }
    int store_in(wrap_id id, std::size_t index, std::uint64_t value) const {
        return wrapStore(id, words + index, &value, sizeof value);
    }
    outcome store(std::size_t index, std::uint64_t value) {
        return wrapped([&](wrap_id id) { return store_in(id, index, value); });
    }
    std::uint64_t word(const std::uint64_t* at) {
        std::uint64_t value = 0;
        wrap_id id = nullptr;
        require(OpenWrap(pool, &id));
        require(wrapLoad(id, at, &value, sizeof value));
        require(AbortWrap(id));
        return value;
    }
};

/// One row of the table: what is done to the pool before, and the call.
struct row {
    const char* name;
    std::function<void(scene&)> ready;
    std::function<outcome(scene&)> call;
    bool makes = true;
};

class c_attempt : public attempt {
public:
    c_attempt(const row& what, const place_in_c& where, const std::string& directory)
        : attempt(std::string("C, ") + where.engine + ", " + where.name + ", " + what.name), row_(what), where_(where) {
        scene_.path = directory + "/pool";
        scene_.options.bytes = 1 << 20;
        scene_.options.at_process = where.is_at_power ? 0 : 1;
        scene_.options.tmpfs_is_nvram = where.is_nvram ? 1 : 0;
        scene_.options.engine = where_.engine;
    }
    void prepare() override {
        if (!row_.makes) return;
        scene_.open();
        const auto said = scene_.wrapped([&](wrap_id id) {
            void* block = nullptr;
            int status = wrapAllocate(id, 64, &block);
            const auto named = reinterpret_cast<std::uint64_t>(block);
            if (status == HOLDFAST_OK) status = scene_.store_in(id, word_count - 2, named);
            for (std::size_t i = 0; status == HOLDFAST_OK && i < 8; ++i) status = scene_.store_in(id, i, i + 1);
            return status;
        });
        if (!said.well()) throw std::runtime_error(said.text());
    }
    void grow_old(std::uint64_t seed) override {
        if (!row_.makes) return;
        std::mt19937_64 random(seed);
        for (std::uint64_t left = random() % 16; left != 0; --left) {
            if (random() % 8 == 0) scene_.kill();
            scene_.open();
            const auto said = scene_.store(random() % (word_count - 2), random());
            if (!said.well()) throw std::runtime_error(said.text());
        }
    }
    void make_ready() override { row_.ready(scene_); }
    outcome call() override { return row_.call(scene_); }
    std::string contents() override {
        if (!std::filesystem::exists(scene_.path)) return "nothing";
        scene_.open();
        std::uint64_t all = 0;
        for (std::size_t i = 0; i < word_count - 2; ++i) all = all * 31 + scene_.word(scene_.words + i);
        return std::to_string(all) + " " + std::to_string(scene_.word(scene_.words + 3));
    }
    outcome go_on() override {
        if (scene_.pool == nullptr) return {};
        return scene_.store(word_count - 1, 1);
    }
    bool has_log_on_file() const override { return where_.is_at_power && !where_.is_nvram; }
    outcome end() override {
        if (scene_.pool == nullptr) return {};
        return outcome_of_status(holdfast_close(std::exchange(scene_.pool, nullptr)));
    }
    std::string check() override { return problems_of(scene_.path); }

private:
    row row_;
    place_in_c where_;
    scene scene_;
};

/// What was opened is looked into and closed later.
outcome keep(scene& in, int status) {
    auto said = outcome_of_status(status);
    const bool armed = std::exchange(this_thread_fails.armed, false);
    if (in.pool != nullptr) in.find();
    this_thread_fails.armed = armed;
    return said;
}
outcome opens(scene& in) { return keep(in, holdfast_open(in.path.c_str(), &in.options, &in.pool)); }
outcome opens_or_creates(scene& in) {
    return keep(in, holdfast_open_or_create(in.path.c_str(), &in.options, &in.pool));
}

void opened(scene&) {}
void closed(scene& in) { in.close(); }
void killed(scene& in) { in.kill(); }

std::vector<row> rows_of_pools() {
    return {
        {"holdfast_open_or_create of nothing", opened, opens_or_creates, false},
        {"holdfast_open_or_create of a pool", closed, opens_or_creates},
        {"holdfast_open", closed, opens},
        {"holdfast_open after a kill", killed, opens},
        {"holdfast_close", opened,
         [](scene& in) { return outcome_of_status(holdfast_close(std::exchange(in.pool, nullptr))); }},
        {"holdfast_root of a new one", opened,
         [](scene& in) {
             void* root = nullptr;
             return outcome_of_status(holdfast_root(in.pool, "other", 5000, "1", &root));
         }},
        {"holdfast_root that is there", opened,
         [](scene& in) {
             void* root = nullptr;
             return outcome_of_status(holdfast_root(in.pool, "words", word_count * 8, "1", &root));
         }},
    };
}

std::vector<row> rows_of_wraps() {
    return {
        {"a small wrap", opened, [](scene& in) { return in.store(3, 34); }},
        {"a long wrap", opened,
         [](scene& in) {
             return in.wrapped([&](wrap_id id) {
                 int status = HOLDFAST_OK;
                 for (std::size_t i = 0; status == HOLDFAST_OK && i < word_count - 2; ++i)
                     status = in.store_in(id, i, 7 * i);
                 return status;
             });
         }},
        {"a wrap with a block", opened,
         [](scene& in) {
             return in.wrapped([&](wrap_id id) {
                 std::uint64_t before = 0;
                 void* block = nullptr;
                 int status = wrapLoad(id, in.words + word_count - 2, &before, sizeof before);
                 if (status == HOLDFAST_OK) status = wrapFree(id, reinterpret_cast<void*>(before));
                 if (status == HOLDFAST_OK) status = wrapAllocate(id, 40'000, &block);
                 if (status == HOLDFAST_OK) status = wrapStore(id, block, "text", 5);
                 const auto named = reinterpret_cast<std::uint64_t>(block);
                 if (status == HOLDFAST_OK) status = in.store_in(id, word_count - 2, named);
                 return status == HOLDFAST_OK ? in.store_in(id, 3, 35) : status;
             });
         }},
        {"AbortWrap", opened,
         [](scene& in) {
             wrap_id id = nullptr;
             if (const int status = OpenWrap(in.pool, &id); status != HOLDFAST_OK) return outcome_of_status(status);
             const auto said = outcome_of_status(in.store_in(id, 3, 36));
             const auto aborted = outcome_of_status(AbortWrap(id));
             return said.well() ? aborted : said;
         }},
    };
}

/// As known for wraps in C++: the first wrap of a thread has a thread_local.
constexpr std::array known{
    known_failure{"C, ", "calloc", "", "the C library ends the process where a thread_local finds no memory"},
};

std::vector<attempt_of_directory> attempts(const std::vector<row>& rows, std::span<const place_in_c> where) {
    std::vector<attempt_of_directory> all;
    for (const place_in_c& at : where)
        for (const row& each : rows)
            all.push_back(
                [=](const std::string& directory) { return std::make_unique<c_attempt>(each, at, directory); });
    return all;
}

TEST(FailingCallsInC, PoolsLoseNothing) { run_rows(attempts(rows_of_pools(), in_memory), known); }

TEST(FailingCallsInC, WrapsLoseNothing) { run_rows(attempts(rows_of_wraps(), in_memory), known); }

TEST(FailingCallsInC, WrapsOnAFileAtPowerLoseNothing) { run_rows(attempts(rows_of_wraps(), on_disk), known, "."); }

TEST(FailingCallsInC, FailuresByChanceInPoolsWithAPastLoseNothing) {
    auto all = attempts(rows_of_pools(), in_memory);
    for (auto& each : attempts(rows_of_wraps(), in_memory)) all.push_back(std::move(each));
    run_rows_by_chance(all, 30'000, known);
}

}  // namespace
}  // namespace holdfast::test
