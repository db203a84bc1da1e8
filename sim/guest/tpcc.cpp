// Order entry after TPC-C, as WHISPER's tpcc on N-store: of a hundred transactions 45 enter an order, 43 take a
// payment, 4 deliver the oldest order of each district, 4 look at a customer's state and 4 at stock that runs low. What
// differs from TPC-C: each thread has one warehouse; customers and items are as many as the footprint gives; tables are
// arrays, found by number; customers have no names, and only the last orders of a district are kept, 256 or what half
// of the footprint has room for, without a history table.
#include <sim/guest/part_program.hpp>

namespace {

using namespace holdfast::guest;
using holdfast::workload::scaled;

struct tpcc {
    static constexpr const char* name = "tpcc";
    static constexpr std::uint64_t bytes_per_operation = 0;
    static constexpr std::uint64_t districts = 10, lines_least = 5, lines_most = 15;

    struct customer {
        std::int64_t balance;  ///< what was delivered less what was paid
        std::uint64_t paid;
        std::uint64_t payments;
        std::uint64_t delivered;  ///< orders
    };
    struct stock {
        std::uint64_t quantity;
        std::uint64_t sold;
        std::uint64_t orders;
    };
    struct order_line {
        std::uint64_t item;
        std::uint64_t quantity;
        std::int64_t info;
    };
    struct order {
        std::uint64_t customer;
        std::uint64_t lines;
        std::uint64_t amount;
        order_line* first;
    };
    struct district {
        std::uint64_t paid;
        std::uint64_t next_order;
        std::uint64_t next_delivery;
    };
    struct root {
        customer* customers;
        stock* items;
        order* orders;  ///< of each district a ring
        std::uint64_t paid;
        district of[districts];
    };

    /// What a transaction is about, drawn in one place for the program and its check.
    struct task {
        enum kind : std::uint8_t { enter_order, pay, deliver, look_at_customer, look_at_stock } what = enter_order;
        std::uint64_t district = 0, customer = 0, amount = 0;
        std::uint64_t lines = 0, items[lines_most]{}, quantities[lines_most]{};
    };
    template <class Numbers>
    static task drawn(Numbers& numbers, std::uint64_t customers, std::uint64_t items) noexcept {
        task made;
        const std::uint64_t percent = scaled(numbers.next(), 100);
        made.what = percent < 45   ? task::enter_order
                    : percent < 88 ? task::pay
                    : percent < 92 ? task::deliver
                    : percent < 96 ? task::look_at_customer
                                   : task::look_at_stock;
        made.district = scaled(numbers.next(), districts);
        made.customer = scaled(numbers.next(), customers);
        made.amount = 1 + scaled(numbers.next(), 5000);
        if (made.what != task::enter_order) return made;
        made.lines = lines_least + scaled(numbers.next(), lines_most - lines_least + 1);
        for (std::uint64_t i = 0; i < made.lines; ++i) {
            made.items[i] = numbers.below(items);
            made.quantities[i] = 1 + scaled(numbers.next(), 10);
        }
        return made;
    }
    static std::uint64_t price_of(std::uint64_t item) noexcept { return 1 + item % 100; }
    /// What is left on the shelf once some were sold: it is filled up when fewer than ten would be.
    static std::uint64_t left_of(std::uint64_t quantity, std::uint64_t sold) noexcept {
        return quantity >= sold + 10 ? quantity - sold : quantity + 91 - sold;
    }

    template <class Element, class Access>
    class on {
    public:
        on(const Access& memory, root* of, const part_size& part) noexcept
            : memory_(memory), root_(of), part_(part), kept_orders_(orders_in(part.bytes)),
              items_(items_in(part.bytes)), customers_(items_ / 4 + 1) {}

        std::uint64_t keys() const noexcept { return items_; }

        void fill() noexcept {
            memory_.store(&root_->customers, array<customer>(customers_));
            memory_.store(&root_->items, array<stock>(items_));
            memory_.store(&root_->orders, array<order>(districts * kept_orders_));
            for (std::uint64_t i = 0; i < items_; ++i) memory_.store(&root_->items[i].quantity, 91);
            each_first_order([this](const task& one) { enter(one); });
        }

        template <class Numbers>
        void operate(Numbers& numbers) noexcept {
            const task mine = drawn(numbers, customers_, items_);
            switch (mine.what) {
            case task::enter_order: return enter(mine);
            case task::pay: return pay(mine);
            case task::deliver: return deliver();
            case task::look_at_customer: return look_at_customer(mine);
            case task::look_at_stock: return look_at_stock(mine);
            }
        }

