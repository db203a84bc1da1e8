#include <bench/hot_node.hpp>

#include <bench/contest/cpu_clock.hpp>
#include <bench/pools.hpp>
#include <bench/suites.hpp>

#include <holdfast/engine/redo.hpp>
#include <holdfast/engine/softwrap.hpp>
#include <holdfast/engine/softwrap_lat.hpp>
#include <holdfast/engine/undo.hpp>
#include <holdfast/engine/volatile_only.hpp>

#include <array>
#include <memory>

namespace holdfast::bench {
namespace {

struct node {
    std::array<std::uint64_t, 64> words{};
};

template <class Engine>
class hot_node_contestant final : public contestant {
public:
    hot_node_contestant(const setting& where, scratch& space)
        : pool_(space.path(where.medium, std::string(Engine::description.name)), where, 1u << 20,
                [](basic_pool<Engine>& filled) { static_cast<void>(root_of(filled)); }) {}

    batch run(const std::string&, std::uint64_t transactions) override {
        node& hot = *root_of(pool_.pool());
        const auto access = pool_.access();
        double spent_ns = 0;
        const double process_ns = process_cpu_ns();
        batch done = pool_.measure(1, transactions, [&](unsigned, std::uint64_t count) {
            const double begin_ns = thread_cpu_ns();
            for (std::uint64_t i = 0; i < count; ++i)
                if (!access.atomically([&] { write(access, hot); })) fail(errc::io, "a node could not be written");
            spent_ns = thread_cpu_ns() - begin_ns;
        });
        done.ns = spent_ns;
        done.seen = {others_per_transaction(process_cpu_ns() - process_ns - spent_ns, transactions)};
        return done;
    }

private:
    static node* root_of(basic_pool<Engine>& pool) { return pool.template plain_root<node>("node").value(); }

    /// What is written depends on what was read, as in a node that is searched and shifted.
    static void write(const pool_access<Engine>& access, node& hot) {
        access.will_write(&hot);
        for (std::size_t i = 0; i < hot.words.size(); i += 4)
            access.store(&hot.words[i], access.load(&hot.words[i]) + i + 1);
    }

    bench_pool<Engine> pool_;
};

class hot_field {
public:
    hot_field(match& to, const setting& where, const options& asked, scratch& space)
        : to_(to), where_(where), asked_(asked), space_(space) {}

    template <class Engine>
    void add(const std::string& variant = "") {
        const std::string name(Engine::description.name);
        if (!chosen(asked_, name)) return;
        setting where = where_;
        where.variant = variant;
        to_.entries.push_back({name, std::make_unique<hot_node_contestant<Engine>>(where, space_), {"hot_node"},
                               where.as_parameters()});
    }

private:
    match& to_;
    const setting& where_;
    const options& asked_;
    scratch& space_;
};

}  // namespace

match make_hot_node_match(const setting& where, const options& asked, scratch& space) {
    match made;
    made.suite = "wrap";
    made.title = where.title("wrap: one node of 512 bytes, written again and again");
    made.limits.repetitions = asked.quick ? repetitions : 15;
    made.limits.fixed_transactions = 20'000;
    hot_field field(made, where, asked, space);
    field.add<volatile_only>();
    field.add<undo_paper>();
    field.add<undo>();
    field.add<redo>();
    field.add<softwrap_lat>();
    field.add<softwrap>();
    field.add<softwrap>("by_commits");
    return made;
}

}  // namespace holdfast::bench
