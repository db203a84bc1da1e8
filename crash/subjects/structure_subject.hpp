// What subjects share that are structures. Instrumented: they run recovery and the structure's own checks.
#pragma once

#include <crash/subjects/in_memory_subject.hpp>
#include <crash/subjects/structure.hpp>

#include <cstdint>
#include <functional>
#include <memory>
#include <optional>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

namespace holdfast::crash {

/// Runs f, which a torn structure may lead to an address where nothing is. (What f would have destroyed is then
/// left over: one exploration ends with it.)
std::optional<std::string> guard(const std::function<std::optional<std::string>()>& f);

class structure_subject : public pool_subject {
public:
    structure_subject(std::shared_ptr<structure> what, std::size_t pool_bytes)
        : what_(std::move(what)), bytes_(pool_bytes) {}

    std::string_view engine() const override { return what_->engine().name; }
    std::string_view name() const override { return what_->name(); }
    unsigned universe() const override { return static_cast<unsigned>(what_->operations().size()); }
    std::string describe(unsigned operation) const override { return what_->operations()[operation]; }
    std::size_t size() const override { return bytes_; }
    std::uint64_t images_of_a_cut() const override { return what_->images_of_a_cut(); }
    std::uint64_t nested_less_often() const override { return what_->nested_less_often(); }

protected:
    /// Lets the pool go at the end of a recording, however that ends.
    class let_go_afterwards {
    public:
        explicit let_go_afterwards(structure& what) : what_(what) {}
        ~let_go_afterwards() { what_.abandon(); }
        let_go_afterwards(const let_go_afterwards&) = delete;
        let_go_afterwards& operator=(const let_go_afterwards&) = delete;

    private:
        structure& what_;
    };

    create_options options_for(const model& how) const {
        create_options options = recorded_pool_options(how);
        options.bytes = options.reserved_bytes = bytes_;
        return options;
    }

    /// Brings home what was just made, and finds it.
    void begin_at_home() {
        what_->pool().checkpoint().value();
        root_ = root_in(what_->pool());
    }
    static std::byte* root_in(const open_pool& pool) { return object_of(pool, list_roots(pool).value()); }

    /// Finds the structure in a recovered pool, and what it holds. Returns what is wrong. Where there is none `root_`
    /// is nullptr, and nothing wrong with that.
    std::optional<std::string> look(const open_pool& pool) {
        return guarded([&] { return look_at(pool); });
    }
    /// After that: the heap is whole. Returns what is wrong.
    std::optional<std::string> audit(const open_pool& pool) {
        return guarded([&] { return audit_of(pool); });
    }

    std::shared_ptr<structure> what_;
    std::size_t bytes_;
    std::byte* root_ = nullptr;
    contents found_;

private:
    template <class F>
    std::optional<std::string> guarded(F&& f) {
        return what_->is_own() ? f() : guard(f);
    }
    std::optional<std::string> look_at(const open_pool& pool) {
        const auto roots = list_roots(pool);
        if (!roots) return "the roots are damaged: " + roots.error().text();
        root_ = object_of(pool, *roots);
        if (root_ == nullptr) return {};
        if (auto wrong = what_->invariant(root_)) return wrong;
        found_ = what_->state(root_);
        return {};
    }
    std::optional<std::string> audit_of(const open_pool& pool) {
        if (root_ == nullptr) return {};
        std::vector<const void*> owned;
        for (const root_listing& each : list_roots(pool).value()) owned.push_back(pool.base() + each.offset);
        const bool says_owners = what_->list_blocks(root_, owned);
        return wrong_in_heap(pool, owned, says_owners);
    }
};

}  // namespace holdfast::crash
