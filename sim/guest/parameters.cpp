#include <sim/guest/parameters.hpp>
#include <sim/guest/record_ring.hpp>
#include <sim/guest/threads.hpp>

namespace holdfast::guest {
namespace {

bool same(const char* a, const char* b) noexcept {
    for (; *a == *b; ++a, ++b) {
        if (*a == 0) return true;
    }
    return false;
}

[[noreturn]] void refuse(const char* name, const char* expected, const char* found) noexcept {
    line().add("bad argument ").add(name).add(": expected ").add(expected).add(", found ").add(found).write();
    leave(2);
}

std::uint64_t number_in(const char* name, const char* text, std::uint64_t least, std::uint64_t most) noexcept {
    std::uint64_t value = 0;
    bool good = *text != 0;
    for (const char* at = text; good && *at != 0; ++at) {
        good = *at >= '0' && *at <= '9' && value <= most;
        value = value * 10 + static_cast<std::uint64_t>(*at - '0');
    }
    if (good && value >= least && value <= most) return value;
    line().add("bad argument ").add(name).add(": expected a number from ").add_decimal(least).add(" to ")
        .add_decimal(most).add(", found ").add(text).write();
    leave(2);
}

void read_logging(parameters& into, const char* name, const char* value) noexcept {
    constexpr const char* kinds[] = {"none", "undo-unsafe", "redo-unsafe", "undo", "redo", "lines", "snf"};
    for (std::uint8_t kind = 0; kind < sizeof(kinds) / sizeof(kinds[0]); ++kind) {
        if (!same(value, kinds[kind])) continue;
        into.logging = static_cast<logging_kind>(kind);
        return;
    }
    refuse(name, "none, undo-unsafe, redo-unsafe, undo, redo, lines or snf", value);
}

void read_log(parameters& into, const char* name, const char* value) noexcept {
    if (same(value, "central")) into.log = sim::software_log_place::central;
    else if (!same(value, "thread")) refuse(name, "thread or central", value);
}

void read_parameter(parameters& into, const char* name, const char* value) noexcept {
    constexpr std::uint64_t billion = 1'000'000'000;
    constexpr const char* names =
        "--operations, --footprint, --seed, --threads, --shards, --element, --logging, --log, --log-bytes or --image";
    if (same(name, "--operations")) into.operations = number_in(name, value, 0, billion);
    else if (same(name, "--footprint")) into.footprint_bytes = number_in(name, value, 4096, 8 * billion);
    else if (same(name, "--seed")) into.seed = number_in(name, value, 0, billion);
    else if (same(name, "--threads")) into.threads = static_cast<unsigned>(number_in(name, value, 1, most_threads));
    else if (same(name, "--shards"))
        into.shards = static_cast<unsigned>(number_in(name, value, 1, parameters::most_shards));
    else if (same(name, "--logging")) read_logging(into, name, value);
    else if (same(name, "--log")) read_log(into, name, value);
    else if (same(name, "--log-bytes")) into.log_bytes = number_in(name, value, 4096, billion);
    else if (same(name, "--image")) into.prints_image = number_in(name, value, 0, 1) != 0;
    else if (!same(name, "--element")) refuse(name, names, "this");
    else if (same(value, "string")) into.element = element_kind::string;
    else if (!same(value, "int")) refuse(name, "int or string", value);
}

}  // namespace

parameters read_parameters(int count, char** arguments) noexcept {
    parameters read;
    for (int i = 1; i < count; i += 2) {
        if (i + 1 == count) refuse(arguments[i], "a value after it", "nothing");
        read_parameter(read, arguments[i], arguments[i + 1]);
    }
    software_logs = sim::layout_of(read.log, read.log_bytes, read.threads);
    return read;
}

}  // namespace holdfast::guest
