// Clerks who move money by a plan: what a copied pool must hold can be told from itself.
#pragma once

#include <holdfast/engine/engine_test_support.hpp>

#include <array>
#include <cstdint>
#include <random>
#include <vector>

namespace holdfast::test {

// More than the lanes that threads may own in these pools.
inline constexpr std::size_t clerks = 5;
inline constexpr std::size_t accounts = 12 * clerks;

template <class Engine>
struct note {
    typename Engine::template field<note*> next;
    typename Engine::template field<std::uint64_t> number;
};

/// Clerks move money between accounts of their own, each by a plan: how often each has done so says what every
/// account holds.
template <class Engine>
struct bank {
    typename Engine::template field<std::uint64_t> money[accounts];
    typename Engine::template field<std::uint64_t> done[clerks];
    typename Engine::template field<note<Engine>*> notes[clerks];

    /// The next transfer of a clerk's plan, and now and then a note of it, small or large, or an old one less.
    void transfer(std::size_t clerk) {
        const std::uint64_t number = done[clerk];
        const auto [from, to, amount] = plan(clerk, number);
        money[from] -= amount;
        money[to] += amount;
        if (number % 8 == 3) {
            const std::size_t bytes = number % 64 == 3 ? 20'000 : sizeof(note<Engine>);
            auto* made = reinterpret_cast<note<Engine>*>(Engine::allocate(bytes));
            made->number = number;
            made->next = notes[clerk].get();
            notes[clerk] = made;
        } else if (number % 8 == 7 && number > 80) {
            auto* gone = notes[clerk].get();
            notes[clerk] = gone->next.get();
            Engine::deallocate(gone);
        }
        done[clerk] = number + 1;
    }
    static std::array<std::uint64_t, 3> plan(std::size_t clerk, std::uint64_t number) {
        std::mt19937_64 random(number * clerks + clerk);
        const auto account = [&] { return clerk * (accounts / clerks) + random() % (accounts / clerks); };
        const std::uint64_t from = account();
        return {from, account(), random() % 1000};
    }

    std::array<std::uint64_t, accounts> expected() const {
        std::array<std::uint64_t, accounts> all{};
        for (std::size_t clerk = 0; clerk < clerks; ++clerk)
            for (std::uint64_t number = 0; number < done[clerk].get(); ++number) {
                const auto [from, to, amount] = plan(clerk, number);
                all[from] -= amount;
                all[to] += amount;
            }
        return all;
    }
};

template <class Engine>
bank<Engine>* bank_of(basic_pool<Engine>& pool) {
    return pool.template root<bank<Engine>>("bank").value();
}

template <class Engine>
void expect_whole(basic_pool<Engine>& pool) {
    const bank<Engine>* found = bank_of(pool);
    const auto expected = found->expected();
    for (std::size_t i = 0; i < accounts; ++i) EXPECT_EQ(found->money[i].get(), expected[i]) << "account " << i;
    std::vector<const void*> owned{found};
    for (std::size_t clerk = 0; clerk < clerks; ++clerk) {
        std::uint64_t after = found->done[clerk];
        for (auto* each = found->notes[clerk].get(); each != nullptr; each = each->next) {
            ASSERT_LT(each->number.get(), after);
            after = each->number;
            owned.push_back(each);
        }
    }
    ASSERT_TRUE(pool.checkpoint());
    const auto audit = heap::audit(pool.core().base(), pool.core().zones(), owned, true);
    EXPECT_TRUE(audit.clean()) << (audit.problems.empty() ? "" : audit.problems.front());
}

}  // namespace holdfast::test
