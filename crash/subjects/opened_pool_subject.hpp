// What subjects share whose pool is opened from images as a program opens it, with one type of engine. Instrumented: it
// runs recovery.
#pragma once

#include <crash/cut/randomness.hpp>
#include <crash/record/seam_recorder.hpp>
#include <crash/subjects/in_memory_subject.hpp>
#include <crash/subjects/recorded_file.hpp>

#include <holdfast/handle/pool.hpp>

#include <optional>
#include <string>
#include <utility>
#include <vector>

namespace holdfast::crash {

template <class Engine>
class opened_pool_subject : public pool_subject {
public:
    std::string_view engine() const final { return Engine::description.name; }
    std::string image_path() const final { return path_of_images(); }

    std::optional<std::string> recover(const lazy_memory& image) final {
        if (!image.is_named()) return "the file has no name";
        auto opened = pool::open(image_path(), options_);
        if (!opened) return "opening refuses: " + opened.error().text();
        pool_.emplace(std::move(*opened));
        return {};
    }
    void leave_recovery() final {
        boots_.pop_back();
        set_boot(boot_after_cut());
        pool_subject::leave_recovery();
    }
    void close() final {
        if (pool_) pool_->abandon();
        pool_.reset();
    }

protected:
    using pool = basic_pool<Engine>;

    /// A power cut is followed by another boot.
    unsigned boot_after_cut() const { return boots_.back() + (durable_at_once_ ? 0 : 1); }

    /// Before a pool of `options_` is created at `path_`.
    void begin_recording(const model& how) {
        randomness.seed(0);
        durable_at_once_ = how.writes_are_durable;
        boots_.assign(1, 0);
        set_boot(0);
        options_ = recorded_pool_options(how);
        path_ = recorded_path();
    }
    void end_recording() {
        close();
        ::unlink(path_.c_str());
        set_boot(boot_after_cut());
    }
    /// What `live(seam_recorder&)` does after the recovery that has begun.
    template <class F>
    trace record_recovery_of(const lazy_memory& image, bool killed, F&& live) {
        randomness.seed(expected_.recoveries() + 1);
        boots_.push_back(killed ? boots_.back() : boot_after_cut());
        set_boot(boots_.back());
        trace recorded;
        {
            seam_recorder seen(base(), image.bytes());
            seen.stores_reach_file(false);
            live(seen);
            recorded = std::move(seen.recorded());
        }
        set_boot(boot_after_cut());
        return recorded;
    }

    std::optional<pool> pool_;
    create_options options_;
    std::string path_;
    bool durable_at_once_ = false;

private:
    std::vector<unsigned> boots_;
};

}  // namespace holdfast::crash
