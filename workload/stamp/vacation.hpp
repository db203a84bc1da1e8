// STAMP's vacation (workload/vacation.hpp) as a program: clients of an agency, who do a number of tasks together.
//
// Shared are the tables and the customers' lists. Private are the tasks, which each client draws for itself, and what
// it has changed. Where the shared data outlive the process, each client notes in its transactions how many tasks it
// has done and what they have changed, and a resumed run goes on with the next task.
//
// A transaction loads 148.7 and stores 9.2 words on average in vacation-low, 198.9 and 12.1 in vacation-high, and 97
// percent of the time are in transactions (one thread, `value`). In the published table they are of medium length, have
// medium sets, take nearly all of the time and meet seldom or sometimes.
#pragma once

#include <workload/stamp/frame.hpp>
#include <workload/stamp/notes.hpp>
#include <workload/stamp/private_array.hpp>
#include <workload/vacation.hpp>

namespace holdfast::workload {

template <access Access>
class vacation_program;

struct vacation_program_parameters {
    template <class Access>
    using program = vacation_program<Access>;

    vacation_parameters tasks;
    std::uint64_t seed = 1;
};

/// The larger tables with as many tasks as usual.
constexpr vacation_parameters with_larger_tables(vacation_parameters from) noexcept {
    from.relations = with_large_tables(from).relations;
    return from;
}

inline constexpr stamp_set<vacation_program_parameters> vacation_sets[]{
    {"vacation-high", "small", {vacation_high}},
    {"vacation-high", "+", {with_larger_tables(vacation_high)}},
    {"vacation-high", "++", {with_large_tables(vacation_high)}},
    {"vacation-low", "small", {vacation_low}},
    {"vacation-low", "+", {with_larger_tables(vacation_low)}},
    {"vacation-low", "++", {with_large_tables(vacation_low)}},
};

/// Of a client.
struct vacation_note {
    std::uint64_t tasks;  ///< that it has done
    vacation_balance changed;
    std::uint64_t unused[3];  ///< the rest of a line
};

struct vacation_program_root {
    vacation_root tables;
    vacation_note* notes;
    vacation_balance begun;  ///< with notes: the tables' balance at first
};

template <access Access>
class vacation_program {
public:
    using root_type = vacation_program_root;

    vacation_program(Access memory, vacation_program_root* root, const vacation_program_parameters& given)
        : memory_(memory),
          root_(root),
          given_(given),
          clients_(memory, &root->tables),
          notes_(memory, &root->notes) {}

    bool begin(std::uint64_t threads) {
        changed_ = private_array<change_of_client>(threads);
        const bool good = clients_.create(given_.tasks, given_.seed);
        balance_ = clients_.agency().balance();
        return good && memory_.atomically([&] {
            notes_.create(threads);
            if constexpr (notes_type::are_kept) store_balance(&root_->begun, balance_);
        });
    }

    bool resume(std::uint64_t threads) {
        changed_ = private_array<change_of_client>(threads);
        load_balance(&root_->begun, balance_);
        for (std::uint64_t i = 0; i < threads; ++i) load_balance(&notes_.note_of(i)->changed, changed_[i].all);
        return true;
    }

    /// The tables' own check.
    check_report look() const { return clients_.agency().check(); }

    template <class Thread>
    void work(Thread& me) {
        const stamp_part mine = me.part_of(given_.tasks.tasks);
        vacation_tasks tasks(given_.tasks, given_.seed + 1 + me.number());
        vacation_note* const note = notes_.note_of(me.number());
        const std::uint64_t done = note != nullptr ? memory_.load(&note->tasks) : 0;
        for (std::uint64_t i = 0; i < mine.last - mine.first && !me.failed(); ++i) {
            const vacation_task task = tasks.next();
            if (i < done) continue;
            vacation_balance change;
            me.atomically(memory_, [&] { perform(task, change, note, me.number()); });
            changed_[me.number()].all += change;
        }
    }

    /// The tables' own check, and the sum of what all tasks have changed.
    check_report check() const {
        check_report report = clients_.agency().check();
        vacation_balance expected = balance_;
        for (const change_of_client& each : changed_) expected += each.all;
        if (report.ok() && clients_.agency().balance() != expected) report.problem = "a task was lost";
        return report;
    }

    std::uint64_t hash() const {
        stamp_hash all;
        clients_.agency().each_relation([&](vacation_table table, const vacation_relation& at) {
            const std::uint64_t words[] = {table, at.id, at.used, at.total, at.price};
            for (const std::uint64_t each : words) all.add(each);
        });
        const vacation_balance found = clients_.agency().balance();
        const std::int64_t numbers[] = {found.customers, found.reservations, found.bills};
        for (const std::int64_t number : numbers) all.add(static_cast<std::uint64_t>(number));
        return all.value();
    }

    bool end() {
        const vacation_agency<Access>& agency = clients_.agency();
        return each_id([&](std::uint64_t id) {
            std::uint64_t cancelled = 0;
            agency.remove_customer(id, cancelled);
        }) && each_id([&](std::uint64_t id) {
            for (std::uint64_t table = 0; table < vacation_tables_count; ++table)
                agency.remove_relation(static_cast<vacation_table>(table), id);
        }) && memory_.atomically([&] {
            notes_.dispose();
            store_balance(&root_->begun, vacation_balance());
        });
    }

private:
    using notes_type = stamp_notes<Access, vacation_note>;

    struct alignas(64) change_of_client {
        vacation_balance all;
    };

    /// A function of its own because of g++ 12: what a call returns in memory, into the frame that a block begins in,
    /// is stored there with barriers and loaded from there without.
    [[gnu::noinline]] void perform(const vacation_task& task, vacation_balance& change, vacation_note* note,
                                   std::uint64_t client) const {
        change = clients_.run(task);
        if constexpr (notes_type::are_kept) note_task(note, client, change);
    }

    void note_task(vacation_note* note, std::uint64_t client, const vacation_balance& change) const {
        vacation_balance all = changed_[client].all;
        all += change;
        memory_.store(&note->tasks, memory_.load(&note->tasks) + 1);
        store_balance(&note->changed, all);
    }

    void store_balance(vacation_balance* to, const vacation_balance& balance) const {
        memory_.store(&to->units, balance.units);
        memory_.store(&to->customers, balance.customers);
        memory_.store(&to->reservations, balance.reservations);
        memory_.store(&to->bills, balance.bills);
    }
    void load_balance(const vacation_balance* from, vacation_balance& balance) const {
        balance.units = memory_.load(&from->units);
        balance.customers = memory_.load(&from->customers);
        balance.reservations = memory_.load(&from->reservations);
        balance.bills = memory_.load(&from->bills);
    }

    /// f(id) for all that there may be, a few in each transaction.
    template <class F>
    bool each_id(F&& f) const {
        return each_few(memory_, {1, given_.tasks.relations + 1}, 16, f);
    }

    Access memory_;
    vacation_program_root* root_;
    vacation_program_parameters given_;
    vacation<Access> clients_;
    notes_type notes_;
    private_array<change_of_client> changed_;
    vacation_balance balance_;
};

}  // namespace holdfast::workload
