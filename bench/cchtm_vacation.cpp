// Case vacation of the suite cchtm: tasks of STAMP's vacation-low over tables of as many relations as its elements say.
#include <bench/cchtm_contestants.hpp>

#include <workload/vacation.hpp>

namespace holdfast::bench {
namespace {

template <class Memory>
class vacation_case final : public contestant {
public:
    static constexpr const char* name = "vacation";

    vacation_case(const cchtm_setting& where, scratch& space)
        : where_(where), memory_(where, space, where.elements * 512 + (16u << 20), [&](auto& filled) {
              const workload::vacation agency(filled.access(0), filled.template root<workload::vacation_root>());
              if (!agency.create(given(), 1)) fail(errc::no_space, "the tables could not be made");
          }) {
        for (unsigned i = 0; i < where.threads; ++i) tasks_.emplace_back(given(), i + 1);
    }

    batch run(const std::string&, std::uint64_t transactions) override {
        make_room(transactions);
        return memory_.measure(where_.threads, transactions, [&](unsigned thread, std::uint64_t count) {
            const auto access = memory_.access(thread);
            const workload::vacation agency(access, memory_.template root<workload::vacation_root>());
            workload::vacation_tasks tasks = tasks_[thread];
            for (std::uint64_t i = 0; i < count; ++i) {
                const workload::vacation_task task = tasks.next();
                perform(access, agency, task);
            }
            tasks_[thread] = tasks;
        });
    }

private:
    template <class Access>
    static void perform(const Access& access, const workload::vacation<Access>& agency,
                        const workload::vacation_task& task) {
        if (!access.atomically([&] { static_cast<void>(agency.run(task)); }))
            fail(errc::no_space, "a task could not be done");
    }
    /// Far more reservations are made than are removed with their customers. Before they fill the memory, all customers
    /// are removed, outside of what is measured; the next tasks add them again.
    void make_room(std::uint64_t transactions) {
        constexpr std::uint64_t most_tasks = 150'000;
        tasks_done_ += transactions;
        if (tasks_done_ <= most_tasks) return;
        tasks_done_ = transactions;
        const auto access = memory_.access(0);
        const workload::vacation agency(access, memory_.template root<workload::vacation_root>());
        for (std::uint64_t customer = 1; customer <= where_.elements; ++customer)
            perform(access, agency, {workload::vacation_kind::remove_customer, customer, 0, {}});
    }
    workload::vacation_parameters given() const {
        workload::vacation_parameters all = workload::vacation_low;
        all.relations = where_.elements;
        return all;
    }

    cchtm_setting where_;
    std::vector<workload::vacation_tasks> tasks_;
    std::uint64_t tasks_done_ = 0;  ///< since there were no reservations
    Memory memory_;
};

}  // namespace

match make_cchtm_vacation_match(const cchtm_setting& where, bool with_floor, const options& asked, scratch& space) {
    return make_cchtm_match<vacation_case>(where, "tasks of vacation-low", with_floor, asked, space);
}

}  // namespace holdfast::bench
