// Functions of every container that change it, each in a transaction in which one allocation or one system call fails.
// The standard library's containers are the model.
#include <holdfast/handle/failing_rows_test_support.hpp>

#include <holdfast/container/btree_map.hpp>
#include <holdfast/container/hash_map.hpp>
#include <holdfast/container/list.hpp>
#include <holdfast/container/queue.hpp>
#include <holdfast/container/string.hpp>
#include <holdfast/container/vector.hpp>
#include <holdfast/engine/redo.hpp>
#include <holdfast/engine/softwrap.hpp>
#include <holdfast/engine/undo.hpp>
#include <holdfast/handle/pool.hpp>

#include <list>
#include <map>
#include <queue>

namespace holdfast::test {
namespace {

using number = std::uint64_t;

/// One of each, in a pool.
template <class Engine>
struct held {
    vector<number, Engine> numbers;
    vector<string<Engine>, Engine> texts;
    string<Engine> line;
    hash_map<number, number, Engine> hash;
    hash_map<string<Engine>, number, Engine> hash_of_texts;
    btree_map<number, number, Engine> tree;
    btree_map<number, string<Engine>, Engine> tree_of_texts;
    queue<number, Engine> waiting;
    list<number, Engine> chain;
    list<string<Engine>, Engine> chain_of_texts;
    basic_field<Engine, number> goes_on;

