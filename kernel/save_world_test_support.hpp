// Programs that store to their logs and to persistent memory, and a machine whose power fails at any moment. After each
// store, write-back and fence one looks at what a cut would leave.
#pragma once

extern "C" {
#include "save.h"
#include "save_faults.h"
}

#include "save_medium_test_support.hpp"

#include <array>
#include <cerrno>
#include <cstdint>
#include <optional>
#include <string>

namespace holdfast::kernel {

inline constexpr std::size_t logs = 3, homes = 8, log_words = 24, seal_words = sizeof(hf_save_seal) / 8;
inline constexpr __u64 chunk_bytes = HF_SAVE_LOG_OFFSET + log_words * 8;
inline constexpr std::size_t region_words = seal_words + logs * chunk_bytes / 8 + homes;

using log_content = std::array<__u64, log_words>;

class save_world {
public:
    explicit save_world(std::uint64_t seed) : medium_(region_words), random_(seed) {
        medium_.random = workload::random(seed + 1);
        save_.port = {.store = [](void* of, __u64* at, __u64 value) { of_port(of).store(at, value); },
                      .write_back =
                          [](void* of, const void* at, __u64 size) { of_port(of).medium_.write_back(at, size); },
                      .fence = [](void* of) { of_port(of).medium_.fence(); },
                      .exchange =
                          [](void* of, __u64* at, __u64 from, __u64 to) { return of_port(of).exchange(at, from, to); },
                      .stop = [](void* of) { return of_port(of).stop(); },
                      .write_back_all = [](void* of) { of_port(of).medium_.write_back_all(false); },
                      .stays = [](void* of) { return of_port(of).stays(); },
                      .release = [](void* of) { of_port(of).phase_ = phase::running; },
                      .now = [](void* of) { return ++of_port(of).clock_; },
                      .report = [](void*) {},
                      .context = this};
        save_.logs = registered_.data();
        save_.logs_count = logs;
        restart_with(medium_.now());
        medium_.happened = [this] { something_happened(); };
    }
    save_world(const save_world&) = delete;
    save_world& operator=(const save_world&) = delete;

    const std::string& wrong() const noexcept { return wrong_; }
    std::uint64_t looks() const noexcept { return looks_; }
    std::uint64_t saves() const noexcept { return saves_seen_; }

    /// A machine's life, from a start to a cut.
    void live() {
        start();
        const std::uint64_t calls = 3 + random_.below(12);
        for (std::uint64_t call = 0; call < calls && wrong_.empty(); ++call) do_something();
        cut_.reset();
        samples_ = 0;
        is_last_ = true;
        // Once more, and the power fails somewhere inside; half of the time in a save.
        random_.below(2) == 0 ? fail_power(random_.below(4) == 0 ? HF_SAVE_STANDS : HF_SAVE_RESUMES) : do_something();
        is_last_ = false;
        look();
        sample();
        if (wrong_.empty()) restart_with(cut_->image);
    }

private:
    enum class phase { running, saving, sealed, resuming };
    /// What is true of a log's area between calls, and inside them: `changing` may be either.
    enum class state { none, armed, ending, saved, changing };

    struct log_of_program {
        log_content content{};
        std::array<__u64, HF_SESSION_WORDS> session{};
        std::array<hf_save_piece, 2> pieces{};
        state is = state::none;
    };
    struct moment {
        words image;
        std::array<log_of_program, logs> programs;
    };

    static save_world& of_port(void* context) { return *static_cast<save_world*>(context); }
    static __u64 key_of(std::size_t at) { return 100 + at; }
    static hf_save_area* area_in(words& of, std::size_t at) {
        return reinterpret_cast<hf_save_area*>(of.data() + seal_words + at * chunk_bytes / 8);
    }
    hf_save_area* area(std::size_t at) { return area_in(medium_.now(), at); }
    void fail(const std::string& what) {
        if (wrong_.empty()) wrong_ = what;
    }

