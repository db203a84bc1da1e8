// Where tests run workloads: ordinary memory, and pools.
#pragma once

#include <workload/plain_access_test.hpp>

#include <holdfast/container/test_pool.hpp>
#include <holdfast/engine/access.hpp>

#include <cstdint>

namespace holdfast::workload {

/// Ordinary memory as a place for a workload's root.
struct plain_place {
    using access_type = test::plain_access;

    template <class Root>
    Root* make_root() {
        auto* root = static_cast<Root*>(access().allocate(sizeof(Root)));
        *root = Root{};
        return root;
    }
    access_type access() { return access_type(memory); }
    std::int64_t live_blocks() { return memory.live_blocks; }

    test::plain_memory memory;
};

template <class Engine>
struct pool_place {
    using access_type = pool_access<Engine>;

    template <class Root>
    Root* make_root() {
        return files.pool().template plain_root<Root>("root").value();
    }
    access_type access() { return access_type(files.pool().core()); }
    std::int64_t live_blocks() { return static_cast<std::int64_t>(files.pool().usage().allocated_blocks); }

    holdfast::test::test_pool<Engine> files{holdfast::test::for_containers};
};

}  // namespace holdfast::workload
