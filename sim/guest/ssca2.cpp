// The guest program for workload/ssca2.hpp. Kernel 1 fills the graph; in the region of interest it goes on, each
// operation a transaction that takes the thread's oldest edge away and adds the next graph's next; kernels 2, 3 and 4
// then analyse what is there. After the second graph comes the first again.
//
// Vertices have locks, as many as there are shards. What is found in the end does not depend on the order of the
// threads, and the check finds it again in other ways.
#include <sim/guest/choose_access.hpp>
#include <sim/guest/element.hpp>
#include <sim/guest/heap.hpp>
#include <sim/guest/parameters.hpp>
#include <workload/ssca2_kernels.hpp>

namespace {

using namespace holdfast::guest;
using namespace holdfast::workload;

/// Of the graph with all its edges.
constexpr std::uint64_t bytes_per_edge =
    sizeof(ssca2_edge) + (sizeof(ssca2_vertex) + sizeof(std::uint64_t)) / rmat_generator::edges_per_vertex;
/// The number of vertices from which kernel 4 looks; the specification leaves it to the user as a power of two.
constexpr std::uint64_t sources = 8;

class vertex_locks {
public:
    explicit vertex_locks(std::uint32_t count) noexcept
        : locks_(static_cast<lock*>(allocate_volatile((count + 1) * sizeof(lock)))), count_(count) {}
    lock& of_vertex(std::uint64_t vertex) noexcept { return locks_[1 + vertex % count_]; }
    lock& of_large() noexcept { return locks_[0]; }

private:
    lock* locks_;  // all zero is free
    std::uint32_t count_;
};

/// Two locks as one, which may be the same. Always in the same order, so that nobody waits for each other.
struct both_locks {
    lock& one;
    lock& other;
    void acquire() noexcept {
        (&one < &other ? one : other).acquire();
        if (&one != &other) (&one < &other ? other : one).acquire();
    }
    void release() noexcept {
        one.release();
        if (&one != &other) other.release();
    }
};

/// An edge as it waits in the list that kernel 1 works off.
struct edge_tuple {
    std::uint32_t from, to, weight;
    weighted_edge edge() const noexcept { return {from, to, weight}; }
};

template <class Element, class Access>
class ssca2_program {
public:
    explicit ssca2_program(const parameters& given) noexcept
        : given_(given), edges_of_thread_(edges_in(given.footprint_bytes) / given.threads),
          scale_(scale_of(edges_of_thread_ * given.threads)), vertices_(std::uint64_t{1} << scale_),
          generator_(given.seed, scale_), arena_(arena::create(room(), given.threads)),
          root_(static_cast<ssca2_root*>(arena_.root())), locks_(given.shards), all_there_(given.threads) {}

    int run() noexcept {
        graph<guest_access>(guest_access(arena_, 0), root_).create(scale_);
        auto work = [this](std::uint32_t thread) { work_as(thread); };
        run_threads(given_.threads, work);
        return verify();
    }

private:
    template <class By>
    using graph = ssca2_graph<By>;
    using kernels = ssca2_kernels<guest_access, vertex_locks>;

    static std::uint64_t edges_in(std::uint64_t footprint) noexcept {
        return footprint / (bytes_per_edge + Element::bytes);
    }
    static std::uint64_t scale_of(std::uint64_t edges) noexcept {
        std::uint64_t scale = 1;
        while ((rmat_generator::edges_per_vertex << (scale + 1)) <= edges) ++scale;
        return scale;
    }
    /// Of one thread's part of the arena. The first thread has the vertices; slabs have ends that nobody uses.
    std::uint64_t room() const noexcept {
        const std::uint64_t bytes =
            edges_of_thread_ * (sizeof(ssca2_edge) + Element::bytes) + vertices_ * (sizeof(ssca2_vertex) + 8);
        return bytes + bytes / 64 + (1u << 20);
    }
    std::uint64_t operations_of(std::uint32_t thread) const noexcept {
        return given_.operations / given_.threads + (thread < given_.operations % given_.threads ? 1 : 0);
    }
    /// Which of the generator's edges a thread's i-th is.
    std::uint64_t index(std::uint32_t thread, std::uint64_t i) const noexcept { return i * given_.threads + thread; }
    std::uint64_t first_vertex_of(std::uint32_t thread) const noexcept { return vertices_ * thread / given_.threads; }
    std::uint64_t source(std::uint64_t number) const noexcept {
        std::uint64_t mixed = given_.seed + number;
        return splitmix(mixed) % vertices_;
    }
    ssca2_scratch make_scratch() const noexcept {
        const std::uint64_t words = ssca2_scratch::words_per_vertex * vertices_;
        return {static_cast<std::uint64_t*>(allocate_volatile(words * sizeof(std::uint64_t))), vertices_};
    }

    /// Equal edges keep equal elements: a thread may take another's instead of its own.
    static std::int64_t seed_of(const weighted_edge& edge) noexcept {
        return static_cast<std::int64_t>(edge.from << 40 ^ edge.to << 20 ^ edge.weight);
    }

