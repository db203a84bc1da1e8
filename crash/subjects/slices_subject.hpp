// What subjects share whose two threads have a slice each of one object, with words and a block of its own. Recovered
// in memory. Instrumented, as what it is made of.
#pragma once

#include <crash/cut/randomness.hpp>
#include <crash/record/recorder.hpp>
#include <crash/subjects/interleaved_subject.hpp>

#include <holdfast/handle/pool.hpp>

#include <optional>
#include <string>
#include <utility>
#include <vector>

namespace holdfast::crash {

/// Count slices, of which each thread has the one of its number. A Slice has a `block` and
///   void add_words(contents& to) const   the rest of what must be in it.
template <class Engine, class Slice, std::size_t Count>
class slices_subject : public interleaved_subject<> {
public:
    std::string_view engine() const final { return Engine::description.name; }

protected:
    using pool = basic_pool<Engine>;
    struct shared {
        Slice slices[Count];
        template <class F>
        void visit_blocks(F&& f) const {
            for (const Slice& each : slices)
                if (each.block.get() != nullptr) f(each.block.get());
        }
    };

    /// With records that go to the log that way.
    explicit slices_subject(persist::record_way records, std::vector<std::string_view> operations,
                            std::size_t beginnings = 1)
        : interleaved_subject(std::move(operations), beginnings), records_(records) {}
    bool writes_records_back() const { return records_ == persist::record_way::written_back; }

    /// Each operation once, before anything is recorded.
    virtual void prepare(pool& in) = 0;

    std::optional<std::string> check_pool(const open_pool& recovered, const progress& made) final {
        const auto roots = list_roots(recovered);
        if (!roots) return "the roots are damaged: " + roots.error().text();
        if (auto wrong = expected_.judge(found(), made)) return wrong;
        return audit_heap(recovered, *roots, *root_);
    }
    contents found() const final {
        contents all;
        for (const Slice& each : root_->slices) {
            const contents part = contents_of(each);
            all.insert(all.end(), part.begin(), part.end());
        }
        return all;
    }
    static contents contents_of(const Slice& from) {
        contents all;
        from.add_words(all);
        all.push_back(from.block.get() == nullptr ? 0 : read_value<Engine>(from.block.get()));
        return all;
    }

    /// What it frees first, a thread that may reuse it at once would overwrite.
    static void replace_block(Slice& in, std::uint64_t value) {
        Engine::deallocate(in.block.get());
        in.block = Engine::template make<const std::uint64_t>(value);
    }

    /// Whether the pacer's rounds take many steps, of whichever thread comes: not one behind each commit.
    virtual bool shares_steps() const { return false; }

    pool make_pool(const model& how) {
        randomness.seed(0);
        const std::string path = recorded_path();
        create_options options = recorded_pool_options(how);
        options.records = records_;
        if (shares_steps()) {
            options.pace.percent = 50;
            stand_ins_now.pace_share = 1;
        }
        auto made = pool::create(path, options).value();
        ::unlink(path.c_str());
        root_ = made.template root<shared>(explored_root).value();
        prepare(made);
        return made;
    }
    /// Records run(i) for each operation, from what is in the pool now.
    template <class F>
    trace record_in(pool& recorded, const workload& operations, const model& how, const schedule& order, F&& run) {
        remember(recorded.core(), how);
        std::vector<contents> first;
        for (const Slice& each : root_->slices) first.push_back(contents_of(each));
        expected_.begin(first);
        recorder seen({recorded.core().medium(), recorded.core().size()});
        run_interleaved(operations, order, [&](std::size_t i) {
            seen.operation_begins();
            run(i);
            seen.operation_done();
        });
        return seen.take().value();
    }

    shared* root_ = nullptr;

private:
    persist::record_way records_;
};

}  // namespace holdfast::crash
