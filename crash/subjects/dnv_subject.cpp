// A list in a dnv pool, with static variables, opened as a program opens it, and used afterwards. Instrumented: it runs
// recovery.
//
// One dnv pool is open in a process at a time, so an image is closed before the next one is opened.
#include <crash/subjects/dnv_list.hpp>
#include <crash/subjects/recorded_file.hpp>
#include <crash/subjects/subjects_dnv.hpp>

#include <crash/cut/randomness.hpp>
#include <crash/record/seam_recorder.hpp>
#include <crash/subjects/dnv_state.hpp>
#include <crash/subjects/in_memory_subject.hpp>
#include <crash/subjects/power_fail.hpp>

#include <holdfast/dnv/opening.hpp>
#include <holdfast/dnv/space.hpp>

#include <iterator>
#include <optional>
#include <string>
#include <utility>

namespace holdfast::crash {
namespace {

constexpr std::string_view operations_of_list[] = {"push",  "pop",  "push a large one", "replace parts",
                                                   "rotate", "push and cancel", "close and open", "drop and open"};
enum class operation : unsigned { push, pop, push_large, replace, rotate, cancel, close_and_open, drop_and_open };

/// Tells the image of stores that the compiler does not instrument, while recovery is not recorded.
class untold_stores final : public persist::observer {
public:
    untold_stores() : before_(persist::observe(nullptr)) { persist::observe(before_ != nullptr ? before_ : this); }
    ~untold_stores() override { persist::observe(before_); }
    untold_stores(const untold_stores&) = delete;
    untold_stores& operator=(const untold_stores&) = delete;

    void store(const void* home, std::size_t size, persist::site_id) override { tell(home, size); }
    void stream(const void* home, std::size_t size, persist::site_id) override { tell(home, size); }
    void write_back(const void*, std::size_t, persist::site_id) override {}
    void before_fence(persist::site_id) override {}
    void after_fence(persist::site_id) override {}
    void file_write(std::uint64_t, const void*, std::size_t, bool, persist::site_id) override {}
    void file_sync(persist::site_id) override {}

private:
    static void tell(const void* home, std::size_t size) {
        if (instrumented_memory != nullptr) instrumented_memory->write(home, size);
    }
    persist::observer* before_;
};

/// Begins with a pool that has a list, or with one that dnv opens for the first time.
class dnv_subject final : public pool_subject {
public:
    explicit dnv_subject(bool is_first_opening) : is_first_opening_(is_first_opening) {}

    std::string_view engine() const override { return dnv::engine::description.name; }
    std::string_view name() const override { return is_first_opening_ ? "first_opening" : "list"; }
    /// A first opening stores thousands of zeros: each would be a cut where stores are durable.
    bool knows(const model& how) const override {
        return how.is_file || !(is_first_opening_ && (how.stores_are_durable || how.is_saved));
    }
    bool has_lives() const override { return !is_first_opening_; }
    unsigned universe() const override { return is_first_opening_ ? 1 : std::size(operations_of_list); }
    unsigned longest_workload(unsigned wanted) const override { return is_first_opening_ ? 1 : wanted; }
    /// Each is opened, and every word of it is looked at.
    std::uint64_t images_of_a_cut() const override { return 48; }
    std::uint64_t nested_less_often() const override { return is_first_opening_ ? 64 : 16; }
    std::string describe(unsigned each) const override { return std::string(operations_of_list[each]); }
    /// Header, directory, static variables and four chunks.
    static constexpr std::size_t pool_bytes = 768 << 10;
    std::size_t size() const override { return pool_bytes + shadow_bytes_; }
    std::string image_path() const override { return path_of_images(); }

    trace record(const workload& operations, const model& how, std::size_t) override {
        const closed_afterwards afterwards(*this);
        durable_at_once_ = how.writes_are_durable;
        how_ = how;
        shadow_bytes_ = 0;
        boots_.assign(1, 0);
        options_ = recorded_pool_options(how);
        options_.bytes = options_.reserved_bytes = pool_bytes;
        if (how.is_saved && !handler_) handler_.emplace();
        if (!how.is_saved) handler_.reset();
        randomness.seed(0);
        set_boot(0);
        path_ = recorded_path();
        auto made = dnv::engine::pool::create(path_, options_).value();
        trace recorded = is_first_opening_ ? record_opening(std::move(made), operations)
                                           : record_use(std::move(made), operations);
        close();
        ::unlink(path_.c_str());
        set_boot(boot_after_cut());
        return recorded;
    }

    std::optional<std::string> recover(const lazy_memory&) override {
        const untold_stores told;
        path_ = image_path();
        if (how_.is_saved) forget_shadow_of(path_);
        auto opened = dnv::engine::pool::open(path_, options_);
        // Cut short, a save is none.
        is_refused_ = is_saving_ && !opened && opened.error().code == errc::not_durable;
        if (is_refused_) return {};
        if (!opened) return "opening refuses: " + opened.error().text();
        if (auto taken = dnv::take_over(std::move(*opened), true); !taken)
            return "dnv refuses: " + taken.error().text();
        return {};
    }

    std::optional<std::string> check(const progress& made) override {
        if (is_refused_ && made.done[thread_afterwards] == 0) return {};
        if (is_refused_) return "opening refuses what was saved";
        const dnv_state now = look_at_dnv_list();
        if (now.wrong) return now.wrong;
        if (auto wrong = expected_.judge(now.all, made)) return wrong;
        return wrong_in_dnv_pool(now);
    }

    bool has_promised(const progress& made) const override {
        return !durable_at_once_ && !how_.is_saved && made.is_at_rest();
    }
    recovered_pool recovered() override {
        const open_pool& core = pool();
        return recovered_of({core.base(), core.size()}, {core.zones().begin(), core.zones().end()});
    }

