// The tables of a travel agency, and what its clients may ask of them: the server of STAMP's vacation, written anew
// from the description in C. Cao Minh, J. Chung, C. Kozyrakis, K. Olukotun, "STAMP: Stanford Transactional Applications
// for Multi-Processing", IISWC 2008. The clients are in vacation.hpp.
//
// Shared are four red-black trees from ids to records: cars, flights and rooms, whose relations say how many units
// there are, how many of them are used and free, and what one costs; and customers, each with a list of reservations.
#pragma once

#include <workload/access.hpp>
#include <workload/random.hpp>
#include <workload/rbtree.hpp>

namespace holdfast::workload {

/// Which of the tables with something to reserve, in the order of vacation_root.
enum vacation_table : std::uint64_t { vacation_cars, vacation_flights, vacation_rooms };
inline constexpr std::uint64_t vacation_tables_count = 3;

/// What can be reserved: one offer, of several units. used + free = total; total and price are not 0.
struct vacation_relation {
    std::uint64_t id;
    std::uint64_t used;
    std::uint64_t free;
    std::uint64_t total;
    std::uint64_t price;
};

/// One unit of one relation.
struct vacation_reservation {
    std::uint64_t table;
    std::uint64_t id;
    std::uint64_t price;  ///< what it cost when it was reserved
    vacation_reservation* next;
};

struct vacation_customer {
    std::uint64_t id;
    vacation_reservation* first;  ///< the newest
};

/// The persistent part. All zero is a valid agency with empty tables. The trees' values are the records' addresses.
struct vacation_root {
    rbtree_uncounted_root tables[vacation_tables_count];
    rbtree_uncounted_root customers;
};

/// What there is in all tables, or by how much that changed.
struct vacation_balance {
    std::int64_t units = 0;
    std::int64_t customers = 0;
    std::int64_t reservations = 0;
    std::int64_t bills = 0;  ///< the sum of all customers'

    vacation_balance& operator+=(const vacation_balance& change) noexcept {
        units += change.units;
        customers += change.customers;
        reservations += change.reservations;
        bills += change.bills;
        return *this;
    }
    bool operator==(const vacation_balance&) const = default;
};

/// All but balance and check: inside a transaction. Thread safety: that of the transactions; balance and check look at
/// all tables, so no transaction may run beside them. Ids are below 2^62. Each bool says whether it was done; if not,
/// nothing has changed.
template <access Access>
class vacation_agency {
public:
    vacation_agency(Access memory, vacation_root* root) noexcept : memory_(memory), root_(root) {}

    /// More units of a relation, which may be new; from now on each costs `price`. Requires: neither is 0.
    void add_units(vacation_table table, std::uint64_t id, std::uint64_t units, std::uint64_t price) const {
        if (vacation_relation* const known = find_relation(table, id); known != nullptr) {
            memory_.will_write(known);
            memory_.store(&known->free, memory_.load(&known->free) + units);
            memory_.store(&known->total, memory_.load(&known->total) + units);
            memory_.store(&known->price, price);
            return;
        }
        auto* const made = make<vacation_relation>();
        memory_.store(&made->id, id);
        memory_.store(&made->used, 0);
        memory_.store(&made->free, units);
        memory_.store(&made->total, units);
        memory_.store(&made->price, price);
        relations(table).insert(key_of(id), value_of(made));
    }

    /// Fewer units, if so many are free. A relation without units is removed.
    bool remove_units(vacation_table table, std::uint64_t id, std::uint64_t units) const {
        vacation_relation* const known = find_relation(table, id);
        if (known == nullptr) return false;
        const std::uint64_t free = memory_.load(&known->free);
        const std::uint64_t total = memory_.load(&known->total);
        if (free < units) return false;
        if (total == units) {
            relations(table).remove(key_of(id));
            memory_.free(known);
            return true;
        }
        memory_.will_write(known);
        memory_.store(&known->free, free - units);
        memory_.store(&known->total, total - units);
        return true;
    }

    /// A relation with all its units, if none is used.
    bool remove_relation(vacation_table table, std::uint64_t id) const {
        vacation_relation* const known = find_relation(table, id);
        return known != nullptr && remove_units(table, id, memory_.load(&known->total));
    }

    /// What a unit costs; 0 if none is free.
    std::uint64_t offer(vacation_table table, std::uint64_t id) const {
        const vacation_relation* const known = find_relation(table, id);
        if (known == nullptr || memory_.load(&known->free) == 0) return 0;
        return memory_.load(&known->price);
    }

