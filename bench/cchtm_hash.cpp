// Case hash of the suite cchtm: transactions that store to, or load, a group of hashed places of a large array.
#include <bench/cchtm_aliases.hpp>
#include <bench/cchtm_contestants.hpp>

#include <workload/hash_array.hpp>

#include <atomic>

namespace holdfast::bench {
namespace {

template <class Memory>
class hash_case final : public contestant {
public:
    static constexpr const char* name = "hash";

    hash_case(const cchtm_setting& where, scratch& space)
        : where_(where),
          shape_{.seed = 1, .group = where.group, .write_percent = where.write_percent},
          memory_(where, space, where.elements * sizeof(std::uint64_t) + (6u << 20), [&](auto& filled) {
              workload::hash_array array(filled.access(0), filled.template root<workload::hash_array_root>(), shape_);
              if (!array.create(where.elements)) fail(errc::no_space, "the array could not be made");
          }) {}

    batch run(const std::string&, std::uint64_t transactions) override {
        return memory_.measure(where_.threads, transactions, [&](unsigned thread, std::uint64_t count) {
            const auto access = memory_.access(thread);
            const workload::hash_array array(access, memory_.template root<workload::hash_array_root>(), shape_);
            std::uint64_t loaded = 0;
            for (std::uint64_t i = 0; i < count; ++i) {
                const workload::hash_array_group group = array.draw(thread, ++done_.groups[thread]);
                if (!access.atomically([&] { loaded = array.apply(group); }))
                    fail(errc::no_space, "a group could not be stored");
                seen_.store(loaded, std::memory_order_relaxed);
            }
        });
    }

private:
    cchtm_setting where_;
    workload::hash_array_shape shape_;
    workload::hash_array_progress done_;
    std::atomic<std::uint64_t> seen_{0};
    Memory memory_;
};

}  // namespace

match make_cchtm_hash_match(const cchtm_setting& where, bool with_floor, const options& asked, scratch& space) {
    std::string title = "groups of " + std::to_string(where.group) + " random words";
    if (where.write_percent != 100) title += ", " + std::to_string(where.write_percent) + " % stored";
    return make_cchtm_match<hash_case>(where, title, with_floor, asked, space, [&](cchtm_field<hash_case>& to) {
        add_cchtm_contestants(to);
        constexpr std::uint64_t usual_group = 10;
        if (where.group == usual_group && where.write_percent == 100) add_cchtm_aliases(to);
    });
}

}  // namespace holdfast::bench
