// Suite lines: objects of many lines, of which one word changes or all do, against floors, logs and a rival.
#include <bench/contest/word_object.hpp>
#include <bench/line_commits.hpp>
#include <bench/nvram.hpp>
#include <bench/pools.hpp>
#include <bench/rivals/process.hpp>
#include <bench/suites.hpp>
#include <bench/tagged_lines.hpp>

#include <holdfast/engine/redo.hpp>
#include <holdfast/engine/undo.hpp>
#include <holdfast/line/lines.hpp>
#include <holdfast/persist/sites.hpp>

#include <algorithm>
#include <new>
#include <set>

namespace holdfast::bench {
namespace {

constexpr std::uint64_t object_log_bytes = 1u << 20;

/// `Object` is lines<word_object<Bytes>> or tagged_lines<word_object<Bytes>>.
template <class Object, std::size_t Bytes>
class object_contestant final : public contestant {
public:
    object_contestant(const setting& where, scratch& space)
        : memory_(space.memory_directory(), sizeof(Object)),
          object_(new (memory_.data()) Object(word_object<Bytes>{})),
          delay_ns_(where.delay_ns) {}

    batch run(const std::string& name, std::uint64_t transactions) override {
        const line_commits as_asked(true, delay_ns_);
        return name == "all-dirty" ? measure<true>(transactions) : measure<false>(transactions);
    }

private:
    template <bool All>
    batch measure(std::uint64_t transactions) {
        return time_transactions(transactions, [&](std::uint64_t value) {
            object_->transact(
                [=](word_object<Bytes>& active) { change(active.words, Bytes / 8, All, value); });
        });
    }

    nvram memory_;
    Object* object_;
    std::uint32_t delay_ns_;
};

/// The same words as fields in a pool.
template <class Engine>
class pooled_object final : public contestant {
    struct words {
        basic_field<Engine, std::uint64_t> all[most_object_bytes / 8];
    };

public:
    pooled_object(const setting& where, scratch& space)
        : count_(where.elements / 8),
          pool_(space.path(where.medium, std::string(Engine::description.name)), where,
                (16u << 20) + where.log_bytes, [](basic_pool<Engine>&) {}),
          words_(pool_.pool().template root<words>("words").value()) {}

    batch run(const std::string& name, std::uint64_t transactions) override {
        const std::uint64_t before = pool_.log_truncations();
        const bool all = name == "all-dirty";
        batch done = time_transactions(transactions, [&](std::uint64_t value) {
            pool_.pool()
                .atomically([&] {
                    // One record instead of one for each word, for those who write such.
                    if (all) Engine::will_write(words_->all, count_ * 8);
                    change(words_->all, count_, all, value);
                })
                .value();
        });
        done.spent->has_log = true;
        done.spent->truncations = pool_.log_truncations() - before;
        return done;
    }

private:
    std::size_t count_;
    bench_pool<Engine> pool_;
    words* words_;
};

/// Stores to lines side by side, their write-backs and one fence. Other lines each time, because the least is
/// asked for: one that was written back a moment ago takes longer.
class lines_floor final : public contestant {
public:
    lines_floor(std::uint64_t lines, scratch& space)
        : lines_(lines),
          places_(std::max<std::uint64_t>(least_lines / lines, 2)),
          memory_(space.memory_directory(), places_ * lines * persist::line_bytes) {}

    batch run(const std::string&, std::uint64_t transactions) override {
        return time_transactions(transactions, [&](std::uint64_t value) {
            std::byte* const first = memory_.data() + value % places_ * lines_ * persist::line_bytes;
            const auto line = [&](std::uint64_t i) { return first + i * persist::line_bytes; };
            for (std::uint64_t i = 0; i < lines_; ++i)
                persist::store_word(reinterpret_cast<std::uint64_t*>(line(i)), value, 0xFF, persist::site::measure);
            for (std::uint64_t i = 0; i < lines_; ++i)
                persist::write_back_one(memory_.path(), line(i), persist::site::measure);
            persist::fence(memory_.path(), persist::site::measure);
        });
    }

private:
    /// They stay in the first-level cache.
    static constexpr std::uint64_t least_lines = 256;

