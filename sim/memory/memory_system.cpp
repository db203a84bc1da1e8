#include <sim/memory/memory_system.hpp>

namespace holdfast::sim {

time memory_system::read(address line, line_data& into, time at) {
    if (map_.is_nvram(line)) return nvram_.read(line, into, at);
    dram_image_.read(line, into);
    if (instant_) return at;
    dram_counters_.reads += 1;
    return at + dram_.latency;
}

time memory_system::write(const line_write& what, write_origin origin, time at) {
    if (map_.is_nvram(what.line)) return nvram_.write(what, origin, at);
    dram_image_.write(what);
    dram_counters_.writes += instant_ ? 0 : 1;
    return at;
}

time memory_system::stream(hart_id hart, address where, std::span<const std::byte> bytes, time at) {
    if (map_.is_nvram(where)) return nvram_.stream(hart, where, bytes, at);
    dram_image_.write_bytes(where, bytes);
    dram_counters_.writes += instant_ ? 0 : 1;
    return at;
}

void memory_system::await(hart_id hart, address line, time) {
    if (map_.is_nvram(line)) nvram_.await(hart, line);
}

void memory_system::peek(address line, line_data& into) const {
    if (map_.is_nvram(line)) {
        nvram_.peek(line, into);
    } else {
        dram_image_.read(line, into);
    }
}

void memory_system::poke(const line_write& what) {
    if (map_.is_nvram(what.line)) {
        nvram_.poke(what);
    } else {
        dram_image_.write(what);
    }
}

void memory_system::set_instant(bool instant) {
    instant_ = instant;
    nvram_.set_instant(instant);
}

}  // namespace holdfast::sim
