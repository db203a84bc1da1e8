// vacation, against a model in standard containers.
#include <workload/counted_access.hpp>
#include <workload/places_test.hpp>
#include <workload/vacation.hpp>

#include <holdfast/engine/redo.hpp>

#include <gtest/gtest.h>

#include <algorithm>
#include <map>
#include <string_view>
#include <utility>
#include <vector>

namespace holdfast::workload {
namespace {

struct held_unit {
    std::uint64_t table, id, price;
    bool operator==(const held_unit&) const = default;
};
struct offered {
    std::uint64_t used, free, price;
    bool operator==(const offered&) const = default;
};

/// The agency's operations, by their description.
struct model {
    std::map<std::pair<std::uint64_t, std::uint64_t>, offered> relations;
    std::map<std::uint64_t, std::vector<held_unit>> customers;  // the newest last

    bool operator==(const model&) const = default;

    void add_units(vacation_table table, std::uint64_t id, std::uint64_t units, std::uint64_t price) {
        offered& at = relations[{table, id}];
        at.free += units;
        at.price = price;
    }
    bool remove_units(vacation_table table, std::uint64_t id, std::uint64_t units) {
        const auto at = relations.find({table, id});
        if (at == relations.end() || at->second.free < units) return false;
        at->second.free -= units;
        if (at->second.free + at->second.used == 0) relations.erase(at);
        return true;
    }
    std::uint64_t offer(vacation_table table, std::uint64_t id) const {
        const auto at = relations.find({table, id});
        return at == relations.end() || at->second.free == 0 ? 0 : at->second.price;
    }
    bool add_customer(std::uint64_t id) { return customers.emplace(id, std::vector<held_unit>()).second; }
    bool remove_customer(std::uint64_t id, std::uint64_t& cancelled) {
        const auto at = customers.find(id);
        if (at == customers.end()) return false;
        cancelled = at->second.size();
        for (const held_unit& each : at->second) give_back(each);
        customers.erase(at);
        return true;
    }
    bool reserve(std::uint64_t customer, vacation_table table, std::uint64_t id) {
        const std::uint64_t price = offer(table, id);
        if (price == 0 || !customers.contains(customer)) return false;
        --relations[{table, id}].free;
        ++relations[{table, id}].used;
        customers[customer].push_back({table, id, price});
        return true;
    }
    bool cancel(std::uint64_t customer, vacation_table table, std::uint64_t id) {
        const auto at = customers.find(customer);
        if (at == customers.end()) return false;
        auto& held = at->second;
        const auto is = [&](const held_unit& each) { return each.table == table && each.id == id; };
        const auto newest = std::find_if(held.rbegin(), held.rend(), is);
        if (newest == held.rend()) return false;
        give_back(*newest);
        held.erase(std::next(newest).base());
        return true;
    }
    bool bill(std::uint64_t customer, std::uint64_t& sum) const {
        const auto at = customers.find(customer);
        if (at == customers.end()) return false;
        sum = 0;
        for (const held_unit& each : at->second) sum += each.price;
        return true;
    }

    void run(const vacation_task& task) {
        std::uint64_t ignored = 0;
        if (task.kind == vacation_kind::remove_customer) {
            remove_customer(task.customer, ignored);
        } else if (task.kind == vacation_kind::update) {
            for (std::uint64_t i = 0; i < task.count; ++i) {
                const vacation_query& at = task.queries[i];
                if (at.price == 0) remove_units(at.table, at.id, 100);
                if (at.price != 0) add_units(at.table, at.id, 100, at.price);
            }
        } else {
            run_reservations(task);
        }
    }

private:
    void give_back(const held_unit& held) {
        ++relations[{held.table, held.id}].free;
        --relations[{held.table, held.id}].used;
    }
    void run_reservations(const vacation_task& task) {
        std::map<vacation_table, const vacation_query*> dearest;
        for (std::uint64_t i = 0; i < task.count; ++i) {
            const vacation_query& at = task.queries[i];
            if (offer(at.table, at.id) == 0) continue;
            const vacation_query*& best = dearest[at.table];
            if (best == nullptr || offer(at.table, at.id) > offer(best->table, best->id)) best = &at;
        }
        if (!dearest.empty()) add_customer(task.customer);
        for (const auto& [table, best] : dearest) reserve(task.customer, table, best->id);
    }
};

template <class Access>
model contents(const Access& memory, vacation_root* root) {
    model found;
    vacation_agency(memory, root).each_relation([&](vacation_table table, const vacation_relation& at) {
        found.relations[{table, at.id}] = {at.used, at.free, at.price};
    });
    rbtree<Access, rbtree_uncounted_root>(memory, &root->customers).each([&](std::int64_t id, std::int64_t value) {
        auto& held = found.customers[static_cast<std::uint64_t>(id)];
        const auto* at = memory.load(&reinterpret_cast<vacation_customer*>(value)->first);
        for (; at != nullptr; at = memory.load(&at->next))
            held.push_back({memory.load(&at->table), memory.load(&at->id), memory.load(&at->price)});
        std::reverse(held.begin(), held.end());
    });
    return found;
}

template <class Place>
class Vacation : public ::testing::Test {
protected:
    using access_type = typename Place::access_type;

