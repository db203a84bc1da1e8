// Every public function in every state a program may be in: it works, or it is misuse.
#include <holdfast/engine/entry_points_test.hpp>

namespace holdfast::test {
namespace {

// The exploration of states is about a hundred processes for each kind of pool.
template <class World>
class EntryPoints : public testing::Test {};

using worlds = testing::Types<pool_world<redo, false>, pool_world<redo, true>, pool_world<undo, false>,
                              pool_world<softwrap, false>, pool_world<softwrap_lat, false>, pool_world<softwrap, true>,
                              pool_world<volatile_only, false>>;
TYPED_TEST_SUITE(EntryPoints, worlds);

TYPED_TEST(EntryPoints, OfAPoolWorkOrAreMisuseInEveryState) {
    expect_works_or_misuse(pool_entry_points<TypeParam>(), all_states);
}

TYPED_TEST(EntryPoints, OfAWrapWorkOrAreMisuseInEveryState) {
    if constexpr (TypeParam::has_wraps) expect_works_or_misuse(wrap_entry_points<TypeParam>(), all_states);
}

}  // namespace
}  // namespace holdfast::test
