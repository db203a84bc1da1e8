// A memory behind the caches that answers after a fixed time and writes down what it was asked.
#pragma once

#include <sim/port/memory_below.hpp>

#include <map>
#include <vector>

namespace holdfast::sim {

class mock_memory : public memory_below {
public:
    struct written {
        address line{};
        port::reason why{};
        time at{};
    };

    time read(address line, line_data& into, time at) override {
        reads.push_back(line);
        into = lines[line];
        return at + latency;
    }
    time write(const line_write& what, write_origin origin, time at) override {
        writes.push_back({what.line, origin.why, at});
        what.apply_to(lines[what.line]);
        return at + accept_delay;
    }
    time stream(hart_id, address where, std::span<const std::byte> bytes, time at) override {
        streamed.push_back(where);
        std::memcpy(lines[where.line()].data() + where.offset_in_line(), bytes.data(), bytes.size());
        return at;
    }
    void await(hart_id, address line, time) override { awaited.push_back(line); }
    time fence(hart_id, time at) override { return at; }
    void peek(address line, line_data& into) const override {
        const auto found = lines.find(line);
        into = found == lines.end() ? line_data{} : found->second;
    }
    void poke(const line_write& what) override { what.apply_to(lines[what.line]); }

    time latency = ns(100);
    time accept_delay{};
    std::map<address, line_data> lines;
    std::vector<address> reads, streamed, awaited;
    std::vector<written> writes;
};

}  // namespace holdfast::sim