    template <class F>
    void each(F&& f) const {
        f(numbers), f(texts), f(line), f(hash), f(hash_of_texts), f(tree), f(tree_of_texts), f(waiting);
        f(chain), f(chain_of_texts);
    }
};

/// The same of the standard library.
struct model {
    std::vector<number> numbers;
    std::vector<std::string> texts;
    std::string line;
    std::map<number, number> hash;
    std::map<std::string, number> hash_of_texts;
    std::map<number, number> tree;
    std::map<number, std::string> tree_of_texts;
    std::queue<number> waiting;
    std::list<number> chain;
    std::list<std::string> chain_of_texts;
};

std::string word(number n) { return "a text that is too long to stand inline: " + std::to_string(n); }

template <class T>
std::string written(const T& value) {
    if constexpr (requires { value.first; }) {
        return written(value.first) + ":" + written(value.second);
    } else if constexpr (requires { value.str(); }) {
        return value.str();
    } else if constexpr (requires { value.get(); }) {
        return std::to_string(value.get());
    } else if constexpr (std::is_integral_v<T>) {
        return std::to_string(value);
    } else {
        return std::string(value);
    }
}
std::string listed(const auto& parts) {
    std::string text = "[";
    for (const std::string& part : parts) text += part + ",";
    return text + "]";
}
template <class T>
std::string all_of(const T& container) {
    std::vector<std::string> parts;
    if constexpr (requires { container.begin(); }) {
        for (const auto& each : container) parts.push_back(written(each));
    } else {
        for (auto left = container; !left.empty(); left.pop()) parts.push_back(written(left.front()));
    }
    return listed(parts);
}
/// A hash map has no order.
std::string sorted(const auto& container) {
    std::set<std::string> parts;
    for (const auto& each : container) parts.insert(written(each));
    return listed(parts);
}
/// All that stands in it; of a model and of what is held alike.
template <class T>
std::string text_of(const T& all) {
    return all_of(all.numbers) + all_of(all.texts) + written(all.line) + sorted(all.hash) + sorted(all.hash_of_texts) +
           all_of(all.tree) + all_of(all.tree_of_texts) + all_of(all.waiting) + all_of(all.chain) +
           all_of(all.chain_of_texts);
}

/// What is done to the containers and to their models.
template <class Engine>
struct change {
    const char* name;
    std::function<void(held<Engine>&)> in_pool;
    std::function<void(model&)> in_model;
};
template <class Engine, class F>
change<Engine> made_of(const char* name, F f) {
    return {name, [f](held<Engine>& all) { f(all); }, [f](model& all) { f(all); }};
}

/// What the standard library's maps do not have, or have by another name.
void reserve(auto& map, number count) {
    if constexpr (requires { map.reserve(count); }) map.reserve(count);
}
template <class Map, class Entries>
void assign_sorted(Map& map, const Entries& entries) {
    if constexpr (requires { map.assign_sorted(entries.begin(), entries.end()); }) {
        map.assign_sorted(entries.begin(), entries.end());
    } else {
        map = Map(entries.begin(), entries.end());
    }
}

/// Those that change many elements, or two containers, and those of lists.
template <class Engine>
std::vector<change<Engine>> changes_of_many() {
    const auto row = [](const char* name, auto f) { return made_of<Engine>(name, f); };
    return {
        row("vector::insert of a range",
           [](auto& all) {
               const std::vector<number> more(600, 7);
               all.numbers.insert(all.numbers.begin() + 3, more.begin(), more.end());
           }),
        row("vector of strings, erase_if",
           [](auto& all) { erase_if(all.texts, [](const auto& each) { return written(each).back() % 2 == 0; }); }),
        row("moves and swaps",
           [](auto& all) {
               all.texts[1] = std::move(all.texts[0]), all.line = std::move(all.texts[2]);
               swap(all.chain_of_texts.front(), all.texts[3]);
           }),
        row("hash_map::reserve", [](auto& all) { reserve(all.hash, 5000), all.hash.insert_or_assign(1000, 1); }),
        row("hash_map::erase_if",
           [](auto& all) { erase_if(all.hash, [](const auto& each) { return each.first % 3 == 0; }); }),
        row("btree_map::erase of a range",
           [](auto& all) { all.tree.erase(all.tree.lower_bound(3), all.tree.lower_bound(30)); }),
        row("btree_map of texts, assign_sorted",
           [](auto& all) {
               std::vector<std::pair<number, std::string>> entries;
               for (number i = 0; i < 60; ++i) entries.emplace_back(i, word(i));
               assign_sorted(all.tree_of_texts, entries);
           }),
        row("list::push_back",
           [](auto& all) {
               for (number i = 0; i < 200; ++i) all.chain.push_back(i);
           }),
        row("list::erase", [](auto& all) { all.chain.erase(std::next(all.chain.begin(), 3)); }),
        row("list::splice",
           [](auto& all) { all.chain.splice(all.chain.begin(), all.chain, std::next(all.chain.begin(), 5)); }),
        row("list of texts, insert",
           [](auto& all) { all.chain_of_texts.insert(std::next(all.chain_of_texts.begin()), word(9)); }),
        row("list of texts, clear", [](auto& all) { all.chain_of_texts.clear(); }),
    };
}

template <class Engine>
std::vector<change<Engine>> changes() {
    const auto row = [](const char* name, auto f) { return made_of<Engine>(name, f); };
    return {
        row("vector::push_back", [](auto& all) { all.numbers.push_back(5); }),
        row("vector::insert", [](auto& all) { all.numbers.insert(all.numbers.begin() + 7, 5); }),
        row("vector::erase", [](auto& all) { all.numbers.erase(all.numbers.begin() + 7); }),
        row("vector::resize", [](auto& all) { all.numbers.resize(3000); }),
        row("vector::shrink_to_fit", [](auto& all) { all.numbers.resize(3), all.numbers.shrink_to_fit(); }),
        row("vector of strings, push_back", [](auto& all) { all.texts.push_back(word(9)); }),
        row("vector of strings, insert", [](auto& all) { all.texts.insert(all.texts.begin() + 1, word(9)); }),
        row("vector of strings, clear", [](auto& all) { all.texts.clear(); }),
        row("string::append", [](auto& all) { all.line.append(word(1)); }),
        row("string::assign", [](auto& all) { all.line.assign(word(2) + word(3)); }),
        row("hash_map::insert_or_assign",
           [](auto& all) { all.hash.insert_or_assign(3, 4), all.hash.insert_or_assign(1000, 1); }),
        row("hash_map that grows",
           [](auto& all) {
               for (number i = 100; i < 260; ++i) all.hash.insert_or_assign(i, i);
           }),
        row("hash_map::erase", [](auto& all) { all.hash.erase(3); }),
        row("hash_map::clear", [](auto& all) { all.hash.clear(); }),
        row("hash_map of texts, insert_or_assign",
           [](auto& all) { all.hash_of_texts.insert_or_assign(word(70), 1); }),
        row("btree_map::insert_or_assign",
           [](auto& all) { all.tree.insert_or_assign(3, 4), all.tree.insert_or_assign(1000, 1); }),
        row("btree_map whose nodes split",
           [](auto& all) {
               for (number i = 100; i < 260; ++i) all.tree.insert_or_assign(i, i);
           }),
        row("btree_map::erase",
           [](auto& all) {
               for (number i = 0; i < 20; ++i) all.tree.erase(i);
           }),
        row("btree_map::clear", [](auto& all) { all.tree.clear(); }),
        row("btree_map of texts, insert_or_assign",
           [](auto& all) { all.tree_of_texts.insert_or_assign(4, word(70)); }),
        row("queue::push",
           [](auto& all) {
               for (number i = 0; i < 600; ++i) all.waiting.push(i);
           }),
        row("queue::pop",
           [](auto& all) {
               for (int i = 0; i < 12; ++i) all.waiting.pop();
           }),
        row("all of them",
           [](auto& all) {
               all.numbers.push_back(1), all.texts.push_back(word(1)), all.line.append("and");
               all.hash.insert_or_assign(7, 7), all.tree.erase(7), all.waiting.push(7);
           }),
    };
}

void fill(auto& all) {
    for (number i = 0; i < 16; ++i) {
        all.numbers.push_back(i), all.waiting.push(i), all.chain.push_back(i);
        all.hash.insert_or_assign(i, i), all.tree.insert_or_assign(i, i);
    }
    for (number i = 0; i < 24; ++i) all.tree.insert_or_assign(2 * i, i);
    for (number i = 0; i < 4; ++i) {
        all.texts.push_back(word(i)), all.chain_of_texts.push_back(word(i));
        all.hash_of_texts.insert_or_assign(word(i), i), all.tree_of_texts.insert_or_assign(i, word(i));
    }
    all.line.assign(word(0));
}

template <class Engine>
class container_attempt : public attempt_on_pool<basic_pool<Engine>> {
    using base = attempt_on_pool<basic_pool<Engine>>;
    using pool = basic_pool<Engine>;

public:
    container_attempt(const change<Engine>& what, const place& where, const std::string& directory)
        : base(std::string(Engine::description.name) + ", " + where.name + ", " + what.name, where, directory),
          change_(what) {}

