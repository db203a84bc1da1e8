// Settings of the logs that software keeps.
#pragma once

#include <sim/base/configuration.hpp>
#include <sim/base/software_log.hpp>

#include <array>

namespace holdfast::sim {

inline constexpr std::array<std::string_view, 2> software_log_place_names{"thread", "central"};
constexpr std::string_view name_of(software_log_place place) noexcept {
    return software_log_place_names[static_cast<std::size_t>(place)];
}

struct software_log_config {
    software_log_place place = software_log_place::thread;
    std::uint64_t bytes = 4u << 20;  ///< of all logs together

    template <class Self, class Visitor>
    static void visit_fields(Self& self, Visitor& visitor) {
        visitor.choice("place", self.place, std::span(software_log_place_names));
        visitor.power_of_two("bytes", self.bytes, 4096, std::uint64_t{1} << 30);
    }
};

}  // namespace holdfast::sim
