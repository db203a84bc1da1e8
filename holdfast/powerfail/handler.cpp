#include <holdfast/powerfail/handler.hpp>

#include <atomic>

namespace holdfast::powerfail {
namespace {

constinit std::atomic<handler*> handler_of_process{nullptr};

}  // namespace

void use_handler(handler* used) noexcept { handler_of_process.store(used, std::memory_order_release); }
handler* current_handler() noexcept { return handler_of_process.load(std::memory_order_acquire); }

}  // namespace holdfast::powerfail
