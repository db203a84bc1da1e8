// What a guest program is told on its command line.
#pragma once

#include <sim/base/software_log.hpp>
#include <sim/guest/text.hpp>

namespace holdfast::guest {

enum class element_kind : std::uint8_t { integer, string };

/// What software does to make transactions durable. The unsafe ones write no line back and wait for nothing; `lines`
/// writes lines back and leaves the log to hardware.
enum class logging_kind : std::uint8_t { none, undo_unsafe, redo_unsafe, undo, redo, lines, snf };

struct parameters {
    static constexpr std::uint32_t most_shards = 256;

    std::uint64_t operations = 10000;              ///< --operations, of all threads together
    std::uint64_t footprint_bytes = 1 << 20;       ///< --footprint, of the structure when it has been filled
    std::uint64_t seed = 1;                        ///< --seed
    std::uint32_t threads = 1;                     ///< --threads
    std::uint32_t shards = 64;                     ///< --shards: into how many, with a lock each, maps are divided
    element_kind element = element_kind::integer;  ///< --element int or string: 8 or 256 bytes
    logging_kind logging = logging_kind::none;     ///< --logging, by these names
    sim::software_log_place log = sim::software_log_place::thread;  ///< --log: thread or central
    std::uint64_t log_bytes = 4u << 20;            ///< --log-bytes, of all logs together
    bool prints_image = false;                     ///< --image 1: also a checksum of the whole arena
};

/// Each argument is a name and a value. Says what is wrong and leaves with status 2.
parameters read_parameters(int count, char** arguments) noexcept;

}  // namespace holdfast::guest
