// Access to ordinary memory, for tests: with a count of live blocks.
#pragma once

#include <workload/plain_access.hpp>

#include <cstdint>

namespace holdfast::workload::test {

struct plain_memory {
    std::int64_t live_blocks = 0;
};

class plain_access : public workload::plain_access {
public:
    explicit plain_access(plain_memory& memory) noexcept : memory_(&memory) {}

    void* allocate(std::size_t bytes) const {
        ++memory_->live_blocks;
        return workload::plain_access::allocate(bytes);
    }
    void free(void* address) const {
        --memory_->live_blocks;
        workload::plain_access::free(address);
    }

private:
    plain_memory* memory_;
};

}  // namespace holdfast::workload::test
