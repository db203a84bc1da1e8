// rig_module_test format|second|hasty SEED, or first SEED TIMES: what the kernel module promises a process, tried in
// the rig's machine; processes end that often in each way. `format` formats the region and no more, `first` leaves one
// chunk and one save in it, and `second` finds them after the module was removed and loaded again. `hasty` is for a
// module that does not wait for processors to stop. Whatever is wrong is a line that begins with `problem`.
#include "chunk_device_test_support.hpp"
#include "logs_test.hpp"

#include <sys/mman.h>
#include <sys/wait.h>
#include <unistd.h>

#include <cerrno>
#include <csignal>
#include <cstdint>
#include <cstdio>
#include <cstdlib>
#include <cstring>
#include <iterator>
#include <random>
#include <string>

namespace holdfast::rig {
namespace {

constexpr __u64 kept_key = 150;

void expect(bool holds, const std::string& sentence) {
    if (!holds) std::printf("problem module: not so: %s\n", sentence.c_str());
}

void bad_calls_are_refused() {
    const chunk_device one;
    expect(one.format(4095) == EINVAL && one.format(0) == EINVAL, "no odd leaf is formatted");
    expect(one.make(1, 1) == ENODATA, "nothing is made before the region is formatted");
    expect(one.format(leaf_bytes) == 0, "a region can be formatted");
    holdfast_chunk chunk = chunk_device::asked(1, 1, 0600);
    expect(one.call(_IOWR('H', 77, holdfast_chunk), &chunk) == ENOTTY, "unknown calls are refused");
    expect(one.call(HOLDFAST_MAKE, reinterpret_cast<holdfast_chunk*>(8)) == EFAULT, "bad addresses are refused");
    chunk.reserved = 1;
    expect(one.call(HOLDFAST_MAKE, &chunk) == EINVAL, "reserved fields are 0");
    expect(one.make(0, 1) == EINVAL && one.make(1, 0) == EINVAL && one.make(1, 1, 01000) == EINVAL,
           "keys, sizes and modes are checked");
    expect(one.make(1, std::uint64_t{1} << 40) == ENOSPC && one.make(1, ~std::uint64_t{0}) == ENOSPC,
           "what is larger than the region is refused");
    expect(one.use(1) == ENOENT && one.free(1) == ENOENT, "there is no chunk that nobody made");
    expect(one.map(4096) == nullptr && errno == ENODATA, "nothing is mapped before a chunk is used");
}

void a_chunk_is_mapped_within_its_bounds() {
    const chunk_device one;
    expect(one.make(101, leaf_bytes + 1) == 0, "a chunk can be made");
    expect(one.make(102, 1) == EBUSY, "a file uses one chunk");
    unsigned char* const at = one.map(2 * leaf_bytes);
    expect(at != nullptr, "a chunk can be mapped with MAP_SYNC");
    if (at != nullptr) {
        expect(at[0] == 0 && std::memcmp(at, at + 1, 2 * leaf_bytes - 1) == 0, "a new chunk is zero");
        std::memset(at, 0x5A, 2 * leaf_bytes);
    }
    expect(one.map(4096, 2 * leaf_bytes) == nullptr && one.map(3 * leaf_bytes) == nullptr &&
               one.map(leaf_bytes, leaf_bytes + 4096) == nullptr,
           "nothing behind a chunk is mapped");
    expect(one.map(4096, 0, MAP_PRIVATE) == nullptr, "no private copy is mapped");
    const chunk_device other;
    expect(other.make(101, 1) == EEXIST, "a key is there once");
    expect(other.use(101) == 0 && other.free(101) == EBUSY, "a chunk in use is not freed");
    expect(other.format(leaf_bytes) == EBUSY, "a region in use is not formatted");
    const unsigned char* const same = other.map(2 * leaf_bytes);
    expect(same != nullptr && same[leaf_bytes] == 0x5A, "both files map the same chunk");
    if (at != nullptr) ::munmap(at, 2 * leaf_bytes);
    if (same != nullptr) ::munmap(const_cast<unsigned char*>(same), 2 * leaf_bytes);
}

void permissions_are_those_of_files() {
    const chunk_device owner;
    expect(owner.free(101) == 0, "a chunk that nobody uses is freed");
    expect(owner.make(103, 1, 0604) == 0, "a chunk can be made");
    if (::setegid(1000) != 0 || ::seteuid(1000) != 0) return expect(false, "the check can be another user");
    const chunk_device writer, reader(O_RDONLY);
    expect(writer.use(103) == EACCES, "others do not write where they may only read");
    expect(reader.use(103) == 0, "others read where they may");
    expect(reader.map(4096) == nullptr && errno == EACCES, "what was opened to read is not mapped to write");
    unsigned char* const at = reader.map(4096, 0, MAP_SHARED, PROT_READ);
    expect(at != nullptr, "and it is mapped to read");
    if (at != nullptr) ::munmap(at, 4096);
    expect(writer.free(103) == EPERM, "others do not free");
    expect(writer.format(leaf_bytes) == EPERM, "users do not format");
    if (::seteuid(0) != 0 || ::setegid(0) != 0) expect(false, "the check is root again");
}

bool write_to(const char* path, const std::string& text) {
    std::FILE* const file = std::fopen(path, "w");
    if (file == nullptr) return false;
    const bool is_written = std::fputs(text.c_str(), file) >= 0;
    return std::fclose(file) == 0 && is_written;
}

/// Whether a process that loads the byte ends by this signal.
bool ends_by(int signal, const volatile unsigned char* at) {
    const pid_t child = ::fork();
    if (child == 0) ::_exit(*at);
    int status = 0;
    ::waitpid(child, &status, 0);
    return WIFSIGNALED(status) && WTERMSIG(status) == signal;
}

/// Files that are open while the region goes and comes back use nothing of it before they ask again.
void a_region_that_was_away_is_used_anew() {
    const chunk_device one;
    expect(one.make(105, leaf_bytes) == 0, "a chunk can be made");
    unsigned char* const at = one.map(leaf_bytes);
    if (at == nullptr) return expect(false, "a chunk can be mapped");
    at[0] = 0x11;
    expect(::msync(at, leaf_bytes, MS_SYNC) == 0, "a chunk is written back on demand");
    expect(write_to("/sys/bus/nd/drivers/holdfast/unbind", "namespace0.0"), "the region can be taken away");
    expect(ends_by(SIGBUS, at), "nothing is mapped of a region that is away");
    expect(one.use(105) == ENODEV && one.map(leaf_bytes) == nullptr, "nor can it be used");
    expect(write_to("/sys/bus/nd/drivers/holdfast/bind", "namespace0.0"), "the region can come back");
    expect(ends_by(SIGBUS, at), "what was mapped before stays away");
    expect(one.map(leaf_bytes) == nullptr && errno == ENODATA, "a file uses nothing of a region that has come back");
    expect(one.use(105) == 0, "before it asks");
    const unsigned char* const again = one.map(leaf_bytes);
    expect(again != nullptr && again[0] == 0x11, "then the chunk is as it was");
    if (again != nullptr) ::munmap(const_cast<unsigned char*>(again), leaf_bytes);
    ::munmap(at, leaf_bytes);
}

enum class end { killed, fault, exited, executes };

/// Stores to a new chunk until it ends, or is ended, in the middle of it.
[[noreturn]] void store_and_end(end how, unsigned stores) {
    const chunk_device own;
    volatile unsigned char* const at = own.make(104, leaf_bytes) == 0 ? own.map(leaf_bytes) : nullptr;
    if (at == nullptr) ::_exit(77);
    for (std::size_t i = 0;; ++i) {
        at[i % leaf_bytes] = 0x77;
        if (i != stores) continue;
        if (how == end::killed) ::raise(SIGKILL);
        if (how == end::fault) ::raise(SIGSEGV);
        if (how == end::exited) ::_exit(0);
        ::execl("/bin/busybox", "true", nullptr);
    }
}

/// However a process ends, its chunk is there at once, with what it had stored, and nobody uses it.
void an_ended_process_leaves_its_chunk(std::uint64_t seed, unsigned times) {
    std::mt19937_64 random(seed);
    for (unsigned i = 0; i < 4 * times; ++i) {
        const end how = static_cast<end>(i % 4);
        const auto stores = static_cast<unsigned>(random() % 5000);
        const pid_t child = ::fork();
        if (child == 0) store_and_end(how, stores);
        int status = 0;
        ::waitpid(child, &status, 0);
        if (how == end::killed || how == end::fault)
            expect(WIFSIGNALED(status) && WTERMSIG(status) == (how == end::killed ? SIGKILL : SIGSEGV),
                   "the process ended by its signal");
        else
            expect(WIFEXITED(status) && WEXITSTATUS(status) == 0, "the process ended by itself");
        {
            const chunk_device mine;
            expect(mine.use(104) == 0, "the chunk of a process that has ended is there");
            unsigned char* const at = mine.map(leaf_bytes);
            expect(at != nullptr && at[0] == 0x77 && at[stores] == 0x77 && at[stores + 1] == 0,
                   "with what the process had stored");
            if (at != nullptr) ::munmap(at, leaf_bytes);
        }
        const chunk_device mine;
        expect(mine.free(104) == 0, "nobody uses the chunk of a process that has ended");
    }
    const chunk_device mine;
    expect(mine.free(103) == 0, "other chunks are as they were");
}

/// In order and apart.
std::uint64_t count_chunks(const chunk_device& on) {
    std::uint64_t count = 0;
    holdfast_chunk each = chunk_device::asked(0);
    for (__u64 end = 0; on.call(HOLDFAST_NEXT, &each) == 0; ++count) {
        expect(each.offset >= end && each.offset % each.bytes == 0, "chunks do not overlap");
        end = each.offset + each.bytes;
        each = chunk_device::asked(0);
        each.offset = end;
    }
    return count;
}

void any_calls_leave_a_sound_region(std::uint64_t seed) {
    std::mt19937_64 random(seed);
    const unsigned long numbers[] = {HOLDFAST_MAKE, HOLDFAST_USE, HOLDFAST_FREE, HOLDFAST_NEXT};
    std::uint64_t succeeded = 0;
    for (int round = 0; round < 1000; ++round) {
        const chunk_device one;
        for (int call = 0; call < 4; ++call) {
            holdfast_chunk chunk = chunk_device::asked(200 + random() % 32, random() % (2 * leaf_bytes),
                                                       static_cast<__u32>(random() % 01000));
            if (random() % 8 == 0) {
                unsigned char bytes[sizeof chunk];
                for (unsigned char& byte : bytes) byte = static_cast<unsigned char>(random());
                std::memcpy(&chunk, bytes, sizeof chunk);
            }
            const unsigned long number = random() % 16 == 0 ? static_cast<std::uint32_t>(random())
                                                            : numbers[random() % std::size(numbers)];
            succeeded += one.call(number, &chunk) == 0;
        }
    }
    expect(succeeded > 300, "some of the calls do something");
    const chunk_device one;
    const std::uint64_t left = count_chunks(one);
    holdfast_chunk each = chunk_device::asked(0);
    for (std::uint64_t i = 0; i < left && one.call(HOLDFAST_NEXT, &each) == 0; ++i) {
        expect(one.free(each.key) == 0, "each chunk that is listed can be freed");
        each = chunk_device::asked(0);
    }
    expect(count_chunks(one) == 0, "then none is left");
}

void leave_a_chunk() {
    const chunk_device one;
    unsigned char* const at = one.make(kept_key, leaf_bytes) == 0 ? one.map(leaf_bytes) : nullptr;
    if (at == nullptr) return expect(false, "a chunk can be left for the second call");
    std::memset(at, 0x33, leaf_bytes);
}

void find_the_chunk() {
    {
        const chunk_device one;
        const unsigned char* const at = one.use(kept_key) == 0 ? one.map(leaf_bytes) : nullptr;
        expect(at != nullptr && at[leaf_bytes / 2] == 0x33, "a chunk outlives the module");
        if (at != nullptr) ::munmap(const_cast<unsigned char*>(at), leaf_bytes);
    }
    const chunk_device one;
    expect(one.free(kept_key) == 0, "and can be freed");
}

int run(const std::string& which, std::uint64_t seed, unsigned times) {
    if (which == "second") {
        find_the_chunk();
        find_the_log();
        return 0;
    }
    if (which == "hasty") {
        find_every_log_declined();
        return 0;
    }
    if (which == "format") {
        expect(chunk_device().format(leaf_bytes) == 0, "a region can be formatted");
        return 0;
    }
    if (which == "room") {
        expect(chunk_device().make(pool_key, largest_pool_bytes) == 0, "a pool has room to grow into");
        return 0;
    }
    if (which != "first") {
        std::fprintf(stderr,
                     "usage: rig_module_test format|room|second|hasty SEED\n"
                     "       rig_module_test first SEED TIMES\n");
        return 2;
    }
    bad_calls_are_refused();
    a_chunk_is_mapped_within_its_bounds();
    permissions_are_those_of_files();
    a_region_that_was_away_is_used_anew();
    expect(chunk_device().free(105) == 0, "whoever used it has closed it");
    an_ended_process_leaves_its_chunk(seed, times);
    any_calls_leave_a_sound_region(seed);
    leave_a_chunk();
    try_logs(seed, times);
    leave_a_log();
    return 0;
}

}  // namespace
}  // namespace holdfast::rig

int main(int argc, char** argv) {
    // A line is out before anything that follows can stop the machine.
    std::setvbuf(stdout, nullptr, _IOLBF, 0);
    if (argc != 3 && argc != 4) return holdfast::rig::run("", 0, 0);
    return holdfast::rig::run(argv[1], std::strtoull(argv[2], nullptr, 10),
                              argc == 4 ? static_cast<unsigned>(std::strtoul(argv[3], nullptr, 10)) : 0);
}
