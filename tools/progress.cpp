#include "progress.hpp"

#include "streams.hpp"

#include <fmt/core.h>

#include <unistd.h>

#include <algorithm>

namespace holdfast::tools {

progress::progress(std::string what, std::uint64_t total)
    : what_(std::move(what)), total_(total), terminal_(::isatty(STDERR_FILENO) == 1) {}

progress::~progress() {
    if (shown_) complain("\r\033[K");
}

void progress::at(std::uint64_t done) {
    if (!terminal_) return;
    const auto now = clock::now();
    if (now - begin_ < std::chrono::seconds(1) || now - drawn_ < std::chrono::milliseconds(100)) return;
    draw(done, now);
}

void progress::draw(std::uint64_t done, clock::time_point now) {
    constexpr std::uint64_t width = 30;
    drawn_ = now;
    shown_ = true;
    const double passed_s = std::chrono::duration<double>(now - begin_).count();
    if (total_ == 0) {
        draw_line(fmt::format("{} {} in {:.0f} s", what_, done, passed_s));
    } else {
        const double share = std::min(1.0, static_cast<double>(done) / static_cast<double>(total_));
        const auto filled = static_cast<std::size_t>(share * static_cast<double>(width));
        const std::string bar = std::string(filled, '#') + std::string(width - filled, '.');
        const double left_s = share > 0 ? passed_s / share - passed_s : 0;
        draw_line(fmt::format("{} [{}] {:.0f} %, {:.0f} s left", what_, bar, share * 100, left_s));
    }
}

}  // namespace holdfast::tools