    void check_against(const model& expected) {
        const check_report report = agency.check();
        ASSERT_TRUE(report.ok()) << report.problem;
        std::uint64_t held = 0;
        for (const auto& each : expected.customers) held += each.second.size();
        ASSERT_EQ(report.count, held);
        ASSERT_EQ(contents(memory, root), expected);
    }

    /// Closes the agency down. Nothing may be left.
    void remove_everything() {
        const model all = contents(memory, root);
        std::uint64_t cancelled = 0;
        for (const auto& each : all.customers) {
            ASSERT_TRUE(memory.atomically([&] { EXPECT_TRUE(agency.remove_customer(each.first, cancelled)); }));
            EXPECT_EQ(cancelled, each.second.size());
        }
        for (const auto& [at, units] : all.relations) {
            const auto table = static_cast<vacation_table>(at.first);
            ASSERT_TRUE(memory.atomically(
                [&, id = at.second, all_of = units] { agency.remove_units(table, id, all_of.used + all_of.free); }));
        }
        check_against(model());
        EXPECT_EQ(place.live_blocks(), blocks) << "records were lost";
    }

    Place place;
    access_type memory = place.access();
    vacation_root* root = place.template make_root<vacation_root>();
    std::int64_t blocks = place.live_blocks();
    vacation_agency<access_type> agency{memory, root};
};

using vacation_places = ::testing::Types<plain_place, pool_place<redo>>;
TYPED_TEST_SUITE(Vacation, vacation_places);

TYPED_TEST(Vacation, TheAgencyDoesWhatAModelDoes) {
    random numbers(1);
    model expected;
    int refused = 0;
    for (int i = 0; i < 4000; ++i) {
        const auto table = static_cast<vacation_table>(numbers.below(3));
        const std::uint64_t id = numbers.below(6), customer = numbers.below(12), units = 1 + numbers.below(3);
        const std::uint64_t price = 1 + numbers.below(9);
        const auto step = [&, what = numbers.below(16)](auto& on) -> std::uint64_t {
            std::uint64_t sum = 0;
            if (what < 2) return on.add_units(table, id, units, price), 1;
            if (what < 4) return on.remove_units(table, id, units);
            if (what == 4) return on.add_customer(customer);
            if (what == 5) return on.remove_customer(customer, sum) ? 1 + sum : 0;
            if (what < 11) return on.reserve(customer, table, id);
            if (what < 14) return on.cancel(customer, table, id);
            if (what == 14) return on.bill(customer, sum) ? 1 + sum : 0;
            return on.offer(table, id);
        };
        std::uint64_t done = 0;
        ASSERT_TRUE(this->memory.atomically([&] { done = step(this->agency); }));
        ASSERT_EQ(done, step(expected)) << "operation " << i;
        refused += done == 0 ? 1 : 0;
        if (i % 16 == 0) this->check_against(expected);
    }
    EXPECT_GT(refused, 500);
    EXPECT_LT(refused, 3000);
    this->remove_everything();
}

TYPED_TEST(Vacation, TasksDoWhatAModelDoesAndReportWhatTheyChanged) {
    const vacation_parameters given{.queries = 4, .queried_percent = 80, .user_percent = 60, .relations = 50};
    const vacation clients(this->memory, this->root);
    ASSERT_TRUE(clients.create(given, 7, 16));
    model expected = contents(this->memory, this->root);
    EXPECT_EQ(expected.relations.size(), 3u * 50);
    EXPECT_EQ(expected.customers.size(), 50u);
    this->check_against(expected);
    vacation_balance balance = this->agency.balance();
    vacation_tasks tasks(given, 3);
    for (int i = 0; i < 4000; ++i) {
        const vacation_task task = tasks.next();
        vacation_balance change;
        ASSERT_TRUE(this->memory.atomically([&] { change = clients.run(task); }));
        balance += change;
        expected.run(task);
        if (i % 64 != 0) continue;
        this->check_against(expected);
        ASSERT_EQ(this->agency.balance(), balance) << "task " << i;
    }
    this->check_against(expected);
    EXPECT_LT(expected.relations.size(), 3u * 50) << "else no relation was ever removed";
    this->remove_everything();
}

TEST(VacationTasks, AreDrawnAsTheParametersSay) {
    for (vacation_parameters given : {vacation_low, vacation_high}) {
        given.relations = 100;
        vacation_tasks tasks(given, 5), again(given, 5);
        std::map<vacation_kind, int> kinds;
        std::uint64_t most = 0, least = ~std::uint64_t{0}, queries = 0, additions = 0;
        for (int i = 0; i < 20'000; ++i) {
            const vacation_task task = tasks.next();
            ++kinds[task.kind];
            ASSERT_EQ(task.customer, again.next().customer);
            ASSERT_LE(task.count, given.queries);
            queries = std::max(queries, task.count);
            for (std::uint64_t q = 0; q < task.count; ++q) {
                most = std::max(most, task.queries[q].id);
                least = std::min(least, task.queries[q].id);
                additions += task.queries[q].price != 0 ? 1 : 0;
            }
        }
        EXPECT_EQ(queries, given.queries);
        EXPECT_EQ(least, 1u);
        EXPECT_EQ(most, given.queried_percent) << "of 100";
        const int users = static_cast<int>(given.user_percent) * 200;
        EXPECT_NEAR(kinds[vacation_kind::reserve], users, 200);
        EXPECT_NEAR(kinds[vacation_kind::update], (20'000 - users) / 2, 200);
        EXPECT_NEAR(kinds[vacation_kind::remove_customer], (20'000 - users) / 2, 200);
        const double per_update = (1 + static_cast<double>(given.queries)) / 2;
        EXPECT_NEAR(static_cast<double>(additions), kinds[vacation_kind::update] * per_update / 2, 150);
    }
    EXPECT_EQ(with_large_tables(vacation_high).relations, 1u << 20);
    EXPECT_EQ(with_large_tables(vacation_high).queries, vacation_high.queries);
}

TEST(VacationCheck, FindsEveryBrokenInvariant) {
    vacation_root root{};
    const vacation_agency agency(plain_access(), &root);
    agency.add_units(vacation_rooms, 4, 10, 50);
    agency.add_units(vacation_rooms, 5, 10, 60);
    agency.add_customer(1);
    ASSERT_TRUE(agency.reserve(1, vacation_rooms, 4));
    ASSERT_TRUE(agency.reserve(1, vacation_rooms, 4));
    ASSERT_TRUE(agency.check().ok());
    rbtree_node* const top = root.tables[vacation_rooms].top;
    auto& relation = *reinterpret_cast<vacation_relation*>(top->value);
    auto& other = *reinterpret_cast<vacation_relation*>(top->child[1]->value);
    auto& customer = *reinterpret_cast<vacation_customer*>(root.customers.top->value);
    vacation_reservation& newest = *customer.first;
    ASSERT_EQ(relation.used, 2u);

    const auto finds = [&](std::string_view problem, auto& home, auto broken) {
        const auto right = std::exchange(home, broken);
        const check_report report = agency.check();
        EXPECT_EQ(report.ok() ? "nothing" : report.problem, problem);
        home = right;
    };
    finds("a left child has another parent", top->child[0], top);
    finds("keys out of order", top->child[1]->key, 3);
    finds("the top is red", root.customers.top->red, 1u);
    finds("a relation is at another id", relation.id, 5u);
    finds("a relation is at another id", top->value, 0);
    finds("used and free units are not the total", relation.used, 3u);
    finds("used and free units are not the total", relation.free, 0u);
    finds("used and free units are not the total", relation.total, 1u);
    finds("a relation has no price", relation.price, 0u);
    finds("a relation has no units", other, vacation_relation{5, 0, 0, 0, 60});
    finds("a customer is at another id", customer.id, 2u);
    finds("a reservation is of no table", newest.table, 3u);
    finds("a reservation is of no relation", newest.table, 1u);
    finds("a reservation is of no relation", newest.id, 7u);
    finds("a reservation has no price", newest.price, 0u);
    finds("more reservations than units used, or a cycle", newest.next->next, &newest);
    finds("fewer reservations than units used", newest.next, nullptr);
    finds("a relation's units are reserved in another's name", newest.id, 5u);
    finds("fewer reservations than units used", relation, vacation_relation{4, 3, 7, 10, 50});
    EXPECT_TRUE(agency.check().ok());
    std::uint64_t cancelled = 0;
    agency.remove_customer(1, cancelled);
    agency.remove_units(vacation_rooms, 4, 10);
    agency.remove_units(vacation_rooms, 5, 10);
}

/// Loads and stores of a task, on average over the tasks that the parameters name.
std::pair<double, double> cost_of(const vacation_parameters& given) {
    vacation_root root{};
    EXPECT_TRUE(vacation(plain_access(), &root).create(given, 1));
    access_counts counts;
    const vacation clients(counted_access<plain_access>(plain_access(), counts), &root);
    vacation_tasks tasks(given, 1);
    for (std::uint64_t i = 0; i < given.tasks; ++i) clients.run(tasks.next());
    const auto done = static_cast<double>(given.tasks);
    return {static_cast<double>(counts.loads) / done, static_cast<double>(counts.stores) / done};
}

TEST(VacationCost, IsWhatTheFileSays) {
    const auto low = cost_of(vacation_low), high = cost_of(vacation_high);
    EXPECT_NEAR(low.first, 150.4, 0.1);
    EXPECT_NEAR(low.second, 9.3, 0.1);
    EXPECT_NEAR(high.first, 196.5, 0.1);
    EXPECT_NEAR(high.second, 12.0, 0.1);
}

}  // namespace
}  // namespace holdfast::workload
