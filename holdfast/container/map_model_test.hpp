// Random operations on a map in a pool and on a std::map beside it, with rollbacks and reopening.
#pragma once

#include <holdfast/container/places_test.hpp>
#include <holdfast/container/string.hpp>

#include <workload/random.hpp>

#include <cstdint>
#include <map>
#include <string>
#include <type_traits>
#include <utility>

namespace holdfast::test {

/// Keys and values of a map in a form for std::map, made from numbers.
template <class T>
struct model_form {
    using type = T;
    static type make(std::uint64_t n) { return static_cast<type>(n); }
    template <class Held>
    static type read(const Held& held) {
        return held.get();
    }
};
template <class Engine>
struct model_form<string<Engine>> {
    using type = std::string;
    /// Short ones and long ones.
    static type make(std::uint64_t n) { return std::string(n % 5 * 9, 'x') + std::to_string(n * 7919); }
    static type read(const string<Engine>& held) { return held.str(); }
};

template <class T>
struct value_of_field {
    using type = T;
};
template <class Engine, class T>
struct value_of_field<basic_field<Engine, T>> {
    using type = T;
};

/// One run: rounds of transactions on `Map`, compared with the model after each round.
template <class Place, class Map>
class map_model_run {
    using engine = typename Place::engine;
    using key_form_type = model_form<typename Map::key_type>;
    using value_form = model_form<typename value_of_field<typename Map::mapped_type>::type>;
    using key = typename key_form_type::type;
    using value = typename value_form::type;

public:
    map_model_run(test_pool<engine>& files, std::uint64_t keys, std::uint64_t seed)
        : files_(files), keys_(keys), numbers_(seed), seed_(seed) {}

    void all(int rounds) {
        map().erase_some(0);
        other().erase_some(0);
        for (int round = 0; round < rounds; ++round) {
            SCOPED_TRACE("seed " + std::to_string(seed_) + ", round " + std::to_string(round));
            // Grow, then shrink.
            bias_ = round % 6 < 3 ? 7 : 2;
            for (int i = 0; i < 25; ++i) one_transaction();
            if (::testing::Test::HasFatalFailure()) return;
            compare();
            if (::testing::Test::HasFatalFailure()) return;
            if (round % 4 == 3) come_back(round);
        }
        map().clear();
        model_.clear();
        other().clear();
        other_model_.clear();
        compare();
        EXPECT_EQ(files_.pool().usage().allocated_blocks, 2u) << "an empty map owns blocks";
    }

private:
    Map& map() { return *files_.pool().template root<Map>("tested").value(); }
    Map& other() { return *files_.pool().template root<Map>("other").value(); }

    void come_back(int round) {
        test::come_back(files_, static_cast<std::uint64_t>(round / 4));
        compare();
    }

    void one_transaction() {
        const std::map<key, value> before = model_;
        const std::map<key, value> other_before = other_model_;
        const bool keep = numbers_.below(4) != 0;
        Map& m = map();
        const auto change = [&] {
            for (std::uint64_t n = numbers_.below(12); n <= 12; ++n) one_operation(m);
            if (!keep) throw change_of_mind();
        };
        if (keep && numbers_.below(3) == 0) {
            // Each operation its own transaction.
            one_operation(m);
        } else if (keep) {
            ASSERT_TRUE(files_.pool().atomically(change).has_value());
        } else {
            EXPECT_THROW(static_cast<void>(files_.pool().atomically(change)), change_of_mind);
            model_ = before;
            other_model_ = other_before;
        }
    }

    /// What is done to many entries at once, or to two maps.
    void whole_operation(Map& m) {
        const value v = value_form::make(numbers_.below(1000));
        switch (numbers_.below(7)) {
        case 0: {
            const auto leaves = [&](const auto& entry) { return value_form::read(entry.second) < v; };
            EXPECT_EQ(erase_if(m, leaves), std::erase_if(model_, [&](const auto& entry) { return entry.second < v; }));
            break;
        }
        case 1: {
            auto first = m.begin();
            for (std::uint64_t n = numbers_.below(m.size() + 1); n != 0; --n) ++first;
            auto last = first;
            for (std::uint64_t n = numbers_.below(30); n != 0 && last != m.end(); --n)
                model_.erase(key_form_type::read((last++)->first));
            const bool to_end = last == m.end();
            const key behind = to_end ? key() : key_form_type::read(last->first);
            const auto at = m.erase(first, last);
            EXPECT_EQ(at, to_end ? m.end() : m.find(behind));
            break;
        }
        case 2:
            swap(m, other());
            std::swap(model_, other_model_);
            break;
        case 3:
            other() = std::move(m);
            other_model_ = std::exchange(model_, {});
            break;
        case 4:
            m = std::move(other());
            model_ = std::exchange(other_model_, {});
            break;
        case 5:
            if constexpr (requires { m.reserve(1); }) m.reserve(numbers_.below(600));
            break;
        default:
            if constexpr (requires { m.assign_sorted(model_.begin(), model_.end()); }) {
                if (!model_.empty()) model_.erase(model_.begin());
                m.assign_sorted(model_.begin(), model_.end());
            }
        }
        EXPECT_EQ(m == other(), model_ == other_model_);
    }

    void one_operation(Map& m) {
        if (numbers_.below(40) == 0) return whole_operation(m);
        const key k = key_form_type::make(numbers_.below(keys_));
        const value v = value_form::make(numbers_.below(1000));
        const std::uint64_t what = numbers_.below(12);
        if (what < bias_ - 1) {
            const bool added = m.try_emplace(k, v).second;
            EXPECT_EQ(added, model_.emplace(k, v).second);
        } else if (what < bias_ + 1) {
            const bool added = m.insert_or_assign(k, v).second;
            EXPECT_EQ(added, model_.insert_or_assign(k, v).second);
        } else if (what < 11) {
            EXPECT_EQ(m.erase(k), model_.erase(k));
        } else if (auto at = m.find(k); at != m.end()) {
            m.erase(at);
            model_.erase(k);
        }
        const auto found = m.find(k);
        ASSERT_EQ(found != m.end(), model_.contains(k));
        if (found != m.end()) {
            ASSERT_EQ(value_form::read(found->second), model_.at(k));
        }
    }

    void compare() {
        compare(map(), model_);
        compare(other(), other_model_);
        EXPECT_TRUE(files_.audit(map(), other()));
    }
    void compare(const Map& m, const std::map<key, value>& model) {
        const auto checked = m.check();
        ASSERT_TRUE(checked.has_value()) << checked.error().text();
        ASSERT_EQ(m.size(), model.size());
        std::map<key, value> contents;
        for (const auto& [k, v] : m) contents.emplace(key_form_type::read(k), value_form::read(v));
        ASSERT_EQ(contents, model);
        for (const auto& [k, v] : model) ASSERT_EQ(value_form::read(m.at(k)), v);
    }

    test_pool<engine>& files_;
    std::uint64_t keys_;
    workload::random numbers_;
    std::uint64_t seed_;
    std::uint64_t bias_ = 7;
    std::map<key, value> model_;
    std::map<key, value> other_model_;
};

}  // namespace holdfast::test
