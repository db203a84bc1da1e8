// Every place of the library that asks something of the medium has a name. The explorer crashes before and after each;
// a report names the place instead of an address. Each room names its own in its sites.hpp.
#pragma once

#include <compare>
#include <string_view>

namespace holdfast::persist {

struct site_name {
    const char* text;
};

/// A room's list of sites, X(name), becomes constants of namespace holdfast::persist::site by it.
#define HOLDFAST_SITE(name) inline constexpr site_name name{#name};

/// Which site it is: one object has the name, in the whole program.
class site_id {
public:
    constexpr site_id() noexcept = default;
    constexpr site_id(const site_name& named) noexcept : named_(&named) {}

    constexpr std::string_view name() const noexcept { return named_ != nullptr ? named_->text : ""; }

    friend constexpr bool operator==(site_id, site_id) noexcept = default;
    /// By name, so that what is listed does not depend on where the linker put names.
    friend constexpr std::strong_ordering operator<=>(site_id a, site_id b) noexcept { return a.name() <=> b.name(); }

private:
    const site_name* named_ = nullptr;
};

constexpr std::string_view name_of(site_id where) noexcept { return where.name(); }

}  // namespace holdfast::persist
