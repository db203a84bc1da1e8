#include <holdfast/line/woven_medium.hpp>

#include <holdfast/line/medium.hpp>

#include <cstdio>
#include <cstdlib>

namespace holdfast {

cache_line::open_object*& woven_medium::innermost() noexcept { return line_medium::innermost(); }
void woven_medium::order() { line_medium::order(); }
void woven_medium::make_durable(void* line) { line_medium::make_durable(line); }

namespace woven {
namespace {

[[noreturn]] void report(const void* line) {
    std::fprintf(stderr, "holdfast: the valid half of the woven object at %p was written: a cast, or a pointer kept "
                 "beyond its transaction\n", line);
    std::abort();
}

}  // namespace

probe_handler on_write_to_valid_half = report;

}  // namespace woven
}  // namespace holdfast
