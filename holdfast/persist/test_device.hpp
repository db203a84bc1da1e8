// A regular file that stands for a device of persistent memory, while an object of this class lives.
#pragma once

#include <holdfast/persist/device_memory.hpp>
#include <holdfast/persist/test_scratch.hpp>

#include <fcntl.h>
#include <unistd.h>

namespace holdfast::persist::test {

class stand_in_for_device {
public:
    explicit stand_in_for_device(std::uint64_t bytes = 8 << 20) : directory_("/dev/shm") {
        const int made = ::open(path().c_str(), O_RDWR | O_CREAT | O_CLOEXEC, 0600);
        EXPECT_EQ(::ftruncate(made, static_cast<off_t>(bytes)), 0);
        ::close(made);
        detail::device_stand_in = &stands_;
    }
    ~stand_in_for_device() { detail::device_stand_in = nullptr; }
    stand_in_for_device(const stand_in_for_device&) = delete;
    stand_in_for_device& operator=(const stand_in_for_device&) = delete;

    const std::string& path() const { return stands_.path; }
    std::string file(const std::string& name) const { return directory_.file(name); }
    /// What is on it, past the library.
    std::string raw(std::uint64_t offset, std::size_t bytes) const {
        std::string text(bytes, '?');
        std::ifstream in(path(), std::ios::binary);
        in.seekg(static_cast<std::streamoff>(offset));
        in.read(text.data(), static_cast<std::streamsize>(bytes));
        return text;
    }
    void write_raw(std::uint64_t offset, const std::string& text) const {
        std::fstream out(path(), std::ios::binary | std::ios::in | std::ios::out);
        out.seekp(static_cast<std::streamoff>(offset));
        out.write(text.data(), static_cast<std::streamsize>(text.size()));
    }

private:
    scratch_directory directory_;
    detail::stand_in_device stands_{directory_.file("dax0.0"), 2 << 20};
};

}  // namespace holdfast::persist::test
