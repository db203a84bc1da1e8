// kv.hpp for one engine; included by one source per engine.
#pragma once

#include "kv.hpp"

#include <holdfast/container/btree_map.hpp>
#include <holdfast/container/string.hpp>
#include <holdfast/handle/pool.hpp>

#include <mutex>
#include <utility>

namespace holdfast::tools {

template <class Engine>
using kv_map = btree_map<string<Engine>, string<Engine>, Engine>;

/// How far an unfinished load has come, kept beside the entries.
template <class Engine>
struct kept_place {
    typename Engine::template field<input::identity> of;
    typename Engine::template field<input_place> place;
};

template <class Engine>
class kv_store_of final : public kv_store {
public:
    explicit kv_store_of(basic_pool<Engine> pool)
        : pool_(std::move(pool)),
          entries_(pool_.template root<kv_map<Engine>>(kv_map_root).value()),
          place_(pool_.template root<kept_place<Engine>>(kv_load_root).value()) {}

    void put(std::string_view key, std::string_view value) override {
        pool_.atomically([&] { entries_->insert_or_assign(key, value); }).value();
    }

    std::optional<std::string> get(std::string_view key) override {
        const auto found = std::as_const(*entries_).find(key);
        if (found == entries_->cend()) return std::nullopt;
        return found->second.str();
    }

    bool erase(std::string_view key) override {
        return pool_.atomically([&] { return entries_->erase(key) != 0; }).value();
    }

    void scan(const kv_range& range, const std::function<bool(std::string_view, std::string_view)>& visit) override {
        const auto& entries = std::as_const(*entries_);
        auto at = range.from ? entries.lower_bound(*range.from) : entries.begin();
        for (std::uint64_t count = 0; count < range.limit && at != entries.end(); ++at, ++count) {
            const std::string key = at->first.str();
            if (range.to && key >= *range.to) return;
            if (!visit(key, at->second.str())) return;
        }
    }

    std::uint64_t size() override { return entries_->size(); }

    input_place begin_load(const input& from) override {
        return pool_
            .atomically([&] {
                if (!from.can_resume() || place_->of.get() != from.id()) {
                    place_->of = from.id();
                    place_->place = input_place{};
                }
                return place_->place.get();
            })
            .value();
    }

    input_part load_step(const input& from, std::uint64_t lines_max) override {
        return pool_
            .atomically(lock_,
                        [&] {
                            const auto put_one = [&](std::string_view key, std::string_view value) {
                                entries_->insert_or_assign(key, value);
                            };
                            const input_part part = from.walk(place_->place.get(), lines_max, put_one);
                            if (!part.empty()) place_->place = part.end;
                            return part;
                        })
            .value();
    }

    void end_load() override {
        pool_
            .atomically([&] {
                place_->of = input::identity{};
                place_->place = input_place{};
            })
            .value();
    }

    void fence() override {
        if constexpr (requires { pool_.fence(); }) pool_.fence().value();
    }
    open_pool& core() override { return pool_.core(); }
    heap_usage usage() override { return pool_.usage(); }
    void close() override { pool_.close().value(); }

private:
    basic_pool<Engine> pool_;
    kv_map<Engine>* entries_;
    kept_place<Engine>* place_;
    std::mutex lock_;
};

template <class Engine>
std::unique_ptr<kv_store> open_kv(const std::string& path, const open_options& options) {
    return std::make_unique<kv_store_of<Engine>>(basic_pool<Engine>::open(path, options).value());
}

template <class Engine>
std::unique_ptr<kv_store> create_kv(const std::string& path, const create_options& options) {
    return std::make_unique<kv_store_of<Engine>>(basic_pool<Engine>::create(path, options).value());
}

template <class Engine>
kv_findings check_kv_of(const open_pool& pool, const std::vector<root_listing>& roots) {
    kv_findings found;
    for (const root_listing& root : roots) {
        const std::byte* const at = pool.base() + root.offset;
        found.owned.push_back(at);
        if (root.name != kv_map_root) continue;
        if (root.bytes != sizeof(kv_map<Engine>)) {
            found.problem = "the map's root has " + std::to_string(root.bytes) + " bytes instead of " +
                            std::to_string(sizeof(kv_map<Engine>));
            return found;
        }
        const auto& entries = *reinterpret_cast<const kv_map<Engine>*>(at);
        if (const auto checked = entries.check(); !checked) {
            found.problem = checked.error().text();
            return found;
        }
        found.entries = entries.size();
        entries.visit_blocks([&](const void* block) { found.owned.push_back(block); });
    }
    return found;
}

template <class Engine>
void visit_kv_of(const open_pool& pool, const std::vector<root_listing>& roots,
                 const std::function<void(std::string_view, std::string_view)>& visit) {
    for (const root_listing& root : roots) {
        if (root.name != kv_map_root) continue;
        const auto& entries = *reinterpret_cast<const kv_map<Engine>*>(pool.base() + root.offset);
        for (const auto& [key, value] : entries) visit(key.str(), value.str());
    }
}

}  // namespace holdfast::tools