    // The port.
    void store(__u64* at, __u64 value) {
        if (medium_.has(at)) return medium_.store(at, value);
        *at = value;
    }
    bool exchange(__u64* at, __u64 from, __u64 to) {
        if (*at != from) return false;
        *at = to;
        return true;
    }
    bool stop() {
        // One does not hear of it, and goes on.
        if (random_.below(16) == 0) return false;
        phase_ = phase::saving;
        medium_.write_back_all(true);
        medium_.fence();
        return true;
    }
    bool stays() {
        phase_ = phase::sealed;
        look();
        if (random_.below(2) == 0) {
            const hf_save_signal again{HF_SAVE_RESUMES, 0, HF_SAVE_RESUMES};
            // Were it let in, it would release the others: it must be the first that does.
            if (depth_++ == 0 && hf_save_all(&save_, &again)) fail("a second signal began a save inside the first");
            --depth_;
        }
        if (random_.below(2) == 0) return false;
        phase_ = phase::resuming;
        return true;
    }

    /// Another processor, while none has stopped it, stores to its logs and to persistent memory.
    void run_program() {
        for (log_of_program& each : programs_)
            if (each.is == state::armed && random_.below(3) == 0) each.content[random_.below(log_words)] = ++counter_;
        if (random_.below(3) == 0) {
            const std::size_t at = region_words - homes + random_.below(homes);
            medium_.store(&medium_.now()[at], ++counter_, random_.below(2) == 0);
        }
    }
    void something_happened() {
        if (is_inside_) return;
        is_inside_ = true;
        if (phase_ == phase::running) run_program();
        is_inside_ = false;
        look();
        if (is_last_ && random_.below(++samples_) == 0) sample();
        // An interrupt in the middle of whatever is going on.
        if (phase_ == phase::running && !is_saving_ && random_.below(64) == 0) fail_power(HF_SAVE_RESUMES);
    }
    void sample() {
        if (!cut_ || is_last_) cut_ = moment{medium_.image(), programs_};
    }

    void fail_power(hf_save_end end) {
        const hf_save_signal signal{1, 0, end};
        is_saving_ = true;
        if (!hf_save_all(&save_, &signal)) fail("a signal was ignored though no save was in progress");
        if (end == HF_SAVE_STANDS && phase_ != phase::running) phase_ = phase::sealed;
        else if (phase_ != phase::running && wrong_.empty()) fail("the processors did not run on");
        is_saving_ = false;
        ++saves_seen_;
    }

    // Calls of programs.
    void do_something() {
        const std::size_t at = random_.below(logs);
        switch (random_.below(6)) {
        case 0: return fail_power(HF_SAVE_RESUMES);
        case 1: return open(at);
        case 2: return end(at);
        case 3: return close(at);
        case 4: return acknowledge(at);
        default: medium_.fence();
        }
    }
    void open(std::size_t at) {
        log_of_program& program = programs_[at];
        if (program.is == state::armed) return;
        if (program.is == state::saved) {
            if (hf_save_open(&save_, area(at), key_of(at), chunk_bytes) != -ENOTEMPTY)
                fail("an area was opened over a save that nobody had acknowledged");
            return;
        }
        program.session = {++counter_, at, 7, 9};
        program.pieces = {{{program.content.data(), 64}, {program.content.data() + 8, (log_words - 8) * 8}}};
        if (hf_save_open(&save_, area(at), key_of(at), chunk_bytes) != 0) fail("an area was not opened");
        hf_save_log& slot = registered_[at];
        slot.area = area(at);
        slot.pieces = program.pieces.data();
        slot.pieces_count = program.pieces.size();
        slot.bytes = log_words * 8;
        std::ranges::copy(program.session, slot.session);
        slot.armed = 1;
        program.is = state::armed;
    }
    void end(std::size_t at) {
        if (programs_[at].is != state::armed) return;
        programs_[at].is = state::ending;
        hf_save_ended(&save_, &registered_[at], 7);
        registered_[at].armed = 0;
        programs_[at].is = state::saved;
        look();
    }
    void close(std::size_t at) {
        if (programs_[at].is != state::armed) return;
        registered_[at].armed = 0;
        make_void(at);
    }
    void acknowledge(std::size_t at) {
        if (programs_[at].is == state::saved) make_void(at);
    }
    void make_void(std::size_t at) {
        programs_[at].is = state::changing;
        hf_save_void(&save_, area(at));
        programs_[at].is = state::none;
        look();
    }