    trace enter_recovery(const lazy_memory& image, const progress& made, bool killed, const workload* life) override {
        if (how_.is_saved) {
            is_saving_ = true;
            return record_save(image_path(), base(), pool_bytes, image);
        }
        randomness.seed(expected_.recoveries() + 1);
        // What a kill left is opened in the same boot.
        boots_.push_back(killed ? boots_.back() : boot_after_cut());
        set_boot(boots_.back());
        trace recorded;
        {
            seam_recorder seen(base(), image.bytes());
            seen.operation_begins(thread_afterwards);
            const bool is_open = !recover(image);
            seen.operation_done(thread_afterwards);
            expected_.enter_recovery(is_open ? contents_now() : contents{}, made, killed);
            if (is_open) run(life != nullptr ? *life : workload{static_cast<unsigned>(operation::push)}, seen);
            recorded = std::move(seen.recorded());
        }
        set_boot(boot_after_cut());
        return recorded;
    }
    void leave_recovery() override {
        if (std::exchange(is_saving_, false)) return;
        boots_.pop_back();
        set_boot(boot_after_cut());
        pool_subject::leave_recovery();
    }
    void close() override { dnv::abandon(); }

private:
    class closed_afterwards {
    public:
        explicit closed_afterwards(dnv_subject& what) : what_(what) {}
        ~closed_afterwards() { what_.close(); }
        closed_afterwards(const closed_afterwards&) = delete;
        closed_afterwards& operator=(const closed_afterwards&) = delete;

    private:
        dnv_subject& what_;
    };

    static open_pool& pool() { return *dnv::the_space.pool; }
    bool is_first_life() const { return boots_.size() == 1; }
    /// A power cut is followed by another boot.
    unsigned boot_after_cut() const { return boots_.back() + (durable_at_once_ ? 0 : 1); }

    static contents contents_now() {
        dnv_state now = look_at_dnv_list();
        if (now.wrong) throw failure(error{.code = errc::corrupt, .what = *now.wrong});
        return std::move(now.all);
    }

    trace record_use(dnv::engine::pool made, const workload& operations) {
        dnv::take_over(std::move(made), true).value();
        prepare();
        expected_.begin(contents_now());
        seam_recorder seen(base(), image_now());
        run(operations, seen);
        pool().checkpoint().value();
        return std::move(seen.recorded());
    }
    std::vector<std::byte> image_now() {
        if (!how_.is_saved) return file_now(pool(), size());
        shadow_bytes_ = shadow_bytes(pool());
        return file_and_shadow_now(pool());
    }
    trace record_opening(dnv::engine::pool made, const workload& operations) {
        const contents initial{0, 0, 0, operations_at_first};
        expected_.begin(initial);
        made.checkpoint().value();
        seam_recorder seen(base(), file_now(made.core(), size()));
        seen.operation_begins();
        dnv::take_over(std::move(made), true).value();
        seen.operation_done();
        expected_.add(initial);
        run(operations, seen);
        return std::move(seen.recorded());
    }

    /// Free blocks, unused ones, and one that is left of a chunk. The first node is a small one.
    void prepare() {
        dnv_push(1, large_node_bytes);
        for (const std::uint64_t value : {2u, 3u, 4u}) dnv_push(value, small_node_bytes);
        dnv_pop();
        pool().checkpoint().value();
    }

    void run(const workload& operations, seam_recorder& seen) {
        const unsigned thread = is_first_life() ? 0 : thread_afterwards;
        dnv_model model(contents_now());
        for (std::size_t i = 0; i < operations.size(); ++i) {
            if (is_first_life() && !is_first_opening_ && i + 1 == operations.size()) seen.explore_from_here();
            const std::uint64_t value = 10'000 * (boots_.size() - 1) + 100 * (i + 1) + operations[i];
            seen.operation_begins(thread);
            apply(static_cast<operation>(operations[i]), value, model);
            seen.operation_done(thread);
            contents next = model.all();
            if (contents_now() != next) throw failure(error{.code = errc::misuse, .what = "it does another thing"});
            if (is_first_life()) {
                expected_.add(std::move(next));
            } else {
                expected_.add_afterwards(std::move(next));
            }
        }
    }

    void apply(operation which, std::uint64_t value, dnv_model& model) {
        switch (which) {
            case operation::push: return dnv_push(value, small_node_bytes), model.push(value, small_node_bytes);
            case operation::pop: return dnv_pop(), model.pop();
            case operation::push_large: return dnv_push(value, large_node_bytes), model.push(value, large_node_bytes);
            case operation::replace: return dnv_replace(value), model.replace(value);
            case operation::rotate: return dnv_rotate(value), model.rotate(value);
            case operation::cancel: return dnv_push_and_cancel(value);
            case operation::close_and_open:
            case operation::drop_and_open: return open_again(which == operation::close_and_open);
        }
    }

    void open_again(bool closes) {
        if (closes) pool().checkpoint().value();
        dnv::abandon();
        auto opened = dnv::engine::pool::open(path_, options_).value();
        dnv::take_over(std::move(opened), true).value();
    }

    bool is_first_opening_;
    create_options options_;
    std::string path_;
    bool durable_at_once_ = false;
    model how_ = models[0];
    std::optional<armed_for_all> handler_;  ///< where a handler saves
    std::size_t shadow_bytes_ = 0;
    bool is_saving_ = false;
    bool is_refused_ = false;
    std::vector<unsigned> boots_{0};  ///< of the first life, and of each that follows a recovery
};

}  // namespace

void add_subjects_of_dnv(std::vector<std::unique_ptr<subject>>& all) {
    all.push_back(std::make_unique<dnv_subject>(false));
    all.push_back(std::make_unique<dnv_subject>(true));
}

}  // namespace holdfast::crash