    std::uint64_t lines_;
    std::uint64_t places_;
    nvram memory_;
};

template <std::size_t Bytes>
std::unique_ptr<contestant> make_object(const std::string& engine, const setting& where, scratch& space) {
    using object = word_object<Bytes>;
    if (engine == "lines") return std::make_unique<object_contestant<lines<object>, Bytes>>(where, space);
    return std::make_unique<object_contestant<tagged_lines<object>, Bytes>>(where, space);
}

std::unique_ptr<contestant> make_object(const std::string& engine, const setting& where, scratch& space) {
    std::unique_ptr<contestant> made;
    [&]<std::size_t... I>(std::index_sequence<I...>) {
        ((object_sizes[I] == where.elements ? void(made = make_object<object_sizes[I]>(engine, where, space)) : void()),
         ...);
    }(std::make_index_sequence<std::size(object_sizes)>{});
    return made;
}

/// Write-backs of a transaction of `lines` in its steady state.
std::uint64_t write_backs_of(contestant& object, const std::string& case_name) {
    constexpr std::uint64_t transactions = 64;
    object.run(case_name, transactions);
    return object.run(case_name, transactions).spent->medium.write_backs / transactions;
}

parameters object_parameters(const setting& where) {
    return {{"level", where.level},
            {"medium", where.medium},
            {"delay_ns", std::uint64_t{where.delay_ns}},
            {"bytes", where.elements}};
}

using floors = std::set<std::pair<std::uint64_t, std::uint64_t>>;

match make_lines_match(std::uint64_t bytes, const std::string& name, floors& recorded, const options& asked,
                       scratch& space) {
    setting where;
    where.elements = bytes;
    where.log_bytes = object_log_bytes;
    where.delay_ns = asked.delay_ns;
    match made;
    made.suite = "lines";
    made.title = "lines   level power   medium nvram   threads 1   bytes " + std::to_string(bytes);
    made.limits.wanted_ns = asked.quick ? 4e6 : 20e6;
    made.limits.longest_ns = asked.quick ? 30e6 : 800e6;
    made.limits.log_bytes = object_log_bytes;
    made.limits.laps = 1.2;
    made.limits.repetitions = asked.quick ? repetitions : 15;
    const auto add = [&](const std::string& engine, std::unique_ptr<contestant> measured) {
        if (chosen(asked, engine))
            made.entries.push_back({engine, std::move(measured), {name}, object_parameters(where)});
    };
    auto object = make_object("lines", where, space);
    if (chosen(asked, "none")) {
        const std::uint64_t lines = write_backs_of(*object, name);
        setting undelayed = where;
        undelayed.delay_ns = 0;
        auto params = object_parameters(undelayed);
        params.emplace_back("lines", lines);
        // Where both cases write back as many lines, one floor is the other's.
        made.entries.push_back({"none", std::make_unique<lines_floor>(lines, space), {"floor"}, std::move(params),
                                recorded.emplace(bytes, lines).second});
    }
    add("lines", std::move(object));
    add("lines_tagged", make_object("lines_tagged", where, space));
    add("redo", std::make_unique<pooled_object<redo>>(where, space));
    add("undo", std::make_unique<pooled_object<undo>>(where, space));
    if (chosen(asked, "libpmemobj_best")) add("libpmemobj_best", start_rival("libpmemobj_best", "lines", where, space));
    return made;
}

}  // namespace

std::vector<planned_match> plan_lines(const options& wanted, scratch& space) {
    std::vector<planned_match> plan;
    const auto recorded = std::make_shared<floors>();
    for (const std::uint64_t bytes : object_sizes)
        for (const std::string name : {"one-dirty", "all-dirty"})
            plan.push_back([=, &wanted, &space] { return make_lines_match(bytes, name, *recorded, wanted, space); });
    return plan;
}

}  // namespace holdfast::bench