        /// Does the operations again on numbers alone, and compares; and TPC-C's conditions of consistency.
        const char* problem(std::uint64_t& sum) noexcept {
            replay expected(customers_, items_, kept_orders_);
            each_first_order([&](const task& one) { expected.enter(one); });
            auto numbers = part_.drawing(keys());
            for (std::uint64_t i = 0; i < part_.operations; ++i) expected.take(drawn(numbers, customers_, items_));
            for (std::uint64_t i = 0; i < items_; ++i) {
                const stock& found = root_->items[i];
                if (found.quantity != expected.left[i] || found.sold != expected.sold[i])
                    return "another stock than orders leave";
                sum += mixed(found.quantity, i) + found.orders;
            }
            std::uint64_t paid = 0;
            for (std::uint64_t i = 0; i < customers_; ++i) {
                const customer& found = root_->customers[i];
                if (found.paid != expected.paid[i]) return "a customer has paid another sum";
                if (found.balance + static_cast<std::int64_t>(found.paid) != expected.delivered[i])
                    return "a customer's balance is not what was delivered less what was paid";
                paid += found.paid;
            }
            std::uint64_t of_districts = 0;
            for (std::uint64_t i = 0; i < districts; ++i) {
                of_districts += root_->of[i].paid;
                if (const char* const wrong = problem_of(i, expected, sum)) return wrong;
            }
            return root_->paid == paid && of_districts == paid ? nullptr : "warehouse, districts and customers differ";
        }

    private:
        static constexpr std::uint64_t order_bytes =
            sizeof(order) + (lines_least + lines_most) / 2 * (sizeof(order_line) + Element::bytes);

        static std::uint64_t orders_in(std::uint64_t bytes) noexcept {
            constexpr std::uint64_t least = 2, most = 256;
            const std::uint64_t fitting = bytes / 2 / (districts * order_bytes);
            return fitting < least ? least : fitting > most ? most : fitting;
        }
        /// Beside what the orders take when as many are kept as can be.
        static std::uint64_t items_in(std::uint64_t bytes) noexcept {
            const std::uint64_t of_orders = districts * orders_in(bytes) * order_bytes;
            return (bytes > 2 * of_orders ? bytes - of_orders : bytes / 2) / (sizeof(stock) + sizeof(customer) / 4) + 1;
        }

        struct replay {
            replay(std::uint64_t customers, std::uint64_t items, std::uint64_t orders) noexcept
                : kept_orders(orders), left(words_for_check(items)), sold(words_for_check(items)),
                  paid(words_for_check(customers)),
                  delivered(reinterpret_cast<std::int64_t*>(words_for_check(customers))) {
                for (std::uint64_t i = 0; i < items; ++i) left[i] = 91;
            }
            void take(const task& one) noexcept {
                if (one.what == task::pay) paid[one.customer] += one.amount;
                if (one.what == task::enter_order) enter(one);
                if (one.what != task::deliver) return;
                for (std::uint64_t i = 0; i < districts; ++i) {
                    if (next_delivery[i] == next_order[i]) continue;
                    const std::uint64_t at = i * kept_orders + next_delivery[i]++ % kept_orders;
                    delivered[of_order[at]] += static_cast<std::int64_t>(amounts[at]);
                }
            }
            void enter(const task& one) noexcept {
                std::uint64_t amount = 0;
                for (std::uint64_t i = 0; i < one.lines; ++i) {
                    left[one.items[i]] = left_of(left[one.items[i]], one.quantities[i]);
                    sold[one.items[i]] += one.quantities[i];
                    amount += one.quantities[i] * price_of(one.items[i]);
                }
                std::uint64_t& number = next_order[one.district];
                // An order that gives way undelivered is never delivered.
                if (number - next_delivery[one.district] == kept_orders) ++next_delivery[one.district];
                const std::uint64_t at = one.district * kept_orders + number++ % kept_orders;
                amounts[at] = amount;
                of_order[at] = one.customer;
                lines[at] = one.lines;
            }

            std::uint64_t kept_orders;
            std::uint64_t *left, *sold, *paid;
            std::int64_t* delivered;
            std::uint64_t next_order[districts]{}, next_delivery[districts]{};
            std::uint64_t* amounts = words_for_check(districts * kept_orders);
            std::uint64_t* of_order = words_for_check(districts * kept_orders);
            std::uint64_t* lines = words_for_check(districts * kept_orders);
        };

        /// As many as are kept: the structure does not grow from then on.
        template <class F>
        void each_first_order(F&& f) const noexcept {
            holdfast::workload::random numbers = part_.filling();
            for (std::uint64_t rest = districts * kept_orders_; rest > 0;) {
                const task one = drawn(numbers, customers_, items_);
                if (one.what != task::enter_order) continue;
                f(one);
                --rest;
            }
        }

        template <class Row>
        Row* array(std::uint64_t count) const noexcept {
            auto* const made = static_cast<std::uint64_t*>(memory_.allocate(count * sizeof(Row)));
            for (std::uint64_t i = 0; i < count * sizeof(Row) / sizeof(std::uint64_t); ++i) memory_.store(made + i, 0);
            return reinterpret_cast<Row*>(made);
        }
        template <class T>
        void add(T* to, std::type_identity_t<T> more) const noexcept {
            memory_.store(to, memory_.load(to) + more);
        }
        order* order_at(std::uint64_t of_district, std::uint64_t number) const noexcept {
            return memory_.load(&root_->orders) + of_district * kept_orders_ + number % kept_orders_;
        }
        static std::int64_t info_of(std::uint64_t item, std::uint64_t quantity) noexcept {
            return static_cast<std::int64_t>(item * 16 + quantity);
        }

