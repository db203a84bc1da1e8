// Objects in lines in an ordinary file at level `power`: their commits go through the log, and images are opened as a
// program opens a pool, and used afterwards. Instrumented.
#pragma once

#include <crash/cut/randomness.hpp>
#include <crash/record/seam_recorder.hpp>
#include <crash/subjects/inspect.hpp>
#include <crash/subjects/lines_subject.hpp>
#include <crash/subjects/recorded_file.hpp>

#include <holdfast/handle/line_pool.hpp>

#include <iterator>
#include <optional>
#include <string>
#include <utility>

namespace holdfast::crash {

/// `Of` as of lines_subject.
template <class Of>
class lines_file_subject final : public pool_subject {
public:
    std::string_view engine() const override { return Of::engine; }
    std::string_view name() const override { return Of::name; }
    bool knows(const model& how) const override { return how.is_file; }
    bool has_lives() const override { return true; }
    unsigned universe() const override { return std::size(Of::operations); }
    std::string describe(unsigned operation) const override { return std::string(Of::operations[operation]); }
    std::string image_path() const override { return path_of_images(); }

    trace record(const workload& operations, const model& how, std::size_t) override {
        options_ = recorded_pool_options(how);
        randomness.seed(0);
        set_boot(0);
        const std::string path = recorded_path();
        pool_.emplace(line_pool::create(path, options_).value());
        root_ = pool_->root<typename Of::container>(explored_root).value();
        pool_->core().checkpoint().value();
        trace recorded;
        {
            seam_recorder seen(base(), file_now(pool_->core(), size()));
            run_on_lines<Of>(*root_, operations, seen, expected_);
            pool_->core().checkpoint().value();
            recorded = std::move(seen.recorded());
        }
        close();
        ::unlink(path.c_str());
        set_boot(1);
        return recorded;
    }

    std::optional<std::string> recover(const lazy_memory&) override {
        auto opened = line_pool::open(image_path(), options_);
        if (!opened) return "opening refuses: " + opened.error().text();
        pool_.emplace(std::move(*opened));
        auto found = pool_->root<typename Of::container>(explored_root);
        if (!found) return "the root is lost: " + found.error().text();
        root_ = *found;
        return {};
    }
    std::optional<std::string> check(const progress& made) override {
        return expected_.judge(Of::contents_of(*root_), made);
    }

    bool has_promised(const progress& made) const override { return made.is_at_rest(); }
    recovered_pool recovered() override { return recovered_of(Of::contents_of(*root_)); }

    trace enter_recovery(const lazy_memory& image, const progress& made, bool killed,
                         const workload* life) override {
        randomness.seed(expected_.recoveries() + 1);
        set_boot(killed ? 0 : 1);
        trace recorded;
        contents before;
        std::vector<contents> afterwards;
        {
            seam_recorder seen(base(), image.bytes());
            seen.operation_begins(thread_afterwards);
            const bool is_open = !recover(image);
            seen.operation_done(thread_afterwards);
            if (is_open) {
                before = Of::contents_of(*root_);
                afterwards = live_on_lines<Of>(*root_, life, seen);
            }
            recorded = std::move(seen.recorded());
        }
        expected_.enter_recovery(before, made, killed);
        for (contents& each : afterwards) expected_.add_afterwards(std::move(each));
        set_boot(1);
        return recorded;
    }
    void close() override {
        if (pool_) pool_->abandon();
        pool_.reset();
    }

private:
    create_options options_;
    std::optional<line_pool> pool_;
    typename Of::container* root_ = nullptr;
};

}  // namespace holdfast::crash
