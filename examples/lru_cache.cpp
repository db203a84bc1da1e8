// A cache that keeps what was used last: a list in the order of use, and a map that finds an entry in it. Both change
// in one transaction, and are there again after a kill, the order too.
#include <holdfast/holdfast.hpp>

#include <cstddef>
#include <cstdio>
#include <optional>
#include <string>
#include <string_view>

namespace {

using store = holdfast::redo;

struct entry {
    holdfast::string<store> key;
    holdfast::string<store> value;
};

/// One thread at a time; what is called changes the cache in a transaction of its own, or in the open one.
class lru_cache {
public:
    static constexpr std::size_t capacity = 3;

    std::optional<std::string> get(store::pool& pool, std::string_view key) {
        const auto found = by_key_.find(key);
        if (found == by_key_.end()) return std::nullopt;
        entry* const used = found->second;
        pool.atomically([&] { use(*used); }).value();
        return used->value.str();
    }

    void put(store::pool& pool, std::string_view key, std::string_view value) {
        pool.atomically([&] {
                const auto found = by_key_.find(key);
                if (found != by_key_.end()) {
                    found->second->value = value;
                    return use(*found->second);
                }
                if (in_order_.size() == capacity) drop_oldest();
                entry& added = in_order_.emplace_front();
                added.key = key;
                added.value = value;
                by_key_.try_emplace(key, &added);
            }).value();
    }

    std::string keys() const {
        std::string text;
        for (const entry& each : in_order_) text += (text.empty() ? "" : " ") + each.key.str();
        return text;
    }

private:
    /// An entry stays where it is in the pool; only its place in the order changes.
    void use(entry& used) { in_order_.splice(in_order_.begin(), in_order_, in_order_.iterator_to(used)); }
    void drop_oldest() {
        by_key_.erase(in_order_.back().key.str());
        in_order_.pop_back();
    }

    holdfast::list<entry, store> in_order_;  ///< used last first
    holdfast::hash_map<holdfast::string<store>, store::field<entry*>, store> by_key_;
};

}  // namespace

int main() {
    holdfast::create_options options;
    options.bytes = 1 << 20;
    options.durability = holdfast::level::process;  // a cache that outlives its process, and not the machine
    {
        auto pool = store::pool::open_or_create("cache.pool", options).value();
        auto* cache = pool.root<lru_cache>("cache").value();
        for (const char* each : {"one", "two", "three"}) cache->put(pool, each, std::string("the value of ") + each);
        cache->get(pool, "one");
        cache->put(pool, "four", "the value of four");  // "two" was used longest ago
    }
    // Another process, some other day.
    auto pool = store::pool::open("cache.pool", options).value();
    auto* cache = pool.root<lru_cache>("cache").value();
    std::printf("%s\n", cache->keys().c_str());
    const bool is_right = cache->keys() == "four one three" && !cache->get(pool, "two") &&
                          cache->get(pool, "one") == "the value of one";
    return is_right ? 0 : 1;
}
