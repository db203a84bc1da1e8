#include <crash/record/recorder.hpp>

#include <crash/record/interpose.hpp>
#include <crash/record/scheduler.hpp>
#include <crash/record/store_instruction.hpp>

#include <sys/mman.h>

#include <algorithm>
#include <cerrno>
#include <cstdio>
#include <cstdlib>
#include <cstring>
#include <string>
#include <utility>

namespace holdfast::crash {
namespace {

constexpr greg_t trap_flag = 0x100;

std::uint64_t word_at(const std::byte* at) noexcept {
    std::uint64_t word;
    std::memcpy(&word, at, sizeof word);
    return word;
}

}  // namespace

recorder* recorder::active_ = nullptr;

recorder::recorder(std::span<std::byte> pool) : pool_(pool), second_(pool) {
    interpose_reads();
    trace_.before.resize(pool.size() / 8);
    std::memcpy(trace_.before.data(), pool.data(), pool.size());
    // Handlers push to it: never while the allocator's own lock may be held.
    trace_.events.reserve(events_at_most);
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

void recorder::unprotect() { ::mprotect(pool_.data(), pool_.size(), PROT_READ | PROT_WRITE); }

/// Others may run again.
void recorder::close_pages() {
    for (std::size_t i = 0; i < open_pages_; ++i) ::mprotect(pages_[i].at, page_bytes, PROT_READ);
    open_pages_ = 0;
}

void recorder::stop() {
    if (!std::exchange(recording_, false)) return;
    unprotect();
    persist::observe(observer_before_);
    ::sigaction(SIGSEGV, &fault_before_, nullptr);
    ::sigaction(SIGTRAP, &step_before_, nullptr);
    active_ = nullptr;
}

result<trace> recorder::take() {
    stop();
    if (lost_ != loss::none) return describe_loss();
    trace_.events.shrink_to_fit();
    return std::move(trace_);
}

bool recorder::covers(const void* begin, std::size_t size) noexcept {
    if (active_ == nullptr) return false;
    const auto first = reinterpret_cast<std::uintptr_t>(begin);
    const auto pool = reinterpret_cast<std::uintptr_t>(active_->pool_.data());
    return first < pool + active_->pool_.size() && size > 0 && (first >= pool || size > pool - first);
}

void recorder::lose(loss what) {
    if (lost_ == loss::none) lost_ = what;
    // The program goes on; what it stores from here on nobody asks for.
    open_pages_ = 0;
    unprotect();
}

error recorder::describe_loss() const {
    error reason{.code = errc::misuse, .what = "the recording is not whole"};
    if (lost_ == loss::too_many_events) {
        reason.expected = "at most " + std::to_string(events_at_most) + " stores and calls of the seam";
        reason.found = "more";
        return reason;
    }
    char text[64];
    int length = std::snprintf(text, sizeof text, "the instruction at %p:", static_cast<const void*>(code_));
    for (unsigned i = 0; i < 8; ++i)
        length += std::snprintf(text + length, sizeof text - static_cast<std::size_t>(length), " %02x",
                                static_cast<unsigned>(code_[i]));
    const bool is_thread = lost_ == loss::unknown_thread;
    reason.expected = is_thread ? "stores of the recorder's own thread and of scheduled ones"
                                : "instructions that store to at most " + std::to_string(pages_at_once) + " pages";
    reason.found = text + std::string(is_thread ? ", in another thread" : ", which stores to more");
    return reason;
}

void recorder::add(event next) {
    if (lost_ != loss::none) return;
    if (trace_.events.size() == events_at_most) return lose(loss::too_many_events);
    next.thread = scheduled::thread();
    next.stack = call_stacks::here();
    trace_.events.push_back(next);
}

bool recorder::let_through(std::byte* address, mcontext_t& machine) {
    const auto offset = static_cast<std::size_t>(address - pool_.data());
    if (offset >= pool_.size()) return false;
    const auto* code = reinterpret_cast<const std::byte*>(machine.gregs[REG_RIP]);
    const bool is_known = scheduled::is_on() || ::pthread_equal(::pthread_self(), owner_) != 0;
    if (!is_known || open_pages_ == pages_at_once) {
        if (lost_ == loss::none) code_ = code;
        lose(is_known ? loss::too_many_pages : loss::unknown_thread);
        return true;
    }
    code_ = code;
    std::byte* const at = pool_.data() + offset / page_bytes * page_bytes;
    if (open_pages_ == 0 && carry_out(at, machine)) return true;
    if (::mprotect(at, page_bytes, PROT_READ | PROT_WRITE) != 0) return false;
    open_page& page = pages_[open_pages_++];
    page.at = at;
    std::memcpy(page.before, at, page_bytes);
    machine.gregs[REG_EFL] |= trap_flag;
    return true;
}

void recorder::on_fault(int, siginfo_t* information, void* context) {
    const int error_before = errno;
    auto& machine = static_cast<ucontext_t*>(context)->uc_mcontext;
    // None of ours: the program's own fault, which the default action reports.
    if (active_ == nullptr || !active_->let_through(static_cast<std::byte*>(information->si_addr), machine))
        ::signal(SIGSEGV, SIG_DFL);
    errno = error_before;
}

void recorder::on_step(int, siginfo_t*, void* context) {
    const int error_before = errno;
    static_cast<ucontext_t*>(context)->uc_mcontext.gregs[REG_EFL] &= ~trap_flag;
    if (active_ != nullptr) active_->compare_pages();
    scheduled::step();
    errno = error_before;
}

/// The machine's instruction, as far as it stores to the page. False: the processor has to.
bool recorder::carry_out(std::byte* page, mcontext_t& machine) {
    auto storing = store_instruction::at(machine);
    if (!storing || !storing->stores_within(page, page_bytes)) return false;
    // Opening a page and closing it again costs more than the fault.
    const bool opens = !second_.exists();
    if (opens && ::mprotect(page, page_bytes, PROT_READ | PROT_WRITE) != 0) return false;
    while (storing->stores_within(page, page_bytes)) {
        const auto offset = static_cast<std::size_t>(storing->destination() - pool_.data());
        const std::size_t begin = offset / 8;
        const std::size_t end = (offset + storing->size() + 7) / 8;
        std::uint64_t before[3];
        std::memcpy(before, pool_.data() + begin * 8, (end - begin) * 8);
        std::byte* const home = storing->destination();
        storing->store_next(opens ? home : second_.counterpart(home));
        for (std::size_t word = begin; word < end; ++word) {
            const std::uint64_t after = word_at(pool_.data() + word * 8);
            if (after != before[word - begin]) add({event_kind::store, {}, word, after, code_});
        }
    }
    if (opens && lost_ == loss::none) ::mprotect(page, page_bytes, PROT_READ);
    scheduled::step();
    return true;
}

void recorder::compare_page(const open_page& page) {
    const auto first = static_cast<std::uint64_t>(page.at - pool_.data()) / 8;
    for (std::size_t word = 0; word < page_bytes / 8; ++word) {
        const std::uint64_t after = word_at(page.at + word * 8);
        if (word_at(page.before + word * 8) != after) add({event_kind::store, {}, first + word, after, code_});
    }
}

void recorder::compare_pages() {
    if (open_pages_ == 2 && pages_[1].at < pages_[0].at) std::swap(pages_[0], pages_[1]);
    for (std::size_t i = 0; i < open_pages_; ++i) compare_page(pages_[i]);
    close_pages();
}

/// The seam speaks after its stores: the newest ones of its thread without a site, in its range, are its own.
void recorder::name_stores(const void* home, std::size_t size, persist::site_id where, event_kind kind) {
    const auto begin = static_cast<std::uint64_t>(static_cast<const std::byte*>(home) - pool_.data()) / 8;
    const std::uint64_t end = begin + (size + 7) / 8 + 1;
    const std::uint8_t thread = scheduled::thread();
    for (std::size_t i = trace_.events.size(); i > 0; --i) {
        event& each = trace_.events[i - 1];
        if (each.thread != thread) continue;
        if (each.kind != event_kind::store || each.where || each.place < begin || each.place >= end) return;
        each.kind = kind;
        each.where = where;
    }
}

void recorder::store(const void* home, std::size_t size, persist::site_id where) {
    name_stores(home, size, where, event_kind::store);
}

void recorder::stream(const void* home, std::size_t size, persist::site_id where) {
    name_stores(home, size, where, event_kind::stream);
}

void recorder::write_back(const void* begin, std::size_t size, persist::site_id where) {
    const auto offset = static_cast<std::uint64_t>(static_cast<const std::byte*>(begin) - pool_.data());
    add(write_back_of(offset, size, where));
    scheduled::step();
}

void recorder::after_fence(persist::site_id where) {
    add({event_kind::fence, where});
    scheduled::step();
}

void recorder::order(persist::site_id where) { add({event_kind::order, where}); }

void recorder::file_write(std::uint64_t, const void*, std::size_t, bool, persist::site_id) { scheduled::step(); }

void recorder::file_sync(persist::site_id) { scheduled::step(); }

}  // namespace holdfast::crash
