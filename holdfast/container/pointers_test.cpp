// Containers of pointers, in every engine and medium: they hold no pointer out of their pool, by whatever call.
#include <holdfast/container/btree_map.hpp>
#include <holdfast/container/hash_map.hpp>
#include <holdfast/container/list.hpp>
#include <holdfast/container/places_test.hpp>
#include <holdfast/container/queue.hpp>
#include <holdfast/container/vector.hpp>

#include <gtest/gtest.h>

#include <functional>
#include <vector>

namespace holdfast::test {
namespace {

template <class Engine>
struct pointed {
    vector<long*, Engine> row;
    queue<long*, Engine> line;
    hash_map<long*, long*, Engine> hashed;
    btree_map<long, long*, Engine> ordered;
    list<long*, Engine> linked;

    std::size_t size() const { return row.size() + line.size() + hashed.size() + ordered.size() + linked.size(); }
};

template <class Place>
class Pointers : public container_test<Place> {};
TYPED_TEST_SUITE(Pointers, places, place_names);

TYPED_TEST(Pointers, OutOfThePoolAreRefusedByEachCall) {
    using all_of = pointed<typename TypeParam::engine>;
    auto& all = this->template root<all_of>();
    long outside = 0;
    long* const out = &outside;
    long* const in = reinterpret_cast<long*>(&all);
    const std::vector<long*> many{in, in, out};
    this->pool().atomically([&] { all.row.assign(4, in); }).value();
    const std::function<void()> calls[] = {
        [&] { all.row.push_back(out); },
        [&] { all.row.emplace_back(out); },
        [&] { all.row.insert(all.row.begin(), out); },
        [&] { all.row.append(many.data(), many.size()); },
        [&] { all.row.assign(5, out); },
        [&] { all.row.assign(many.begin(), many.end()); },
        [&] { all.row.resize(9, out); },
        [&] { all.row[0] = out; },
        [&] { all.line.push(out); },
        [&] { all.linked.push_back(out); },
        [&] { all.linked.push_front(out); },
        [&] { all.hashed.try_emplace(out, in); },
        [&] { all.hashed.try_emplace(in, out); },
        [&] { all.hashed.insert_or_assign(in, out); },
        [&] { all.ordered.try_emplace(1, out); },
        [&] { all.ordered.insert_or_assign(1, out); },
    };
    int number = 0;
    for (const auto& call : calls) {
        SCOPED_TRACE(number++);
        const std::size_t before = all.size();
        const auto done = this->pool().atomically(call);
        ASSERT_FALSE(done.has_value());
        EXPECT_EQ(done.error().code, errc::misuse);
        EXPECT_EQ(all.size(), before);
    }
    for (long* each : all.row) EXPECT_EQ(each, in);
}

}  // namespace
}  // namespace holdfast::test
