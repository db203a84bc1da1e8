#include <bench/dnv/stamp.hpp>

#include <bench/contest/stamp_runs.hpp>

#include <holdfast/dnv/flipping_access.hpp>

#include <vector>

namespace holdfast::bench {
namespace {

/// Room for the root of one program.
DNV_POD alignas(64) unsigned char root_bytes[512] = {};

struct roots_in_pool {
    template <class Root>
    Root* root() const {
        static_assert(sizeof(Root) <= sizeof(root_bytes) && alignof(Root) <= 64);
        return reinterpret_cast<Root*>(root_bytes);
    }
};

/// In all runs of the process so far. With one thread every word that is flipped must be repaired.
struct roots_and_flips : roots_in_pool {
    void add_seen(std::vector<observation>& to) const {
        to.push_back({"flips", "1", static_cast<double>(dnv::flipping_now.flipped_words)});
        to.push_back({"repairs", "1", static_cast<double>(dnv_state().mended_words)});
    }
};

/// Private data are in the pool as well, and reached in blocks alone.
struct in_pool {
    template <class T>
    static T* allocate(std::uint64_t count) {
        constexpr std::uint64_t words_at_once = 1024;
        void* const made = dnv_malloc(count * sizeof(T));
        if (made == nullptr) return nullptr;
        auto* const words = static_cast<std::uint64_t*>(made);
        const std::uint64_t all = (count * sizeof(T) + 7) / 8;
        for (std::uint64_t first = 0; first < all; first += words_at_once)
            __transaction_atomic {
                for (std::uint64_t i = first; i < first + words_at_once && i < all; ++i) words[i] = 0;
            }
        return static_cast<T*>(made);
    }
    static void free(void* places) { dnv_free(places); }
    template <class F>
    static void inside(const dnv::dnv_access& memory, F&& f) {
        static_cast<void>(memory.atomically(f));
    }
    template <class F, class... Given>
    static auto directly(F f, Given... given) {
        return f(given...);
    }
};

template <class Parameters>
struct all_in_pool {
    static constexpr bool is_known = false;
};
template <>
struct all_in_pool<workload::kmeans_parameters> : workload::kmeans_parameters {
    static constexpr bool is_known = true;
    template <class Access>
    using program = workload::kmeans_program<Access, in_pool>;
};
template <>
struct all_in_pool<workload::yada_parameters> : workload::yada_parameters {
    static constexpr bool is_known = true;
    template <class Access>
    using program = workload::yada_program<Access, in_pool>;
};

/// Its check would look at private data outside of blocks. With one thread it must have as many transactions as with
/// private data in ordinary memory: in both programs a wrong result ends earlier or later.
template <class Parameters>
int serve_all_in_pool(const Parameters& given, const std::string& name, unsigned threads) {
    if constexpr (!all_in_pool<Parameters>::is_known) {
        child_failed("the private data of '" + name + "' stay in ordinary memory");
    } else {
        thread_team team(threads);
        const auto work = [](unsigned, auto run) { run(); };
        const std::uint64_t expected =
            stamp_runs<dnv::dnv_access, Parameters>({}, roots_in_pool(), given, name, team, threads)
                .run(work, true).transactions;
        stamp_runs<dnv::dnv_access, all_in_pool<Parameters>> runs({}, roots_in_pool(), {given}, name, team, threads);
        return serve([&](const std::string&, std::uint64_t transactions) {
            batch done;
            double count = 0;
            for (; done.transactions < transactions; ++count) {
                const stamp_run one = runs.run(work, false);
                if (threads == 1 && one.transactions != expected) child_failed(name + " does another thing");
                done.ns += one.ns;
                done.transactions += one.transactions;
            }
            done.seen.push_back({"ns_per_run", "ns", done.ns / count});
            return done;
        });
    }
}

int serve_all_in_pool(const std::string& name, unsigned threads) {
    int status = 1;
    workload::with_stamp_set(
        name, [&](const auto& set) { status = serve_all_in_pool(set.parameters, name, threads); });
    return status;
}

}  // namespace

dnv_options with_room_for_stamp(const std::string& name, dnv_options asked) {
    // Four tables of a million records with their nodes, or a mesh of a million points, at twice their size.
    const bool is_large = name.ends_with("++") || (name.starts_with("vacation") && name.ends_with("+"));
    asked.bytes = std::uint64_t{is_large ? 4096u : 192u} << 20;
    return asked;
}

int serve_stamp_in_pool(const std::string& mode, const std::string& name, unsigned threads) {
    if (mode.ends_with("_all")) return serve_all_in_pool(name, threads);
    if (!mode.ends_with("_flips")) return serve_stamp(dnv::dnv_access(), name, threads, roots_in_pool());
    if (mode == "rtx_flips") dnv::flipping_now.words_between = 1'000'000;
    return serve_stamp(dnv::flipping_access(), name, threads, roots_and_flips());
}

}  // namespace holdfast::bench
