// An address book: people by name, and an index by city that can never disagree with them.
#include <holdfast/holdfast.hpp>

#include <cstdio>
#include <string_view>

namespace {

using store = holdfast::redo;
using text = holdfast::string<store>;

struct person {
    text email;
    text city;
    store::field<int> born;
};

struct address_book {
    holdfast::hash_map<text, person, store> people;
    holdfast::btree_map<text, int, store> people_in;  ///< how many live in each city
};

/// One transaction, because the caller opens one: all of this happens or none of it.
void move_to(address_book& book, std::string_view name, std::string_view city) {
    person& moving = book.people.at(name);
    if (!moving.city.empty()) {
        const std::string before = moving.city.str();
        if (--book.people_in.at(before) == 0) book.people_in.erase(before);
    }
    moving.city = city;
    ++book.people_in[city];
}

void add(address_book& book, std::string_view name, std::string_view email, int born, std::string_view city) {
    person& added = book.people[name];
    added.email = email;
    added.born = born;
    move_to(book, name, city);
}

void print(const address_book& book) {
    for (const auto& [city, count] : book.people_in) std::printf("%s: %d\n", city.str().c_str(), count.get());
}

}  // namespace

int main() {
    holdfast::create_options options;
    options.bytes = 4 << 20;
    options.layout = "address-book-1";
    {
        auto pool = store::pool::open_or_create("people.pool", options).value();
        auto* book = pool.root<address_book>("book").value();
        pool.atomically([&] {
                add(*book, "Ada", "ada@example.org", 1815, "London");
                add(*book, "Emmy", "emmy@example.org", 1882, "Erlangen");
                add(*book, "Kurt", "kurt@example.org", 1906, "Brno");
                move_to(*book, "Emmy", "Göttingen");
            }).value();
        // Nobody called Alan: at() throws, and what the transaction did before is taken back.
        try {
            static_cast<void>(pool.atomically([&] {
                move_to(*book, "Kurt", "Princeton");
                move_to(*book, "Alan", "Bletchley");
            }));
        } catch (const std::out_of_range&) {
            std::puts("no such person; nobody has moved");
        }
    }  // closed here, and opened again as another run of the program would
    auto pool = store::pool::open("people.pool", options).value();
    const auto* book = pool.root<address_book>("book").value();
    print(*book);
    return book->people.at("Kurt").city == "Brno" && book->people_in.size() == 3 ? 0 : 1;
}
