#include <bench/tl2/tl2.hpp>

namespace holdfast::bench {

constinit tl2_shared::clock tl2_shared::clock_;
constinit stm::registry tl2_shared::registry_;
constinit std::uint64_t tl2_shared::locks_[std::size_t{1} << lock_bits]{};

}  // namespace holdfast::bench
