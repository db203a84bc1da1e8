#include <crash/recorder.hpp>

#include <sys/mman.h>
#include <ucontext.h>

#include <cstdlib>
#include <cstring>
#include <utility>

namespace holdfast::crash {
namespace {

constexpr greg_t trap_flag = 0x100;

}  // namespace

recorder* recorder::active_ = nullptr;

recorder::recorder(std::span<std::byte> pool) : pool_(pool) {
    trace_.before.resize(pool.size() / 8);
    std::memcpy(trace_.before.data(), pool.data(), pool.size());
    // Handlers push to it: not while the allocator's own lock may be held.
    trace_.events.reserve(1 << 16);
    active_ = this;
    struct sigaction action {};
    action.sa_flags = SA_SIGINFO | SA_NODEFER;
    action.sa_sigaction = on_fault;
    ::sigaction(SIGSEGV, &action, &fault_before_);
    action.sa_sigaction = on_step;
    ::sigaction(SIGTRAP, &action, &step_before_);
    observer_before_ = persist::observe(this);
    if (::mprotect(pool.data(), pool.size(), PROT_READ) != 0) std::abort();
}

recorder::~recorder() { stop(); }

void recorder::stop() {
    if (!std::exchange(recording_, false)) return;
    ::mprotect(pool_.data(), pool_.size(), PROT_READ | PROT_WRITE);
    persist::observe(observer_before_);
    ::sigaction(SIGSEGV, &fault_before_, nullptr);
    ::sigaction(SIGTRAP, &step_before_, nullptr);
    active_ = nullptr;
}

trace recorder::take() {
    stop();
    return std::move(trace_);
}

bool recorder::let_through(void* address, const void* code) {
    const auto offset = static_cast<std::size_t>(static_cast<std::byte*>(address) - pool_.data());
    if (offset >= pool_.size() || open_pages_ == pages_at_once) return false;
    open_page& page = pages_[open_pages_++];
    page.at = pool_.data() + offset / page_bytes * page_bytes;
    std::memcpy(page.before, page.at, page_bytes);
    code_ = code;
    return ::mprotect(page.at, page_bytes, PROT_READ | PROT_WRITE) == 0;
}

void recorder::on_fault(int, siginfo_t* information, void* context) {
    auto& registers = static_cast<ucontext_t*>(context)->uc_mcontext.gregs;
    const auto* code = reinterpret_cast<const void*>(registers[REG_RIP]);
    if (active_ != nullptr && active_->let_through(information->si_addr, code)) {
        registers[REG_EFL] |= trap_flag;
        return;
    }
    // None of ours: the program's own fault, which the default action reports.
    ::signal(SIGSEGV, SIG_DFL);
}

void recorder::on_step(int, siginfo_t*, void* context) {
    static_cast<ucontext_t*>(context)->uc_mcontext.gregs[REG_EFL] &= ~trap_flag;
    if (active_ != nullptr) active_->compare_pages();
}

void recorder::compare_pages() {
    for (std::size_t i = 0; i < open_pages_; ++i) {
        const open_page& page = pages_[i];
        const auto first = static_cast<std::uint64_t>(page.at - pool_.data()) / 8;
        for (std::size_t word = 0; word < page_bytes / 8; ++word) {
            std::uint64_t before, after;
            std::memcpy(&before, page.before + word * 8, 8);
            std::memcpy(&after, page.at + word * 8, 8);
            if (before != after) trace_.events.push_back({event_kind::store, {}, first + word, after, code_});
        }
        ::mprotect(page.at, page_bytes, PROT_READ);
    }
    open_pages_ = 0;
}

/// The seam speaks after its stores: the newest ones without a site, in its range, are its own.
void recorder::name_stores(const void* home, std::size_t size, persist::site where, event_kind kind) {
    const auto begin = static_cast<std::uint64_t>(static_cast<const std::byte*>(home) - pool_.data()) / 8;
    const std::uint64_t end = begin + (size + 7) / 8 + 1;
    for (std::size_t i = trace_.events.size(); i > 0; --i) {
        event& each = trace_.events[i - 1];
        if (each.kind != event_kind::store || each.where || each.place < begin || each.place >= end) return;
        each.kind = kind;
        each.where = where;
    }
}

void recorder::store(const void* home, std::size_t size, persist::site where) {
    name_stores(home, size, where, event_kind::store);
}

void recorder::stream(const void* home, std::size_t size, persist::site where) {
    name_stores(home, size, where, event_kind::stream);
}

void recorder::write_back(const void* begin, std::size_t size, persist::site where) {
    const auto offset = static_cast<std::uint64_t>(static_cast<const std::byte*>(begin) - pool_.data());
    const std::uint64_t first = offset / 64;
    trace_.events.push_back({event_kind::write_back, where, first, (offset + size - 1) / 64 - first + 1});
}

void recorder::after_fence(persist::site where) { trace_.events.push_back({event_kind::fence, where}); }

}  // namespace holdfast::crash
