// One engine with one container as a subject. Instrumented: it runs recovery and reads its result.
#pragma once

#include <crash/containers.hpp>
#include <crash/recorder.hpp>
#include <crash/subject.hpp>

#include <holdfast/engine/pool.hpp>
#include <holdfast/log/replay.hpp>
#include <holdfast/pool/opener.hpp>

#include <unistd.h>

#include <optional>
#include <string>
#include <vector>

namespace holdfast::crash {

template <class Engine, class Of>
class subject_of final : public subject {
public:
    std::string_view engine() const override { return Engine::description.name; }
    std::string_view name() const override { return Of::name; }
    unsigned universe() const override { return Of::universe; }
    std::string describe(unsigned operation) const override { return Of::describe(operation); }

    trace record(const workload& operations, const model& how) override {
        persists_ = !how.streams_are_durable;
        create_options options;
        options.durability = persists_ ? level::power : level::process;
        options.tmpfs_is_nvram = true;
        options.bytes = size();
        options.log_bytes = 64 << 10;
        options.reserved_bytes = size();
        options.base = pool_base;
        const std::string path = "/dev/shm/holdfast-crash-" + std::to_string(::getpid());
        ::unlink(path.c_str());
        auto pool = basic_pool<Engine>::create(path, options).value();
        // Mapped it lives on.
        ::unlink(path.c_str());
        const auto info = pool.info();
        geometry_ = {format::log_offset, info.log_bytes, info.segment_bytes};
        zones_.assign(pool.core().zones().begin(), pool.core().zones().end());
        info_ = info;
        root_ = pool.template root<typename Of::container>("explored").value();
        pool.atomically([&] { Of::prepare(*root_); }).value();
        pool.checkpoint().value();
        roots_ = pool.roots().value().size();

        states_.clear();
        typename Of::ordinary expected{};
        Of::prepare(expected);
        states_.push_back(Of::of(expected));
        recorder seen({pool.core().base(), pool.core().size()});
        for (std::size_t i = 0; i < operations.size(); ++i) {
            const std::uint64_t value = 100 * (i + 1) + operations[i];
            seen.operation_begins();
            pool.atomically([&] { Of::apply(*root_, operations[i], value); }).value();
            seen.operation_done();
            Of::apply(expected, operations[i], value);
            states_.push_back(Of::of(expected));
        }
        pool.checkpoint().value();
        trace recorded = seen.take();
        pool.abandon();
        return recorded;
    }

    std::byte* base() const override { return reinterpret_cast<std::byte*>(pool_base); }
    std::size_t size() const override { return 256 << 10; }

    std::optional<std::string> recover() override {
        const std::span<std::byte> bytes(base(), size());
        auto replay = log_replay::read(bytes, geometry_);
        if (!replay) return "recovery refuses: " + replay.error().text();
        finish_in_place(*replay, bytes, geometry_, persists_, {});
        return {};
    }

    std::optional<std::string> check(std::size_t done, std::size_t begun) override {
        const std::span<std::byte> bytes(base(), size());
        if (auto heap = heap::open(base(), zones_); !heap) return "the heap refuses: " + heap.error().text();
        const auto view = pool_opener::over(bytes, info_, zones_);
        const auto roots = list_roots(*view);
        if (!roots) return "the roots are damaged: " + roots.error().text();
        if (roots->size() != roots_) return "a root is lost";
        if (auto sound = root_->check(); !sound) return sound.error().text();
        const contents found = Of::of(*root_);
        const bool before = found == states_[done];
        if (!before && (begun == done || found != states_[begun]))
            return describe_difference(found, done, begun);
        return audit(*roots);
    }

private:
    static constexpr std::uint64_t pool_base = std::uint64_t{0x3000} << 32;

    static std::string text_of(const contents& all) {
        std::string text = "{";
        for (const std::uint64_t each : all) text += (text.size() > 1 ? " " : "") + std::to_string(each);
        return text + "}";
    }
    std::string describe_difference(const contents& found, std::size_t done, std::size_t begun) const {
        std::string text = "found " + text_of(found) + ", expected " + text_of(states_[done]);
        if (begun != done) text += " or " + text_of(states_[begun]);
        for (std::size_t i = 0; i < states_.size(); ++i)
            if (found == states_[i]) text += i < done ? ": an acknowledged operation is lost" : ": too early";
        return text;
    }
    std::optional<std::string> audit(const std::vector<root_listing>& roots) const {
        std::vector<const void*> owned;
        for (const root_listing& each : roots) owned.push_back(base() + each.offset);
        root_->visit_blocks([&](const void* block) { owned.push_back(block); });
        const heap_audit found = heap::audit(base(), zones_, owned, true);
        if (found.clean()) return {};
        return found.problems.empty() ? "the heap's audit is not clean" : found.problems.front();
    }

    bool persists_ = true;
    log_geometry geometry_{};
    std::vector<heap_zone> zones_;
    pool_info info_;
    typename Of::container* root_ = nullptr;
    std::size_t roots_ = 0;
    std::vector<contents> states_;  ///< after 0, 1, … operations
};

template <class Engine>
void add_subjects(std::vector<std::unique_ptr<subject>>& all) {
    all.push_back(std::make_unique<subject_of<Engine, hash_map_subject<Engine>>>());
    all.push_back(std::make_unique<subject_of<Engine, btree_map_subject<Engine>>>());
    all.push_back(std::make_unique<subject_of<Engine, vector_subject<Engine>>>());
    all.push_back(std::make_unique<subject_of<Engine, queue_subject<Engine>>>());
    all.push_back(std::make_unique<subject_of<Engine, string_subject<Engine>>>());
}

}  // namespace holdfast::crash
