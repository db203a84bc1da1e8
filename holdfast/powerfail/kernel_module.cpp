#include <holdfast/powerfail/kernel_module.hpp>

#include <kernel/holdfast_chunks.h>
#include <kernel/holdfast_powerfail.h>

#include <cerrno>
#include <cstring>
#include <iterator>
#include <utility>

#include <fcntl.h>
#include <sys/ioctl.h>
#include <unistd.h>

namespace holdfast::powerfail {
namespace {

int open_device(const char* path) { return ::open(path, O_RDWR | O_CLOEXEC); }
int control_device(int descriptor, unsigned long request, void* argument) {
    return ::ioctl(descriptor, request, argument);
}

errc code_of(int number) noexcept {
    switch (number) {
    case ENOENT:
    case ENXIO:
    case ENODEV:
    case ENOTTY:
    case ENODATA: return errc::not_found;
    case EACCES:
    case EPERM: return errc::permission_denied;
    case EBUSY: return errc::busy;
    case EDQUOT: return errc::level_unavailable;
    case ENOTEMPTY: return errc::already_exists;
    case ESTALE: return errc::not_durable;
    case EBADMSG: return errc::corrupt;
    case ENOSPC:
    case ENOBUFS:
    case EFBIG: return errc::no_space;
    default: return errc::io;
    }
}

constexpr const char* trigger_names[] = {"carrier", "break", "NMI", "power button", "panic", "debug file"};

holdfast_saved question_of(const save_name& name) noexcept {
    holdfast_saved about{};
    about.key = name.key;
    std::memcpy(about.session, name.session, sizeof about.session);
    return about;
}

}  // namespace

constinit module_calls module_calls_now{&open_device, &control_device};

result<kernel_module> kernel_module::open(const std::string& device) {
    const int descriptor = module_calls_now.open(device.c_str());
    kernel_module made(descriptor, device);
    if (descriptor < 0) return made.failed("the kernel module cannot be opened", errno);
    return made;
}

kernel_module::kernel_module(kernel_module&& other) noexcept
    : descriptor_(std::exchange(other.descriptor_, -1)), device_(std::move(other.device_)) {}

kernel_module& kernel_module::operator=(kernel_module&& other) noexcept {
    std::swap(descriptor_, other.descriptor_);
    std::swap(device_, other.device_);
    return *this;
}

kernel_module::~kernel_module() {
    if (descriptor_ >= 0) ::close(descriptor_);
}

error kernel_module::failed(const char* what, int number) const {
    return {.code = code_of(number), .what = what, .path = device_, .found = std::strerror(number)};
}

result<std::uint32_t> kernel_module::keep(std::span<const std::byte> log, std::span<const std::byte> homes,
                                          const save_name& name) {
    holdfast_log asked{};
    asked.address = reinterpret_cast<std::uintptr_t>(log.data());
    asked.bytes = log.size();
    asked.homes_address = reinterpret_cast<std::uintptr_t>(homes.data());
    asked.homes_bytes = homes.size();
    asked.key = name.key;
    std::memcpy(asked.session, name.session, sizeof asked.session);
    asked.mode = 0600;
    if (module_calls_now.control(descriptor_, HOLDFAST_REGISTER, &asked) == 0) return asked.id;
    const int number = errno;
    error reason = failed("the kernel module does not take the log", number);
    if (number != EDQUOT) return reason;
    reason.what = "the kernel module declines: a save would take too long";
    reason.expected = "at most " + std::to_string(asked.budget_ns / 1000) + " us";
    reason.found = std::to_string(asked.save_ns / 1000) + " us";
    return reason;
}

/// Where that fails it is found again under the key.
void kernel_module::free_room(std::uint64_t key) noexcept {
    holdfast_chunk room{};
    room.key = key;
    static_cast<void>(module_calls_now.control(descriptor_, HOLDFAST_FREE, &room));
}

void kernel_module::release(std::uint32_t kept, std::uint64_t key) noexcept {
    holdfast_log asked{};
    asked.id = kept;
    // What was lost meanwhile has no registration any more.
    static_cast<void>(module_calls_now.control(descriptor_, HOLDFAST_UNREGISTER, &asked));
    free_room(key);
}

result<std::vector<kernel_module::line>> kernel_module::saved(const save_name& name) {
    holdfast_saved about = question_of(name);
    if (module_calls_now.control(descriptor_, HOLDFAST_READ_SAVED, &about) != 0)
        return failed("the kernel module has no save of this log", errno);
    std::vector<line> found((about.bytes + sizeof(line) - 1) / sizeof(line));
    about = question_of(name);
    about.wanted = found.size() * sizeof(line);
    about.address = reinterpret_cast<std::uintptr_t>(found.data());
    if (module_calls_now.control(descriptor_, HOLDFAST_READ_SAVED, &about) != 0)
        return failed("a save cannot be read", errno);
    return found;
}

result<void> kernel_module::acknowledge(const save_name& name) {
    holdfast_saved about = question_of(name);
    if (module_calls_now.control(descriptor_, HOLDFAST_ACKNOWLEDGE, &about) != 0)
        return failed("a save cannot be acknowledged", errno);
    free_room(name.key);
    return {};
}

std::vector<module_save> kernel_module::saves() {
    std::vector<module_save> found;
    holdfast_saved about{};
    for (; module_calls_now.control(descriptor_, HOLDFAST_NEXT_SAVED, &about) == 0; ++about.offset) {
        module_save& each = found.emplace_back(module_save{{about.key, {}}, about.bytes});
        std::memcpy(each.name.session, about.session, sizeof each.name.session);
    }
    return found;
}

result<save_name> kernel_module::name_of_save(std::uint64_t key) {
    for (const module_save& each : saves())
        if (each.name.key == key) return each.name;
    return failed("the kernel module has no save under the key", ENOENT);
}

result<module_state> kernel_module::state() {
    holdfast_powerfail_status found{};
    if (module_calls_now.control(descriptor_, HOLDFAST_POWERFAIL_STATUS, &found) != 0)
        return failed("the kernel module did not return its status", errno);
    using time = module_state::time;
    module_state now{{}, time(found.hold_up_ns), time(found.budget_ns), time(found.save_ns), time(found.stop_ns),
                     time(found.flush_ns), time(found.copy_ns_per_mib), found.registered_bytes};
    for (std::size_t bit = 0; bit < std::size(trigger_names); ++bit)
        if ((found.triggers >> bit & 1) != 0) now.triggers.emplace_back(trigger_names[bit]);
    return now;
}

result<module_drill> kernel_module::drill() {
    holdfast_times found{};
    if (module_calls_now.control(descriptor_, HOLDFAST_DRILL, &found) != 0)
        return failed("the kernel module makes no drill", errno);
    using time = module_drill::time;
    return module_drill{time(found.stopped_ns), time(found.copied_ns), time(found.flushed_ns), time(found.sealed_ns),
                        time(found.ended_ns), found.copied_bytes, found.processors, found.missed};
}

}  // namespace holdfast::powerfail