        void enter(const task& mine) noexcept {
            district* const of = &root_->of[mine.district];
            const std::uint64_t number = memory_.load(&of->next_order);
            order* const made = order_at(mine.district, number);
            if (number >= kept_orders_) give_way(of, number, made);
            auto* const lines = static_cast<order_line*>(memory_.allocate(mine.lines * sizeof(order_line)));
            std::uint64_t amount = 0;
            for (std::uint64_t i = 0; i < mine.lines; ++i) {
                const std::uint64_t item = mine.items[i], quantity = mine.quantities[i];
                stock* const from = memory_.load(&root_->items) + item;
                memory_.store(&from->quantity, left_of(memory_.load(&from->quantity), quantity));
                add(&from->sold, quantity);
                add(&from->orders, 1);
                memory_.store(&lines[i].item, item);
                memory_.store(&lines[i].quantity, quantity);
                memory_.store(&lines[i].info, Element::make(memory_, info_of(item, quantity)));
                amount += quantity * price_of(item);
            }
            memory_.store(&made->customer, mine.customer);
            memory_.store(&made->lines, mine.lines);
            memory_.store(&made->amount, amount);
            memory_.store(&made->first, lines);
            memory_.store(&of->next_order, number + 1);
        }
        /// The order whose place is taken.
        void give_way(district* of, std::uint64_t number, order* gone) noexcept {
            order_line* const lines = memory_.load(&gone->first);
            for (std::uint64_t i = memory_.load(&gone->lines); i > 0; --i) {
                Element::drop(memory_, memory_.load(&lines[i - 1].info));
            }
            memory_.free(lines);
            if (memory_.load(&of->next_delivery) == number - kept_orders_) add(&of->next_delivery, 1);
        }

        void pay(const task& mine) noexcept {
            customer* const who = memory_.load(&root_->customers) + mine.customer;
            add(&root_->paid, mine.amount);
            add(&root_->of[mine.district].paid, mine.amount);
            add(&who->paid, mine.amount);
            add(&who->payments, 1);
            add(&who->balance, -static_cast<std::int64_t>(mine.amount));
        }

        void deliver() noexcept {
            for (std::uint64_t i = 0; i < districts; ++i) {
                district* const of = &root_->of[i];
                const std::uint64_t number = memory_.load(&of->next_delivery);
                if (number == memory_.load(&of->next_order)) continue;
                const order* const oldest = order_at(i, number);
                customer* const who = memory_.load(&root_->customers) + memory_.load(&oldest->customer);
                add(&who->balance, static_cast<std::int64_t>(memory_.load(&oldest->amount)));
                add(&who->delivered, 1);
                memory_.store(&of->next_delivery, number + 1);
            }
        }

        void look_at_customer(const task& mine) noexcept {
            const customer* const who = memory_.load(&root_->customers) + mine.customer;
            read_ += static_cast<std::uint64_t>(memory_.load(&who->balance)) + memory_.load(&who->payments);
        }
        /// Of the last 20 orders, as TPC-C has it.
        void look_at_stock(const task& mine) noexcept {
            const std::uint64_t end = memory_.load(&root_->of[mine.district].next_order);
            for (std::uint64_t number = end < 20 ? 0 : end - 20; number < end; ++number) {
                const order* const at = order_at(mine.district, number);
                const order_line* const lines = memory_.load(&at->first);
                for (std::uint64_t i = memory_.load(&at->lines); i > 0; --i) {
                    const stock* const of = memory_.load(&root_->items) + memory_.load(&lines[i - 1].item);
                    read_ += memory_.load(&of->quantity) < 20 ? 1u : 0u;
                }
            }
        }

        const char* problem_of(std::uint64_t i, const replay& expected, std::uint64_t& sum) const noexcept {
            const district& of = root_->of[i];
            if (of.next_order != expected.next_order[i] || of.next_delivery != expected.next_delivery[i])
                return "a district has another number of orders or deliveries";
            const std::uint64_t first = of.next_order < kept_orders_ ? 0 : of.next_order - kept_orders_;
            for (std::uint64_t n = first; n < of.next_order; ++n) {
                const order& found = *order_at(i, n);
                const std::uint64_t at = i * kept_orders_ + n % kept_orders_;
                if (found.customer != expected.of_order[at] || found.amount != expected.amounts[at] ||
                    found.lines != expected.lines[at])
                    return "an order is another one";
                for (std::uint64_t l = 0; l < found.lines; ++l) {
                    const order_line& line = found.first[l];
                    const std::uint64_t content = Element::content(line.info);
                    if (content != Element::expected(info_of(line.item, line.quantity)))
                        return "an order's line has other information";
                    sum += mixed(content, at * lines_most + l);
                }
            }
            return nullptr;
        }

        Access memory_;
        root* root_;
        part_size part_;
        std::uint64_t kept_orders_;  ///< of a district
        std::uint64_t items_, customers_;
        std::uint64_t read_ = 0;
    };
};

}  // namespace

int main(int count, char** arguments) { return run_part_program<tpcc>(count, arguments); }
