// Standard output and error of the command and of the programs beside it. Either may be closed, full, or a pipe that
// nobody reads any more. Nothing here throws or ends the process: what could not be said is told by the exit status.
#pragma once

#include <fcntl.h>
#include <sys/ioctl.h>
#include <unistd.h>

#include <cerrno>
#include <csignal>
#include <cstddef>
#include <cstdio>
#include <cstring>
#include <string>
#include <string_view>

namespace holdfast::tools {

/// The first thing of main. A file that is opened takes the lowest free number: where standard error is closed, that
/// would be a pool, and messages would be written into it. So the numbers are taken, by what can be neither read nor
/// written. And a reader that goes away must not leave a pool unclean behind it.
inline void prepare_streams() noexcept {
    std::signal(SIGPIPE, SIG_IGN);
    for (const int number : {STDIN_FILENO, STDOUT_FILENO, STDERR_FILENO}) {
        if (::fcntl(number, F_GETFD) != -1 || errno != EBADF) continue;
        // The lower ones are taken by now, so it gets this number.
        static_cast<void>(::open("/dev/null", number == STDIN_FILENO ? O_WRONLY : O_RDONLY));
    }
}

/// Says a sentence on standard error, if anybody can hear it.
inline void complain(std::string_view sentence) noexcept {
    static_cast<void>(std::fwrite(sentence.data(), 1, sentence.size(), stderr));
    static_cast<void>(std::fflush(stderr));
}

namespace detail {

/// Why the first write to standard output that failed did so; 0: none did.
inline int output_error = 0;

inline void note_output_error(int number) noexcept {
    if (output_error == 0) output_error = number != 0 ? number : EIO;
}

}  // namespace detail

/// What became of what was shown so far.
enum class output { written, unread, lost };

inline output output_state() noexcept {
    if (detail::output_error == 0) return output::written;
    return detail::output_error == EPIPE ? output::unread : output::lost;
}

/// Writes to standard output, or to its buffer.
inline output show(std::string_view text) noexcept {
    errno = 0;
    if (std::fwrite(text.data(), 1, text.size(), stdout) != text.size()) detail::note_output_error(errno);
    return output_state();
}

/// Empties the buffer.
inline output flush_output() noexcept {
    errno = 0;
    if (std::fflush(stdout) != 0) detail::note_output_error(errno);
    return output_state();
}

/// "cannot write to standard output: No space left on device".
inline std::string output_complaint() {
    return std::string("cannot write to standard output: ") + std::strerror(detail::output_error);
}

/// How wide the terminal is on which standard error is shown; 80 where it does not say.
inline std::size_t terminal_columns() noexcept {
    struct winsize size {};
    constexpr std::size_t usual = 80;
    return ::ioctl(STDERR_FILENO, TIOCGWINSZ, &size) == 0 && size.ws_col > 0 ? size.ws_col : usual;
}

/// Draws `line` over the one before, cut so that it stays one line.
inline void draw_line(std::string line) noexcept {
    const std::size_t most = terminal_columns() - 1;
    if (line.size() > most) line.resize(most);
    complain("\r\033[K");
    complain(line);
}

}  // namespace holdfast::tools
