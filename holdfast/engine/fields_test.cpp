// Fields of every size and alignment behave like plain memory that can be rolled back.
#include <holdfast/engine/engine_test_support.hpp>

#include <array>
#include <cstring>
#include <random>

namespace holdfast {
namespace {

using namespace holdfast::test;

struct bytes3 {
    unsigned char at[3];
};
struct words12 {
    std::uint32_t at[3];
};
struct words24 {
    std::uint64_t at[3];
};

/// One of each, among plain bytes that nobody may touch; the packed ones at odd addresses.
template <class Engine>
struct zoo {
    template <class T>
    using field = typename Engine::template field<T>;

    field<bool> flag;
    field<char> letter;
    field<short> small;
    field<int> number;
    field<float> real;
    field<double> precise;
    field<bytes3> three;
    field<words12> twelve;
    field<words24> twenty_four;
    field<zoo*> pointer;
    alignas(8) unsigned char raw[256];
};
}  // namespace

template <class Engine>
inline constexpr bool lives_in_pool<zoo<Engine>> = true;  // its plain bytes are what a test must find untouched

namespace {

template <class Engine>
class Fields : public ::testing::Test {};
TYPED_TEST_SUITE(Fields, all_engines);

template <class T>
T random_value(std::mt19937_64& random) {
    T value;
    unsigned char bytes[sizeof(T)];
    for (auto& each : bytes) each = static_cast<unsigned char>(random());
    // Not every byte is a bool, and not every float equals itself.
    if constexpr (std::is_same_v<T, bool>) {
        value = (bytes[0] & 1) != 0;
    } else if constexpr (std::is_floating_point_v<T>) {
        value = static_cast<T>(static_cast<int>(bytes[0]));
    } else {
        std::memcpy(&value, bytes, sizeof(T));
    }
    return value;
}

/// The zoo and an ordinary copy of its bytes, changed alike.
template <class Engine>
struct twins {
    zoo<Engine>* real;
    std::array<unsigned char, sizeof(zoo<Engine>)> model;

