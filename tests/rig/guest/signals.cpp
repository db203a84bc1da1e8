#include "signals.hpp"

#include "log_device_test_support.hpp"

#include <sys/ioctl.h>
#include <sys/reboot.h>
#include <termios.h>
#include <unistd.h>

#include <fcntl.h>

#include <cerrno>
#include <csignal>
#include <cstdio>
#include <string>
#include <system_error>

namespace holdfast::rig {
namespace {

[[noreturn]] void fail(const char* what) { throw std::system_error(errno, std::generic_category(), what); }

void write_to(const char* path, const char* text) {
    const int opened = ::open(path, O_WRONLY | O_CLOEXEC);
    if (opened < 0 || ::write(opened, text, 1) != 1) std::perror(path);
    ::close(opened);
}

}  // namespace

signal_line::signal_line() : opened_(::open("/dev/ttyS1", O_RDWR | O_NONBLOCK | O_NOCTTY | O_CLOEXEC)) {
    if (opened_ < 0) fail("open /dev/ttyS1");
    termios settings{};
    if (::tcgetattr(opened_, &settings) != 0) fail("tcgetattr");
    ::cfmakeraw(&settings);
    // Break is told of by BRKINT. Changes of the modem's lines are because of CRTSCTS; CLOCAL keeps the driver from
    // hanging up when the carrier goes.
    settings.c_iflag = BRKINT;
    settings.c_cflag |= CLOCAL | CREAD | CRTSCTS;
    if (::tcsetattr(opened_, TCSANOW, &settings) != 0) fail("tcsetattr");
    holdfast_powerfail_status status{};
    const int failed = chunk_device().call(HOLDFAST_POWERFAIL_STATUS, &status);
    if (failed != 0) throw std::system_error(failed, std::generic_category(), "status of the module");
    const int discipline = static_cast<int>(status.line_discipline);
    if (::ioctl(opened_, TIOCSETD, &discipline) != 0) fail("TIOCSETD");
}

signal_line::~signal_line() { ::close(opened_); }

void obey_console() {
    std::string line;
    for (char byte = 0; ::read(STDIN_FILENO, &byte, 1) == 1;) {
        if (byte != '\n') {
            line.push_back(byte);
            continue;
        }
        if (line == "debug") write_to("/sys/kernel/debug/holdfast/fail", "1");
        if (line == "panic") write_to("/proc/sysrq-trigger", "c");
        if (line == "restart") ::reboot(RB_AUTOBOOT);
        if (line == "warning") ::kill(::getpid(), SIGPWR);
        line.clear();
    }
}

}  // namespace holdfast::rig