    // Starts.
    void restart_with(const words& image) {
        std::array<log_of_program, logs> before = cut_ ? cut_->programs : programs_;
        medium_.start_with(image);
        save_.seal = reinterpret_cast<hf_save_seal*>(medium_.now().data());
        save_.claimed = 0;
        phase_ = phase::running;
        registered_ = {};
        programs_ = before;
        // What is offered has been looked at when the cut was.
        words settled = image;
        settle(settled);
        for (std::size_t at = 0; at < logs; ++at)
            programs_[at].is = is_offered(settled, at) ? state::saved : state::none;
    }
    void start() {
        is_saving_ = true;  // no interrupts before the region is there
        hf_save_begin(&save_);
        for (std::size_t at = 0; at < logs; ++at)
            if (hf_save_is_area(area(at), key_of(at), chunk_bytes)) hf_save_settle_area(&save_, area(at));
        hf_save_settle_seal(&save_);
        is_saving_ = false;
    }

    // What a cut leaves.
    void settle(words& image) {
        hf_save other = save_;
        other.port.store = [](void*, __u64* at, __u64 value) { *at = value; };
        other.port.write_back = [](void*, const void*, __u64) {};
        other.port.fence = [](void*) {};
        other.seal = reinterpret_cast<hf_save_seal*>(image.data());
        hf_save_begin(&other);
        for (std::size_t at = 0; at < logs; ++at)
            if (hf_save_is_area(area_in(image, at), key_of(at), chunk_bytes))
                hf_save_settle_area(&other, area_in(image, at));
        hf_save_settle_seal(&other);
    }
    static bool is_offered(words& image, std::size_t at) {
        return hf_save_is_area(area_in(image, at), key_of(at), chunk_bytes) && hf_save_is_saved(area_in(image, at));
    }
    bool is_right(words& image, std::size_t at) {
        if (hf_save_find(area_in(image, at), key_of(at), chunk_bytes, programs_[at].session.data()) != 0) return false;
        const __u64* const saved = reinterpret_cast<const __u64*>(area_in(image, at)) + HF_SAVE_LOG_OFFSET / 8;
        return std::equal(programs_[at].content.begin(), programs_[at].content.end(), saved);
    }
    void look() {
        ++looks_;
        words image = medium_.image();
        settle(image);
        std::size_t armed = 0, offered = 0;
        for (std::size_t at = 0; at < logs; ++at) {
            const state is = programs_[at].is;
            const bool is_there = is_offered(image, at);
            if (is == state::none && is_there) return fail("a log that is not registered was offered");
            if (is == state::saved && !is_there) return fail("a save that nobody has acknowledged is not offered");
            if (is_there && is != state::changing && !is_right(image, at))
                return fail("a save was offered that is not what the log was");
            if (is != state::armed) continue;
            ++armed;
            offered += is_there;
        }
        if (offered != 0 && offered != armed) return fail("a save counts for some of its logs");
        if (phase_ == phase::running && offered != 0) return fail("a save counts while the processors run");
        if (phase_ == phase::sealed && offered != armed) return fail("a sealed save is not there");
        if (offered != 0 && !std::equal(image.end() - homes, image.end(), medium_.now().end() - homes))
            return fail("a save counts, but not everything was written back");
    }

    save_medium medium_;
    workload::random random_;
    hf_save save_{};
    std::array<hf_save_log, logs> registered_{};
    std::array<log_of_program, logs> programs_{};
    phase phase_ = phase::running;
    bool is_inside_ = false, is_saving_ = false, is_last_ = false;
    int depth_ = 0;
    std::optional<moment> cut_;
    std::uint64_t samples_ = 0, looks_ = 0, saves_seen_ = 0;
    __u64 clock_ = 0, counter_ = 0;
    std::string wrong_;
};

}  // namespace holdfast::kernel