    void work_as(std::uint32_t thread) noexcept {
        const guest_access memory(arena_, thread);
        ssca2_scratch scratch = make_scratch();
        const edge_tuple* const tuples = generate(thread);
        for (std::uint64_t i = 0; i < edges_of_thread_; ++i) add(memory, tuples[i].edge());
        all_there_.arrive_and_wait();
        const Access logged(arena_, thread);
        if (thread == 0) begin_region_of_interest();
        const std::uint64_t operations = operations_of(thread), end = tuples_of(thread);
        std::uint64_t oldest = 0, next = edges_of_thread_ % end;
        for (std::uint64_t i = 0; i < operations; ++i) {
            replace(logged, tuples[oldest].edge(), tuples[next].edge());
            oldest = oldest + 1 == end ? 0 : oldest + 1;
            next = next + 1 == end ? 0 : next + 1;
        }
        all_there_.arrive_and_wait();
        analyse(memory, scratch);
        all_there_.arrive_and_wait();
        if (thread == 0) end_region_of_interest();
    }

    /// How many edges a thread has in its list: those of a graph and of the next, as far as it gets. Behind the last
    /// comes the first again.
    std::uint64_t tuples_of(std::uint32_t thread) const noexcept {
        const std::uint64_t operations = operations_of(thread);
        return edges_of_thread_ + (operations < edges_of_thread_ ? operations : edges_of_thread_);
    }
    /// Beforehand, since the specification does not time the generator.
    const edge_tuple* generate(std::uint32_t thread) const noexcept {
        const std::uint64_t count = tuples_of(thread);
        auto* const made = static_cast<edge_tuple*>(allocate_volatile(count * sizeof(edge_tuple)));
        for (std::uint64_t i = 0; i < count; ++i) {
            const weighted_edge edge = generator_.edge(index(thread, i));
            made[i] = {static_cast<std::uint32_t>(edge.from), static_cast<std::uint32_t>(edge.to),
                       static_cast<std::uint32_t>(edge.weight)};
        }
        return made;
    }

    void add(const guest_access& memory, const weighted_edge& edge) noexcept {
        memory.atomically(locks_.of_vertex(edge.from), [&] { add_in_transaction(memory, edge); });
    }
    template <class By>
    void add_in_transaction(const By& memory, const weighted_edge& edge) noexcept {
        const std::int64_t element = Element::make(memory, seed_of(edge));
        graph<By>(memory, root_).add_edge(edge, static_cast<std::uint64_t>(element));
    }

    /// One operation.
    void replace(const Access& memory, const weighted_edge& old_edge, const weighted_edge& edge) noexcept {
        both_locks guard{locks_.of_vertex(old_edge.from), locks_.of_vertex(edge.from)};
        memory.atomically(guard, [&] {
            std::uint64_t element = 0;
            if (graph<Access>(memory, root_).remove_edge(old_edge, element)) {
                Element::drop(memory, static_cast<std::int64_t>(element));
            }
            add_in_transaction(memory, edge);
        });
    }

    /// Kernels 2, 3 and 4, a thread's part of each.
    void analyse(const guest_access& memory, ssca2_scratch& scratch) noexcept {
        const std::uint32_t thread = memory.thread();
        const kernels found(memory, root_, locks_);
        const std::uint64_t first = first_vertex_of(thread), last = first_vertex_of(thread + 1);
        largest_[thread] = found.largest_weight(first, last);
        all_there_.arrive_and_wait();
        std::uint64_t largest = 0;
        for (const std::uint64_t each : largest_) largest = each > largest ? each : largest;
        found.classify(first, last, largest);
        all_there_.arrive_and_wait();
        for (auto* at = found.large(); at != nullptr; at = found.next(at)) {
            if (at->number % given_.threads == thread) found.extract(at, scratch);
        }
        for (std::uint64_t i = thread; i < sources; i += given_.threads) found.add_scores(source(i), scratch);
    }

    int verify() noexcept {
        const guest_access memory(arena_, 0);
        const kernels found(memory, root_, locks_);
        const auto report = graph<guest_access>(memory, root_).check();
        if (!report.ok()) return failed(report.problem);
        if (report.count != edges_of_thread_ * given_.threads) return failed("edges are missing, or too many");
        if (!verify_edges(found)) return failed("kernel 1: another graph than was generated");
        if (!verify_subgraphs(found)) return failed("kernel 3: other vertices than a search reaches");
        if (!verify_scores(found)) return failed("kernel 4: other scores than one thread finds");
        std::uint64_t sum = edge_sum_;
        for (std::uint64_t i = 0; i < vertices_; ++i) {
            // Which number a large edge got depends on the threads, how many lead here does not.
            std::uint64_t many = 0;
            for (std::uint64_t rest = found.subgraphs_of(i); rest != 0; rest &= rest - 1) ++many;
            sum += mixed(found.score_of(i), many, i);
        }
        line said;
        said.add("ssca2 verified: ").add_decimal(report.count).add(" edges, ").add_decimal(root_->large_count)
            .add(" large, checksum ").add_hexadecimal(sum);
        if (given_.prints_image) said.add(", image ").add_hexadecimal(arena_.image_checksum());
        said.write();
        return 0;
    }