    /// False if the customer is known.
    bool add_customer(std::uint64_t id) const {
        if (find_customer(id) != nullptr) return false;
        auto* const made = make<vacation_customer>();
        memory_.store(&made->id, id);
        memory_.store(&made->first, nullptr);
        return customers().insert(key_of(id), value_of(made));
    }

    /// With all reservations, which are counted in `cancelled`.
    bool remove_customer(std::uint64_t id, std::uint64_t& cancelled) const {
        vacation_customer* const known = find_customer(id);
        if (known == nullptr) return false;
        cancelled = 0;
        for (vacation_reservation* at = memory_.load(&known->first); at != nullptr; ++cancelled) {
            vacation_reservation* const next = memory_.load(&at->next);
            give_back(at);
            at = next;
        }
        customers().remove(key_of(id));
        memory_.free(known);
        return true;
    }

    /// One unit for a customer. False if the customer is not known or no unit is free.
    bool reserve(std::uint64_t customer, vacation_table table, std::uint64_t id) const {
        vacation_customer* const whose = find_customer(customer);
        vacation_relation* const what = find_relation(table, id);
        if (whose == nullptr || what == nullptr) return false;
        const std::uint64_t free = memory_.load(&what->free);
        if (free == 0) return false;
        auto* const made = make<vacation_reservation>();
        memory_.will_write(&whose->first);
        memory_.will_write(what);
        memory_.store(&made->table, table);
        memory_.store(&made->id, id);
        memory_.store(&made->price, memory_.load(&what->price));
        memory_.store(&made->next, memory_.load(&whose->first));
        memory_.store(&whose->first, made);
        memory_.store(&what->free, free - 1);
        memory_.store(&what->used, memory_.load(&what->used) + 1);
        return true;
    }

    /// Gives a customer's newest reservation of a relation back.
    bool cancel(std::uint64_t customer, vacation_table table, std::uint64_t id) const {
        vacation_customer* const whose = find_customer(customer);
        if (whose == nullptr) return false;
        vacation_reservation** link = &whose->first;
        vacation_reservation* at = memory_.load(link);
        while (at != nullptr && (memory_.load(&at->table) != table || memory_.load(&at->id) != id)) {
            link = &at->next;
            at = memory_.load(link);
        }
        if (at == nullptr) return false;
        memory_.will_write(link);
        memory_.store(link, memory_.load(&at->next));
        give_back(at);
        return true;
    }

    /// The sum of what a customer's reservations cost. False if the customer is not known.
    bool bill(std::uint64_t customer, std::uint64_t& sum) const {
        const vacation_customer* const whose = find_customer(customer);
        if (whose == nullptr) return false;
        sum = 0;
        each_reservation(whose, [&](const vacation_reservation* at) {
            sum += memory_.load(&at->price);
            return true;
        });
        return true;
    }

    /// Calls f(table, relation) for each relation, as loaded, in the order of tables and ids.
    template <class F>
    void each_relation(F&& f) const {
        for (std::uint64_t i = 0; i < vacation_tables_count; ++i) {
            const auto table = static_cast<vacation_table>(i);
            relations(table).each([&](std::int64_t, std::int64_t value) {
                const auto* const at = address_in<vacation_relation>(value);
                f(table, vacation_relation{memory_.load(&at->id), memory_.load(&at->used), memory_.load(&at->free),
                                           memory_.load(&at->total), memory_.load(&at->price)});
            });
        }
    }

    /// What there is. If it is not the sum of what all transactions have changed, then one was lost.
    /// Requires: check() found nothing.
    vacation_balance balance() const {
        vacation_balance found;
        each_relation([&](vacation_table, const vacation_relation& at) {
            found.units += static_cast<std::int64_t>(at.total);
        });
        customers().each([&](std::int64_t, std::int64_t value) {
            ++found.customers;
            each_reservation(address_in<vacation_customer>(value), [&](const vacation_reservation* at) {
                ++found.reservations;
                found.bills += static_cast<std::int64_t>(memory_.load(&at->price));
                return true;
            });
        });
        return found;
    }

