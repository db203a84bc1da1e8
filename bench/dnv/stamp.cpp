#include <bench/dnv/stamp.hpp>

#include <bench/contest/stamp_runs.hpp>

#include <holdfast/dnv/access.hpp>

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

}  // namespace

dnv_options with_room_for_stamp(const std::string& name, dnv_options asked) {
    // Four tables of a million records with their nodes, or a mesh of a million points, at twice their size.
    const bool is_large = name.ends_with("++") || (name.starts_with("vacation") && name.ends_with("+"));
    asked.bytes = std::uint64_t{is_large ? 4096u : 192u} << 20;
    return asked;
}

int serve_stamp_in_pool(const std::string& name, unsigned threads) {
    return serve_stamp(dnv::dnv_access(), name, threads, roots_in_pool());
}

}  // namespace holdfast::bench
