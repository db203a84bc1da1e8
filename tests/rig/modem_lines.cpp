// Preloaded into the emulator of the rig's machine: gives its terminal modem lines. The file HOLDFAST_MODEM_LINES has
// one byte: whether the carrier is there.
#include <sys/ioctl.h>
#include <sys/syscall.h>
#include <unistd.h>

#include <fcntl.h>

#include <cstdarg>
#include <cstdlib>

namespace {

int lines_now() {
    char carrier = '1';
    const char* const path = std::getenv("HOLDFAST_MODEM_LINES");
    const int opened = path == nullptr ? -1 : ::open(path, O_RDONLY | O_CLOEXEC);
    if (opened >= 0) {
        if (::read(opened, &carrier, 1) != 1) carrier = '1';
        ::close(opened);
    }
    return TIOCM_CTS | TIOCM_DSR | (carrier == '1' ? TIOCM_CAR : 0);
}

}  // namespace

extern "C" int ioctl(int opened, unsigned long request, ...) noexcept {
    std::va_list rest;
    va_start(rest, request);
    void* const argument = va_arg(rest, void*);
    va_end(rest);
    if (request == TIOCMGET) {
        *static_cast<int*>(argument) = lines_now();
        return 0;
    }
    if (request == TIOCMSET) return 0;
    return static_cast<int>(::syscall(SYS_ioctl, opened, request, argument));
}
