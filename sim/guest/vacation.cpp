// The guest program for workload/vacation.hpp, STAMP's travel agency, which WHISPER runs on Mnemosyne. There clients
// share one agency; here each has its own. Its records are what they are, whatever the element, and its ids are drawn
// by itself.
#include <sim/guest/part_program.hpp>
#include <workload/vacation.hpp>

namespace {

using namespace holdfast::guest;
using holdfast::workload::vacation_parameters;
using holdfast::workload::vacation_relation;
using holdfast::workload::vacation_tasks;

struct vacation {
    static constexpr const char* name = "vacation";
    /// Reservations that stay, and those that the check makes again.
    static constexpr std::uint64_t bytes_per_operation = 2 * 2 * 32;
    using root = holdfast::workload::vacation_root;

    template <class Element, class Access>
    class on {
    public:
        on(const Access& memory, root* of, const part_size& part) noexcept
            : memory_(memory), part_(part), tasks_(parameters_of(part), part.seed), agency_(memory, of) {}

        std::uint64_t keys() const noexcept { return parameters_of(part_).relations; }

        void fill() noexcept { agency_.create(parameters_of(part_), part_.seed); }

        template <class Numbers>
        void operate(Numbers&) noexcept {
            agency_.run(tasks_.next());
        }

        /// Does the tasks again in another agency, and compares.
        const char* problem(std::uint64_t& sum) noexcept {
            const auto report = agency_.agency().check();
            if (!report.ok()) return report.problem;
            on again(memory_, static_cast<root*>(allocate_volatile(sizeof(root))), part_);
            again.fill();
            for (std::uint64_t i = 0; i < part_.operations; ++i) again.agency_.run(again.tasks_.next());
            if (agency_.agency().balance() != again.agency_.agency().balance())
                return "other units, customers, reservations or bills than the tasks leave";
            if (relations() != again.relations()) return "a relation is another than the tasks leave";
            sum += relations() + mixed(report.count, part_.seed);
            return nullptr;
        }

    private:
        static vacation_parameters parameters_of(const part_size& part) noexcept {
            // Three relations and a customer, each with its node of a tree.
            constexpr std::uint64_t bytes = 3 * (48 + 48) + 16 + 48;
            vacation_parameters made = holdfast::workload::vacation_low;
            made.relations = part.bytes / bytes + 1;
            return made;
        }

        std::uint64_t relations() const noexcept {
            std::uint64_t sum = 0;
            agency_.agency().each_relation([&](std::uint64_t table, const vacation_relation& at) {
                sum += mixed(mixed(table, at.id), mixed(at.used, mixed(at.total, at.price)));
            });
            return sum;
        }

        Access memory_;
        part_size part_;
        vacation_tasks tasks_;
        holdfast::workload::vacation<Access> agency_;
    };
};

}  // namespace

int main(int count, char** arguments) { return run_part_program<vacation>(count, arguments); }
