// STAMP's vacation: clients of a travel agency, written anew from the description in C. Cao Minh, J. Chung,
// C. Kozyrakis, K. Olukotun, "STAMP: Stanford Transactional Applications for Multi-Processing", IISWC 2008.
//
//   1  create() fills the agency's tables (vacation_tables.hpp): relations with 100 to 500 units at prices from 50 to
//      90, and as many customers as a table has relations, all in random order.
//   2  Before its transaction, a client draws a task: vacation_tasks. What is shared plays no part in it, so one that
//      begins again after a conflict does the same.
//   3  The transaction, run(), is the whole task. Of a hundred tasks, `user_percent` are a user's. The others are in
//      equal parts those of customers who leave and of the agency itself.
//        a user asks for the prices of some relations and reserves, of each table, the dearest one that has units free;
//        who leaves is removed with all reservations, after the bill has been made up;
//        the agency adds units to some relations, at another price, or takes them away.
//
// The tables and the customers' lists are shared, a task is its client's own. A transaction loads 150.4 and stores 9.3
// words on average in vacation-low, 196.5 and 12.0 in vacation-high (one thread, 4,096 tasks, 16,384 relations).
#pragma once

#include <workload/vacation_tables.hpp>

namespace holdfast::workload {

inline constexpr std::uint64_t vacation_most_queries = 16;

/// The names in brackets are STAMP's.
struct vacation_parameters {
    std::uint64_t queries = 2;           ///< (n) a task has from one to as many; at most vacation_most_queries
    std::uint64_t queried_percent = 90;  ///< (q) of the ids, how many tasks draw from
    std::uint64_t user_percent = 98;     ///< (u)
    std::uint64_t relations = 16384;     ///< (r) in each table at first, and as many customers; at most 2^32
    std::uint64_t tasks = 4096;          ///< (t) of all clients together
};

/// STAMP's sets for little and much contention; with the large tables they are vacation-low++ and vacation-high++.
inline constexpr vacation_parameters vacation_low{};
inline constexpr vacation_parameters vacation_high{.queries = 4, .queried_percent = 60, .user_percent = 90};
constexpr vacation_parameters with_large_tables(vacation_parameters from) noexcept {
    from.relations = std::uint64_t{1} << 20;
    from.tasks = std::uint64_t{1} << 22;
    return from;
}

enum class vacation_kind : std::uint8_t { reserve, remove_customer, update };

struct vacation_query {
    vacation_table table;
    std::uint64_t id;
    std::uint64_t price;  ///< of an update that adds units; 0: it takes them away
};

struct vacation_task {
    vacation_kind kind;
    std::uint64_t customer;
    std::uint64_t count;  ///< of queries
    vacation_query queries[vacation_most_queries];
};

/// What one client does. The same seed gives the same tasks everywhere. One thread.
class vacation_tasks {
public:
    constexpr vacation_tasks(const vacation_parameters& given, std::uint64_t seed) noexcept
        : given_(given), ids_(given.relations * given.queried_percent / 100), numbers_(seed) {
        if (ids_ == 0) ids_ = 1;
    }

    constexpr vacation_task next() noexcept {
        vacation_task drawn{};
        if (numbers_.below(100) >= given_.user_percent) {
            drawn.kind = numbers_.below(2) == 0 ? vacation_kind::remove_customer : vacation_kind::update;
        }
        if (drawn.kind != vacation_kind::update) drawn.customer = id();
        if (drawn.kind == vacation_kind::remove_customer) return drawn;
        drawn.count = 1 + numbers_.below(given_.queries);
        for (std::uint64_t i = 0; i < drawn.count; ++i) {
            vacation_query& query = drawn.queries[i];
            query.table = static_cast<vacation_table>(numbers_.below(vacation_tables_count));
            query.id = id();
            if (drawn.kind == vacation_kind::update && numbers_.below(2) == 0) query.price = price(numbers_.next());
        }
        return drawn;
    }

    /// The price that a random number stands for.
    static constexpr std::uint64_t price(std::uint64_t number) noexcept { return 50 + 10 * scaled(number, 5); }

private:
    constexpr std::uint64_t id() noexcept { return 1 + numbers_.below(ids_); }

