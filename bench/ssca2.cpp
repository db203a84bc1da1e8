// Suite ssca2: kernel 1 of SSCA#2 at a footprint that stays, as the simulated machine runs it: a transaction takes the
// oldest edge away and adds the next graph's next one.
#include <bench/field.hpp>
#include <bench/pools.hpp>

#include <workload/ssca2.hpp>

#include <bit>

namespace holdfast::bench {
namespace {

constexpr std::uint64_t bytes_per_edge = 128;
constexpr std::uint64_t filled_at_once = 16;

template <class Engine>
class ssca2_contestant final : public contestant {
public:
    ssca2_contestant(const std::string& path, const setting& where)
        : where_(where),
          edges_(1, scale_of(where.elements)),
          pool_(path, where, where.elements * bytes_per_edge + where.log_bytes + (64u << 20),
                [&](basic_pool<Engine>& filled) { fill(filled); }),
          graph_(pool_.access(), pool_.pool().template plain_root<workload::ssca2_root>("graph").value()) {}

    /// The edges of a batch are made before it: the specification does not time the generator.
    batch run(const std::string&, std::uint64_t transactions) override {
        const auto oldest = edges_from(done_, transactions), next = edges_from(done_ + where_.elements, transactions);
        done_ += transactions;
        return pool_.measure(1, transactions, [&](unsigned, std::uint64_t count) {
            for (std::uint64_t i = 0; i < count; ++i) {
                bool was_there = false;
                pool_.pool().atomically([&] { was_there = replace(oldest[i], next[i], i); }).value();
                if (!was_there) fail(errc::not_found, "an edge was not where it has to be");
            }
        });
    }

private:
    static std::uint64_t scale_of(std::uint64_t edges) {
        return static_cast<std::uint64_t>(std::bit_width(edges / workload::rmat_generator::edges_per_vertex)) - 1;
    }

    std::vector<workload::weighted_edge> edges_from(std::uint64_t first, std::uint64_t count) const {
        std::vector<workload::weighted_edge> edges(count);
        for (std::uint64_t i = 0; i < count; ++i) edges[i] = edges_.edge(first + i);
        return edges;
    }

    bool replace(const workload::weighted_edge& oldest, const workload::weighted_edge& next, std::uint64_t number) {
        std::uint64_t value = 0;
        if (!graph_.remove_edge(oldest, value)) return false;
        graph_.add_edge(next, number);
        return true;
    }

    void fill(basic_pool<Engine>& filled) {
        const workload::ssca2_graph graph(pool_access<Engine>(filled.core()),
                                          filled.template plain_root<workload::ssca2_root>("graph").value());
        if (!graph.create(scale_of(where_.elements))) fail(errc::no_space, "the graph could not be made");
        for (std::uint64_t first = 0; first < where_.elements; first += filled_at_once) {
            const std::uint64_t end = std::min(first + filled_at_once, where_.elements);
            filled.atomically([&] {
                for (std::uint64_t i = first; i < end; ++i) graph.add_edge(edges_.edge(i), i);
            }).value();
        }
    }

    setting where_;
    workload::rmat_generator edges_;
    bench_pool<Engine> pool_;
    workload::ssca2_graph<pool_access<Engine>> graph_;
    std::uint64_t done_ = 0;
};

}  // namespace

std::vector<planned_match> plan_ssca2(const options& wanted, scratch& space) {
    std::vector<planned_match> plan;
    for (const std::string level : {"power", "process"}) {
        field one;
        one.suite = "ssca2";
        one.cases = {"replace"};
        one.where = {.level = level, .medium = "nvram", .elements = wanted.quick ? 100'000u : 1'000'000u};
        one.where.log_bytes = 1u << 20;
        one.where.delay_ns = wanted.delay_ns;
        one.with_rivals = false;
        one.with_undo_paper = !wanted.quick;
        plan.push_back([one, &wanted, &space] { return make_match<ssca2_contestant>(one, wanted, space); });
    }
    return plan;
}

}  // namespace holdfast::bench
