// The handler that leaves saving to the kernel module (kernel/): it stops all processors, whatever they do, copies the
// registered logs, and writes all caches back.
#pragma once

#include <holdfast/base/result.hpp>
#include <holdfast/powerfail/handler.hpp>

#include <cstddef>
#include <memory>
#include <string>

namespace holdfast::powerfail {

/// Registers the logs of armed pools with the module.
///
/// It promises: what was acknowledged on an armed pool survives a power failure that one of the module's triggers
/// detects in time. The next opening finds the log in the module's region, and the homes on the media. The module
/// declines a log if its save would take longer than the power lasts; then the pool is at `power`. If the module
/// releases a log (its region is taken away), the pool continues at `power`.
///
/// A process has one; the program passes it to `use_handler`. Thread-safe. A forked child begins without pools, and
/// arms its own. What holds if the process dies inside: the module saves the log when the process ends; the next
/// opening loses nothing, in this boot or the next one.
/// Source: DNV Memory, sections 3.1, 4.2 and 5.1.
class module_handler final : public handler {
public:
    explicit module_handler(std::string device = usual_module_device);
    /// Requires: no pool is armed.
    ~module_handler() override;
    module_handler(const module_handler&) = delete;
    module_handler& operator=(const module_handler&) = delete;

    /// Why it declines every pool. Errors: not_found (there is no module), permission_denied, io.
    result<void> ready() const;

    bool arm(charge& taken) override;
    bool arm_on_file(charge& taken) override;
    void disarm(charge& given_back) noexcept override;

    /// Why the last pool was declined; empty: none was.
    std::string last_decline() const;
    std::size_t pools() const;

private:
    class implementation;
    std::unique_ptr<implementation> made_;
};

}  // namespace holdfast::powerfail
