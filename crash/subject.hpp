// What is explored: an engine and a container with its operations, and what must hold after a cut.
#pragma once

#include <crash/model.hpp>
#include <crash/trace.hpp>

#include <cstddef>
#include <memory>
#include <optional>
#include <span>
#include <string>
#include <string_view>
#include <vector>

namespace holdfast::crash {

/// Operations by their numbers, each one transaction.
using workload = std::vector<unsigned>;

class subject {
public:
    virtual ~subject() = default;

    virtual std::string_view engine() const = 0;
    virtual std::string_view name() const = 0;
    /// How many different operations there are.
    virtual unsigned universe() const = 0;
    virtual std::string describe(unsigned operation) const = 0;

    /// Runs the operations on a pool of its own at the level that the model stands for.
    virtual trace record(const workload& operations, const model& how) = 0;
    /// Where the pool of the last recording was mapped, and how many bytes.
    virtual std::byte* base() const = 0;
    virtual std::size_t size() const = 0;
    /// Recovers the image in the memory at `base`. Returns what is wrong.
    virtual std::optional<std::string> recover() = 0;
    /// After `recover`: the effect of the first `done` operations is there, and of no other but at
    /// most the one that had begun; the heap is whole. Returns what is wrong.
    virtual std::optional<std::string> check(std::size_t done, std::size_t begun) = 0;
};

/// All that there is: every engine with every container.
std::vector<std::unique_ptr<subject>> all_subjects();

}  // namespace holdfast::crash
