#include "pooled.hpp"

#include <assert.h>

// What the weaver cannot parse.
#ifndef __acweaving
#include <holdfast/handle/line_pool.hpp>
#endif

namespace {

class [[NVM::transactional]] alignas(64) record {
    uint64_t number = 0;
    uint32_t count = 0;
    char letter = 0;

public:
    void set(uint64_t to, char with) {
        assert(with != 0);  // Other flags than those of the compiler would be refused for it.
        number = to;
        letter = with;
        ++count;
    }
    holdfast::woven::contents get() const { return {number, count, letter}; }
};

}  // namespace

#ifndef __acweaving
namespace holdfast {
namespace woven {

using records = line_array<record, 4>;

void write(const std::string& path, const create_options& options, uint64_t number) {
    auto pool = line_pool::create(path, options).value();
    (*pool.root<records>("records").value())[2].set(number, 'w');
    pool.abandon();
}

contents read(const std::string& path, const create_options& options) {
    auto pool = line_pool::open(path, options).value();
    return (*pool.root<records>("records").value())[2].get();
}

}  // namespace woven
}  // namespace holdfast
#endif