    static std::uint64_t mixed(std::uint64_t a, std::uint64_t b, std::uint64_t c) noexcept {
        std::uint64_t state = a;
        state = splitmix(state) + b;
        state = splitmix(state) + c;
        return splitmix(state);
    }
    static std::uint64_t mixed(const weighted_edge& edge, std::uint64_t content) noexcept {
        return mixed(edge.from, edge.to, edge.weight) + mixed(content, edge.from, edge.to);
    }

    /// Kernels 1 and 2: the edges that the generator gives must be there, and those of the largest weight in the list.
    bool verify_edges(const kernels& found) noexcept {
        std::uint64_t largest = 0;
        const auto each_generated = [&](auto&& f) {
            for (std::uint32_t thread = 0; thread < given_.threads; ++thread) {
                const std::uint64_t done = operations_of(thread), end = tuples_of(thread);
                for (std::uint64_t i = done; i < done + edges_of_thread_; ++i) f(index(thread, i % end));
            }
        };
        each_generated([&](std::uint64_t number) {
            const weighted_edge edge = generator_.edge(number);
            if (edge.weight > largest) largest = edge.weight;
            edge_sum_ += mixed(edge, Element::expected(seed_of(edge)));
        });
        std::uint64_t sum = edge_sum_;
        for (std::uint64_t from = 0; from < vertices_; ++from) {
            const auto take_out = [&](std::uint64_t to, std::uint64_t weight, std::uint64_t value) {
                sum -= mixed({from, to, weight}, Element::content(static_cast<std::int64_t>(value)));
            };
            graph<guest_access>(guest_access(arena_, 0), root_).each_edge(from, take_out);
        }
        std::uint64_t large = 0;
        each_generated([&](std::uint64_t number) {
            const weighted_edge edge = generator_.edge(number);
            if (edge.weight == largest) large += mixed(edge.from, edge.to, 0);
        });
        for (auto* at = found.large(); at != nullptr; at = found.next(at)) large -= mixed(at->from, at->to, 0);
        return sum == 0 && large == 0;
    }

    /// Kernel 3 again, for all large edges together: a step along all edges, twice.
    bool verify_subgraphs(const kernels& found) noexcept {
        ssca2_scratch scratch = make_scratch();
        std::uint64_t* reached = scratch.order;
        std::uint64_t* next = scratch.paths;
        for (auto* at = found.large(); at != nullptr; at = found.next(at)) {
            if (at->number < kernels::subgraphs_max) reached[at->to] |= std::uint64_t{1} << at->number;
        }
        for (int step = 0; step < 2; ++step) {
            for (std::uint64_t i = 0; i < vertices_; ++i) next[i] = reached[i];
            for (std::uint64_t from = 0; from < vertices_; ++from) {
                graph<guest_access>(guest_access(arena_, 0), root_).each_edge(
                    from, [&](std::uint64_t to, std::uint64_t, std::uint64_t) { next[to] |= reached[from]; });
            }
            std::uint64_t* const before = reached;
            reached = next;
            next = before;
        }
        for (auto* at = found.large(); at != nullptr; at = found.next(at)) {
            if (at->number < kernels::subgraphs_max) reached[at->from] |= std::uint64_t{1} << at->number;
        }
        for (std::uint64_t i = 0; i < vertices_; ++i) {
            if (found.subgraphs_of(i) != reached[i]) return false;
        }
        return true;
    }

    /// Kernel 4 again, by one thread, without a transaction.
    bool verify_scores(const kernels& found) noexcept {
        auto* const scores = static_cast<std::uint64_t*>(allocate_volatile(vertices_ * sizeof(std::uint64_t)));
        ssca2_scratch scratch = make_scratch();
        for (std::uint64_t i = 0; i < sources; ++i) {
            for (std::uint64_t at = found.shares(source(i), scratch) - 1; at > 0; --at) {
                scores[scratch.order[at]] += scratch.share[scratch.order[at]];
            }
        }
        for (std::uint64_t i = 0; i < vertices_; ++i) {
            if (found.score_of(i) != scores[i]) return false;
        }
        return true;
    }

    static int failed(const char* problem) noexcept {
        write_line("failed: ", problem);
        return 1;
    }

    parameters given_;
    std::uint64_t edges_of_thread_;
    std::uint64_t scale_;
    std::uint64_t vertices_;
    rmat_generator generator_;
    arena& arena_;
    ssca2_root* root_;
    vertex_locks locks_;
    barrier all_there_;
    std::uint64_t largest_[most_threads]{};
    std::uint64_t edge_sum_ = 0;
};

}  // namespace

int main(int count, char** arguments) {
    const parameters given = read_parameters(count, arguments);
    return with_access(given.logging, [&]<class Access>() {
        if (given.element == element_kind::string) return ssca2_program<string_element, Access>(given).run();
        return ssca2_program<integer_element, Access>(given).run();
    });
}