    void prepare() override {
        this->pool_.emplace(pool::create(this->path(), this->options_).value());
        find();
        apply([](auto& all) { fill(all); });
    }
    void grow_old(std::uint64_t seed) override {
        std::mt19937_64 random(seed);
        const auto any = [&] { return static_cast<number>(random() % 300); };
        for (std::uint64_t left = random() % 10; left != 0; --left) {
            if (random() % 8 == 0) this->kill();
            open();
            for (const number key : {any(), any(), any(), any()})
                apply([&](auto& all) {
                    all.numbers.push_back(key), all.waiting.push(key), all.texts.push_back(word(key));
                    all.chain.push_front(key), all.chain_of_texts.push_back(word(key));
                    all.hash.insert_or_assign(key, key), all.tree.insert_or_assign(key, key);
                    all.hash_of_texts.insert_or_assign(word(key), key);
                    all.tree_of_texts.insert_or_assign(key, word(key));
                    all.line.append(word(key));
                    for (number i = 0; i < 100; ++i) all.hash.erase(key + i), all.tree.erase(key + i);
                });
        }
    }
    void make_ready() override {}
    outcome call() override {
        auto said = outcome_of([&] { return this->pool_->atomically([&] { change_.in_pool(*held_); }); });
        is_done_ = said.well();
        return said;
    }
    std::string contents() override {
        open();
        if (const auto wrong = check_all(*held_); !wrong.empty()) throw std::runtime_error(wrong);
        const std::string text = text_of(*held_), before = text_of(model_);
        model changed = model_;
        change_.in_model(changed);
        if (text == text_of(changed)) return "changed";
        if (text == before && !is_done_) return "as before";
        throw std::runtime_error("not as the model: " + text + ", before: " + before);
    }
    outcome go_on() override {
        if (!this->is_open()) return {};
        return outcome_of([&] { return this->pool_->atomically([&] { held_->goes_on = held_->goes_on + 1; }); });
    }
    /// With all blocks that the containers own: none may be lost.
    std::string check() override {
        return problems_of(this->path(), [](const open_pool& core, const std::vector<root_listing>& roots) {
            contents_finding found;
            const std::byte* const at = core.base() + roots.front().offset;
            const auto& all = *reinterpret_cast<const held<Engine>*>(at);
            if (const auto wrong = check_all(all); !wrong.empty()) found.problem = wrong;
            found.owned.push_back(at);
            all.each([&](const auto& one) {
                one.visit_blocks([&](const void* block) { found.owned.push_back(block); });
            });
            return found;
        });
    }

private:
    template <class F>
    void apply(F&& f) {
        this->pool_->atomically([&] { f(*held_); }).value();
        f(model_);
    }
    static std::string check_all(const held<Engine>& all) {
        std::string wrong;
        all.each([&](const auto& one) {
            if (const auto checked = one.check(); !checked) wrong += checked.error().text() + "; ";
        });
        return wrong;
    }
    void open() {
        if (this->is_open()) return;
        this->pool_.reset();
        this->pool_.emplace(pool::open(this->path(), this->options_).value());
        find();
    }
    void find() { held_ = this->pool_->template root<held<Engine>>("held").value(); }

    change<Engine> change_;
    held<Engine>* held_ = nullptr;
    model model_;
    bool is_done_ = false;
};

template <class Engine>
std::vector<attempt_of_directory> attempts() {
    std::vector<attempt_of_directory> all;
    for (const place& at : places) {
        if (at.has_log_on_file() && !Engine::description.power_on_files) continue;
        auto all_changes = changes<Engine>();
        for (auto& each : changes_of_many<Engine>()) all_changes.push_back(std::move(each));
        for (const auto& each : all_changes)
            all.push_back([=](const std::string& directory) {
                return std::make_unique<container_attempt<Engine>>(each, at, directory);
            });
    }
    return all;
}

TEST(FailingContainers, OfRedoAreAsTheirModelBeforeOrAfter) { run_rows(attempts<redo>()); }

TEST(FailingContainers, OfUndoAreAsTheirModelBeforeOrAfter) { run_rows(attempts<undo>()); }

TEST(FailingContainers, OfSoftwrapAreAsTheirModelBeforeOrAfter) { run_rows(attempts<softwrap>()); }

TEST(FailingContainers, FailuresByChanceInPoolsWithAPastLoseNothing) {
    auto all = attempts<redo>();
    for (auto& each : attempts<undo>()) all.push_back(std::move(each));
    for (auto& each : attempts<softwrap>()) all.push_back(std::move(each));
    run_rows_by_chance(all, 120'000);
}

}  // namespace
}  // namespace holdfast::test
