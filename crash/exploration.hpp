// For tests of programs that use the library: runs recovery on every state that a crash may leave of one of their
// structures.
//
//     holdfast::crash::exploration<holdfast::redo, accounts> explore;
//     explore.operation("transfer", [](accounts& all) { all.transfer(1); });
//     explore.invariant("the total is 100", [](const accounts& all) { return all.total() == 100; });
//     return explore.run(3).print();
// Link with holdfast::crash instead of holdfast::holdfast; this sets the compiler flags that the test needs. Guide:
// docs/guide/exploring.md.
#pragma once

#ifndef HOLDFAST_OBSERVED
#error "a test that explores crashes links holdfast::crash, and not holdfast::holdfast"
#endif

#include <crash/subjects/structure_of.hpp>

#include <cstdint>
#include <cstring>
#include <functional>
#include <iosfwd>
#include <optional>
#include <string>
#include <string_view>
#include <type_traits>
#include <utility>
#include <vector>

namespace holdfast::crash {

/// What is explored, and how much of it.
struct exploration_settings {
    std::string_view model = {};            ///< only this model; see docs/crash/models.md
    std::size_t pool_bytes = 256 << 10;     ///< 64 KiB of them are the log
    std::uint64_t images_of_a_cut = 4096;   ///< if a cut has more, as many more are drawn
    std::uint64_t seed = 1;                 ///< seed of what is drawn
};

/// The result under one model. An exploration stops at a model's first violation, which is in one of the shortest
/// workloads that have any.
struct exploration_row {
    std::string_view model;
    std::uint64_t workloads = 0;
    std::uint64_t images = 0;       ///< distinct ones on which recovery and all checks ran to the end
    bool exhaustive = true;         ///< no cut had more images than were tried
    std::string violation;          ///< what, after which operations, and which lines bypassed the library
};

/// The results under all models.
class exploration_outcome {
public:
    std::vector<exploration_row> rows;

    bool clean() const;
    /// A line for each model, and the violations.
    std::string text() const;
    /// Writes the text to the standard output. Returns the exit status: 0 clean, 1 not.
    int print() const;
};

/// Runs every workload of 1 to `operations` operations, under every model of the engine. Throws failure: what an
/// operation throws; invalid_argument (no operation, no such model).
exploration_outcome explore_structure(structure& what, unsigned operations, const exploration_settings& settings);

/// Explores a structure of type Root at a pool's root. One thread; uses SIGSEGV, SIGTRAP, a range of addresses at 48
/// TiB and files in /dev/shm while it runs.
template <class Engine, class Root>
class exploration final : private structure_of<Engine, Root> {
    static_assert(Engine::description.recovers, "nothing survives under this engine");
    using base = structure_of<Engine, Root>;
    using base::at;

public:
    using typename base::pool_type;

    /// The state of the structure before any operation: f runs once in its own transaction.
    template <class F>
    void prepare(F f) {
        prepare_ = std::move(f);
    }

    /// An operation that must be all or nothing: f(Root&), run in a transaction, or f(pool&, Root&), which runs its
    /// own. It must be deterministic: the same structure gives the same result.
    template <class F>
    void operation(std::string name, F f) {
        names_.push_back(std::move(name));
        if constexpr (std::is_invocable_v<F&, pool_type&, Root&>) {
            operations_.push_back(std::move(f));
        } else {
            operations_.push_back([f = std::move(f)](pool_type& pool, Root& root) mutable {
                pool.atomically([&] { static_cast<void>(f(root)); }).value();
            });
        }
    }

    /// A condition that must hold after every recovery. (`Root::check()` must succeed too, if it exists.)
    void invariant(std::string what, std::function<bool(const Root&)> f) {
        invariants_.emplace_back(std::move(what), std::move(f));
    }

    /// The contents of the structure: f(const Root&) returns a range of numbers. After a crash they must be those
    /// before or after the operation in progress. Default: the bytes of the root itself.
    template <class F>
    void state(F f) {
        state_ = [f = std::move(f)](const Root& root) {
            contents all;
            for (const auto& each : f(root)) all.push_back(static_cast<std::uint64_t>(each));
            return all;
        };
    }

    /// The blocks that the structure allocated, so that leaks are found: f(const Root&, visit) calls
    /// visit(address) for each. (`Root::visit_blocks(visit)` is used if there is one.)
    void blocks(std::function<void(const Root&, const std::function<void(const void*)>&)> f) { blocks_ = std::move(f); }

    exploration_outcome run(unsigned operations, const exploration_settings& settings = {}) {
        return explore_structure(*this, operations, settings);
    }

private:
    /// A plain one is for wraps. Whether each store goes through one is what the exploration finds out.
    Root* make_root() {
        if constexpr (std::is_trivially_copyable_v<Root>) {
            return this->pool_->template plain_root<Root>(explored_root).value();
        } else {
            return this->pool_->template root<Root>(explored_root).value();
        }
    }

    const std::vector<std::string>& operations() const override { return names_; }

    void make() override {
        Root* const root = make_root();
        if (prepare_) this->pool_->atomically([&] { prepare_(*root); }).value();
    }
    void apply(unsigned operation, std::uint64_t, std::byte* root) override {
        operations_[operation](*this->pool_, at(root));
    }

    contents state(const std::byte* root) const override {
        if (state_) return state_(at(root));
        contents words((sizeof(Root) + 7) / 8);
        read_bytes<Engine>(root, words.data(), sizeof(Root));
        return words;
    }
    std::optional<std::string> invariant(const std::byte* root) const override {
        for (const auto& [what, holds] : invariants_)
            if (!holds(at(root))) return "\"" + what + "\" does not hold";
        return base::invariant(root);
    }
    bool list_blocks(const std::byte* root, std::vector<const void*>& owned) const override {
        if (!blocks_) return base::list_blocks(root, owned);
        blocks_(at(root), [&](const void* block) { owned.push_back(block); });
        return true;
    }

    std::vector<std::string> names_;
    std::vector<std::function<void(pool_type&, Root&)>> operations_;
    std::function<void(Root&)> prepare_;
    std::vector<std::pair<std::string, std::function<bool(const Root&)>>> invariants_;
    std::function<contents(const Root&)> state_;
    std::function<void(const Root&, const std::function<void(const void*)>&)> blocks_;
};

}  // namespace holdfast::crash