    template <class T>
    void store(void* at, const T& value) {
        const auto offset = static_cast<std::size_t>(static_cast<unsigned char*>(at) -
                                                     reinterpret_cast<unsigned char*>(real));
        std::memcpy(model.data() + offset, &value, sizeof(T));
        // The same interface that fields use, at any address.
        store_bytes(current_transaction<Engine>(), at, &value, sizeof(T));
        T back;
        load_bytes(current_transaction<Engine>(), at, &back, sizeof(T));
        ASSERT_EQ(std::memcmp(&back, &value, sizeof(T)), 0) << "a transaction reads its own writes";
    }
    template <class T>
    void set(typename Engine::template field<T>& field, std::mt19937_64& random) {
        T value = random_value<T>(random);
        // A pointer out of the pool would be refused.
        if constexpr (std::is_pointer_v<T>) value = random() % 2 == 0 ? nullptr : real + random() % 2;
        const auto offset = static_cast<std::size_t>(reinterpret_cast<unsigned char*>(&field) -
                                                     reinterpret_cast<unsigned char*>(real));
        std::memcpy(model.data() + offset, &value, sizeof(T));
        field = value;
        const T back = field.get();
        ASSERT_EQ(std::memcmp(&back, &value, sizeof(T)), 0);
    }
    bool same() const { return seen() == model; }
    auto seen() const {
        decltype(model) bytes;
        read_bytes<Engine>(real, bytes.data(), bytes.size());
        return bytes;
    }
};

template <class Engine>
void random_store(twins<Engine>& both, std::mt19937_64& random) {
    zoo<Engine>& at = *both.real;
    unsigned char* const odd = at.raw + random() % (sizeof at.raw - 24);
    switch (random() % 16) {
        case 0: both.set(at.flag, random); break;
        case 1: both.set(at.letter, random); break;
        case 2: both.set(at.small, random); break;
        case 3: both.set(at.number, random); break;
        case 4: both.set(at.real, random); break;
        case 5: both.set(at.precise, random); break;
        case 6: both.set(at.three, random); break;
        case 7: both.set(at.twelve, random); break;
        case 8: both.set(at.twenty_four, random); break;
        case 9: both.set(at.pointer, random); break;
        case 10: both.store(odd, random_value<unsigned char>(random)); break;
        case 11: both.store(odd, random_value<std::uint16_t>(random)); break;
        case 12: both.store(odd, random_value<bytes3>(random)); break;
        case 13: both.store(odd, random_value<std::uint64_t>(random)); break;
        case 14: both.store(odd, random_value<words12>(random)); break;
        default: both.store(odd, random_value<words24>(random)); break;
    }
}

TYPED_TEST(Fields, BehaveLikePlainMemoryThatCanBeRolledBack) {
    for (const level promise : {level::power, level::process}) {
        test_pool<TypeParam> pool({.durability = promise});
        twins<TypeParam> both{pool->template root<zoo<TypeParam>>("zoo").value(), {}};
        both.model = both.seen();
        for (unsigned seed = 0; seed < 400; ++seed) {
            std::mt19937_64 random(seed);
            const auto before = both.model;
            const bool commits = random() % 3 != 0;
            try {
                const auto done = pool->atomically([&] {
                    for (auto stores = random() % 20; stores > 0; --stores) random_store(both, random);
                    if (!commits) throw 1;
                });
                ASSERT_TRUE(done) << done.error().text();
            } catch (int) {
                both.model = before;
            }
            if (random() % 2 == 0) bring_home(*pool);
            ASSERT_TRUE(both.same()) << "seed " << seed;
            if (random() % 40 != 0) continue;
            if (TypeParam::description.recovers) {
                pool.kill();
            } else {
                pool.reopen();
            }
            ASSERT_TRUE(both.same()) << "seed " << seed << " after reopening";
        }
    }
}

TYPED_TEST(Fields, APartialStoreLeavesItsNeighboursAlone) {
    test_pool<TypeParam> pool;
    auto* at = pool->template root<zoo<TypeParam>>("zoo").value();
    ASSERT_TRUE(pool->atomically([&] { TypeParam::fill_zero(at, sizeof *at); }));
    bring_home(*pool);
    // Another owner changes the bytes beside the field while the transaction is open.
    ASSERT_TRUE(pool->atomically([&] {
        const unsigned char mine = 1;
        store_bytes(current_transaction<TypeParam>(), at->raw + 3, &mine, 1);
        at->raw[2] = 7;
        at->raw[4] = 8;
    }));
    bring_home(*pool);
    EXPECT_EQ(at->raw[2], 7);
    EXPECT_EQ(at->raw[3], 1);
    EXPECT_EQ(at->raw[4], 8);
    try {
        ignore(pool->atomically([&] {
            const unsigned char mine = 2;
            store_bytes(current_transaction<TypeParam>(), at->raw + 3, &mine, 1);
            at->raw[2] = 17;
            throw 1;
        }));
    } catch (int) {
    }
    EXPECT_EQ(at->raw[2], 17) << "rolling back brings back its own bytes only";
    EXPECT_EQ(at->raw[3], 1);
}

TYPED_TEST(Fields, HaveTheOperatorsOfTheirType) {
    test_pool<TypeParam> pool;
    struct pair {
        typename TypeParam::template field<int> a, b;
        typename TypeParam::template field<pair*> self;
    };
    static_assert(sizeof(typename TypeParam::template field<int>) == sizeof(int));
    auto* at = pool->template root<pair>("pair").value();
    ASSERT_TRUE(pool->atomically([&] {
        at->a = 5;
        at->b = at->a;
        at->a += 3;
        at->a *= 2;
        EXPECT_EQ(at->a++, 16);
        EXPECT_EQ(--at->a, 16);
        swap(at->a, at->b);
        at->self = at;
        at->self->b -= 1;
        (*at->self).b |= 64;
    }));
    EXPECT_EQ(at->a, 5);
    EXPECT_EQ(at->b, 79);
}

TYPED_TEST(Fields, AreZeroFilledAndConstructedByMake) {
    test_pool<TypeParam> pool;
    struct item {
        typename TypeParam::template field<long> left, right;
        explicit item(long value) { right = value; }
    };
    auto made = pool->atomically([&] {
        std::byte* dirty = TypeParam::allocate(sizeof(item));
        std::memset(dirty, 0x5A, sizeof(item));
        TypeParam::template construct_at<item>(dirty, 9);
        return reinterpret_cast<item*>(dirty);
    });
    ASSERT_TRUE(made);
    EXPECT_EQ((*made)->left, 0);
    EXPECT_EQ((*made)->right, 9);
    const auto blocks = pool->usage().allocated_blocks;
    ASSERT_TRUE(pool->atomically([&] { TypeParam::destroy(*made); }));
    EXPECT_EQ(pool->usage().allocated_blocks, blocks - 1);
    ASSERT_TRUE(pool->atomically([] { TypeParam::destroy(static_cast<item*>(nullptr)); }));
}

TYPED_TEST(Fields, OfPointersHoldNothingOutsideTheirPool) {
    struct item {
        typename TypeParam::template field<item*> next;
        typename TypeParam::template field<const void*> bytes;
        typename TypeParam::template field<outside_pointer<const char>> name;
    };
    test_pool<TypeParam> pool;
    test_pool<TypeParam> other({.order = 1});
    auto* const at = pool->template root<item>("item").value();
    auto* const theirs = other->template root<item>("item").value();
    item on_the_stack;
    const auto refused = [&](auto&& store) {
        EXPECT_EQ(code_of(pool->atomically(store)), errc::misuse);
        EXPECT_EQ(at->next.get(), nullptr);
        EXPECT_EQ(at->bytes.get(), nullptr);
    };
    refused([&] { at->next = &on_the_stack; });
    refused([&] { at->next = theirs; });
    refused([&] { at->bytes = "text"; });
    refused([&] { at->next = reinterpret_cast<item*>(1); });
    const void* const end = pool->core().base() + pool->core().size();
    ASSERT_TRUE(pool->atomically([&] {
        at->next = at;
        at->bytes = end;
        at->name = {"text"};
        on_the_stack.next = &on_the_stack;
        on_the_stack.bytes = "text";
    }));
    EXPECT_EQ(at->next.get(), at);
    EXPECT_EQ(at->bytes.get(), end);
    EXPECT_EQ(at->name->address[0], 't');
    ASSERT_TRUE(pool->atomically([&] { at->next = nullptr; }));
}

TYPED_TEST(Fields, OfAStructAreReadByMemberAndUpdatedWhole) {
    struct place {
        int x, y;
    };
    test_pool<TypeParam> pool;
    auto* const at = pool->template root<typename TypeParam::template field<place>>("place").value();
    ASSERT_TRUE(pool->atomically([&] {
        at->update([](place& it) { it.x = 3; });
        at->update([](place it) { return place{it.x + 1, 7}; });
        EXPECT_EQ((*at)->x, 4);
    }));
    EXPECT_EQ((*at)->x, 4);
    EXPECT_EQ((*at)->y, 7);
    EXPECT_THROW(at->update([](place& it) { it.x = 9; }), failure);
    EXPECT_EQ((*at)->x, 4);
}

}  // namespace
}  // namespace holdfast