    /// The trees are right; each record is at its id; used + free = total; prices are not 0; each reservation is of a
    /// relation that exists; of each relation as many are used as reservations hold, by their number and by a sum over
    /// relations in which each has a weight of its own. Counts the reservations.
    check_report check() const {
        check_report report;
        std::uint64_t used = 0;
        std::uint64_t weights = 0;
        for (std::uint64_t i = 0; i < vacation_tables_count && report.ok(); ++i) {
            report.problem = problem_in(static_cast<vacation_table>(i), used, weights);
        }
        if (report.ok()) report.problem = customers().check().problem;
        if (!report.ok()) return report;
        customers().each([&](std::int64_t key, std::int64_t value) {
            const auto* const at = address_in<vacation_customer>(value);
            if (at == nullptr || key_of(memory_.load(&at->id)) != key) report.problem = "a customer is at another id";
            if (!report.ok()) return;
            each_reservation(at, [&](const vacation_reservation* held) {
                if (report.count++ == used) report.problem = "more reservations than units used, or a cycle";
                if (report.ok()) report.problem = problem_of(held, weights);
                return report.ok();
            });
        });
        if (report.ok() && report.count < used) report.problem = "fewer reservations than units used";
        if (report.ok() && weights != 0) report.problem = "a relation's units are reserved in another's name";
        return report;
    }

private:
    using tree = rbtree<Access, rbtree_uncounted_root>;

    static std::int64_t key_of(std::uint64_t id) noexcept { return static_cast<std::int64_t>(id); }
    static std::int64_t value_of(const void* record) noexcept { return reinterpret_cast<std::int64_t>(record); }
    template <class Record>
    static Record* address_in(std::int64_t value) noexcept {
        return reinterpret_cast<Record*>(value);
    }
    static std::uint64_t weight_of(std::uint64_t table, std::uint64_t id) noexcept {
        std::uint64_t mixed = id * vacation_tables_count + table;
        return splitmix(mixed);
    }

    template <class Record>
    Record* make() const {
        auto* const made = static_cast<Record*>(memory_.allocate(sizeof(Record)));
        memory_.will_write(made);
        return made;
    }

    tree relations(std::uint64_t table) const { return tree(memory_, &root_->tables[table]); }
    tree customers() const { return tree(memory_, &root_->customers); }

    vacation_relation* find_relation(std::uint64_t table, std::uint64_t id) const {
        std::int64_t value = 0;
        return relations(table).get(key_of(id), value) ? address_in<vacation_relation>(value) : nullptr;
    }
    vacation_customer* find_customer(std::uint64_t id) const {
        std::int64_t value = 0;
        return customers().get(key_of(id), value) ? address_in<vacation_customer>(value) : nullptr;
    }

    /// Until f returns false.
    template <class F>
    void each_reservation(const vacation_customer* whose, F&& f) const {
        const vacation_reservation* at = memory_.load(&whose->first);
        while (at != nullptr && f(at)) at = memory_.load(&at->next);
    }

    /// Frees a reservation that is in no list. Its relation exists: one of which a unit is used is not removed.
    void give_back(vacation_reservation* held) const {
        vacation_relation* const what = find_relation(memory_.load(&held->table), memory_.load(&held->id));
        memory_.will_write(what);
        memory_.store(&what->used, memory_.load(&what->used) - 1);
        memory_.store(&what->free, memory_.load(&what->free) + 1);
        memory_.free(held);
    }

    /// Adds a table's units and their weights.
    const char* problem_in(vacation_table table, std::uint64_t& used, std::uint64_t& weights) const {
        const char* problem = relations(table).check().problem;
        if (problem != nullptr) return problem;
        relations(table).each([&](std::int64_t key, std::int64_t value) {
            const auto* const at = address_in<vacation_relation>(value);
            if (problem == nullptr) problem = problem_of(at, key);
            if (problem != nullptr) return;
            used += memory_.load(&at->used);
            weights += memory_.load(&at->used) * weight_of(table, memory_.load(&at->id));
        });
        return problem;
    }

    const char* problem_of(const vacation_relation* at, std::int64_t key) const {
        if (at == nullptr || key_of(memory_.load(&at->id)) != key) return "a relation is at another id";
        const std::uint64_t used = memory_.load(&at->used), total = memory_.load(&at->total);
        if (used > total || memory_.load(&at->free) != total - used) return "used and free units are not the total";
        if (total == 0) return "a relation has no units";
        if (memory_.load(&at->price) == 0) return "a relation has no price";
        return nullptr;
    }

    /// Takes its weight away.
    const char* problem_of(const vacation_reservation* held, std::uint64_t& weights) const {
        const std::uint64_t table = memory_.load(&held->table), id = memory_.load(&held->id);
        if (table >= vacation_tables_count) return "a reservation is of no table";
        if (find_relation(table, id) == nullptr) return "a reservation is of no relation";
        if (memory_.load(&held->price) == 0) return "a reservation has no price";
        weights -= weight_of(table, id);
        return nullptr;
    }

    Access memory_;
    vacation_root* root_;
};

}  // namespace holdfast::workload