    vacation_parameters given_;
    std::uint64_t ids_;
    random numbers_;
};

/// Thread safety: that of the transactions.
template <access Access>
class vacation {
public:
    vacation(Access memory, vacation_root* root) noexcept : memory_(memory), agency_(memory, root) {}

    /// Fills the tables, in transactions of its own of at most `batch` records: ids 1 … relations in each.
    /// Requires: outside a transaction; the root all zero. False when a transaction failed.
    /// If the process dies inside, some of the records are there: make the pool anew.
    bool create(const vacation_parameters& given, std::uint64_t seed, std::uint64_t batch = 64) const {
        std::uint64_t bits = 1;
        while (std::uint64_t{1} << bits < given.relations) ++bits;
        bool good = true;
        for (std::uint64_t table = 0; table <= vacation_tables_count; ++table) {
            const permutation order(seed + table, bits);
            for (std::uint64_t first = 0; good && first < std::uint64_t{1} << bits; first += batch) {
                good = memory_.atomically([&] {
                    for (std::uint64_t i = first; i < first + batch && i < std::uint64_t{1} << bits; ++i) {
                        if (order(i) < given.relations) add_record(table, 1 + order(i), seed);
                    }
                });
            }
        }
        return good;
    }

    /// One task. Returns what it changed. Inside a transaction, which it is all of.
    vacation_balance run(const vacation_task& task) const {
        switch (task.kind) {
        case vacation_kind::reserve: return reserve(task);
        case vacation_kind::remove_customer: return remove_customer(task);
        case vacation_kind::update: return update(task);
        }
        return {};
    }

    const vacation_agency<Access>& agency() const noexcept { return agency_; }

private:
    static constexpr std::uint64_t units_of_update = 100;

    /// In table vacation_tables_count are the customers. What is drawn follows from seed, table and id.
    void add_record(std::uint64_t table, std::uint64_t id, std::uint64_t seed) const {
        if (table == vacation_tables_count) {
            agency_.add_customer(id);
            return;
        }
        std::uint64_t numbers = seed + id * vacation_tables_count + table;
        const std::uint64_t units = 100 * (1 + scaled(splitmix(numbers), 5));
        agency_.add_units(static_cast<vacation_table>(table), id, units, vacation_tasks::price(splitmix(numbers)));
    }

    vacation_balance reserve(const vacation_task& task) const {
        std::uint64_t prices[vacation_tables_count]{};
        std::uint64_t ids[vacation_tables_count]{};
        bool any = false;
        for (std::uint64_t i = 0; i < task.count; ++i) {
            const vacation_query& query = task.queries[i];
            const std::uint64_t price = agency_.offer(query.table, query.id);
            if (price <= prices[query.table]) continue;
            prices[query.table] = price;
            ids[query.table] = query.id;
            any = true;
        }
        vacation_balance change;
        if (!any) return change;
        change.customers = agency_.add_customer(task.customer) ? 1 : 0;
        for (std::uint64_t table = 0; table < vacation_tables_count; ++table) {
            if (prices[table] == 0) continue;
            if (!agency_.reserve(task.customer, static_cast<vacation_table>(table), ids[table])) continue;
            ++change.reservations;
            change.bills += static_cast<std::int64_t>(prices[table]);
        }
        return change;
    }

    vacation_balance remove_customer(const vacation_task& task) const {
        std::uint64_t bill = 0;
        std::uint64_t cancelled = 0;
        vacation_balance change;
        if (!agency_.bill(task.customer, bill) || !agency_.remove_customer(task.customer, cancelled)) return change;
        change.customers = -1;
        change.reservations = -static_cast<std::int64_t>(cancelled);
        change.bills = -static_cast<std::int64_t>(bill);
        return change;
    }

    vacation_balance update(const vacation_task& task) const {
        vacation_balance change;
        for (std::uint64_t i = 0; i < task.count; ++i) {
            const vacation_query& query = task.queries[i];
            if (query.price != 0) {
                agency_.add_units(query.table, query.id, units_of_update, query.price);
                change.units += std::int64_t{units_of_update};
            } else if (agency_.remove_units(query.table, query.id, units_of_update)) {
                change.units -= std::int64_t{units_of_update};
            }
        }
        return change;
    }

    Access memory_;
    vacation_agency<Access> agency_;
};

}  // namespace holdfast::workload
