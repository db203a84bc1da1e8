// A structure of one type in a pool of one engine, as far as these two decide it.
#pragma once

#include <crash/subjects/structure.hpp>

#include <holdfast/handle/pool.hpp>

#include <concepts>
#include <cstddef>
#include <optional>
#include <string>
#include <utility>
#include <vector>

namespace holdfast::crash {

template <class Engine, class Root>
class structure_of : public structure {
public:
    using pool_type = basic_pool<Engine>;

    const engine_description& engine() const override { return Engine::description; }

    void create(const std::string& path, const create_options& options) override {
        pool_.emplace(pool_type::create(path, options).value());
    }
    result<void> open(const std::string& path, const open_options& options) override {
        auto opened = pool_type::open(path, options);
        if (!opened) return opened.error();
        pool_.emplace(std::move(*opened));
        return {};
    }
    result<void> close() override {
        auto closed = pool_->close();
        pool_.reset();
        return closed;
    }
    void abandon() override {
        if (pool_) pool_->abandon();
        pool_.reset();
    }
    bool is_open() const override { return pool_.has_value(); }
    open_pool& pool() override { return pool_->core(); }

    std::optional<std::string> invariant(const std::byte* root) const override {
        if constexpr (requires(const Root& each) { { each.check() } -> std::same_as<result<void>>; })
            if (auto sound = at(root).check(); !sound) return sound.error().text();
        return {};
    }
    bool list_blocks(const std::byte* root, std::vector<const void*>& owned) const override {
        const auto add = [&](const void* block) { owned.push_back(block); };
        if constexpr (requires(const Root& each) { each.visit_blocks(add); }) {
            at(root).visit_blocks(add);
            return true;
        }
        return false;
    }

protected:
    static const Root& at(const std::byte* root) { return *reinterpret_cast<const Root*>(root); }
    static Root& at(std::byte* root) { return *reinterpret_cast<Root*>(root); }

    std::optional<pool_type> pool_;
};

}  // namespace holdfast::crash
