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
    std::fprintf(stderr,
                 "holdfast: a half of the woven object at %p was used that was not meant: a cast, a pointer kept "
                 "beyond its transaction, or a transaction inside a const function of the same object\n",
                 line);
    std::abort();
}

}  // namespace

probe_handler on_wrong_half = report;

}  // namespace woven
}  // namespace holdfast
