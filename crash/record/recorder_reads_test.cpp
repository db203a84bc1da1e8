// System calls that write to a recorded pool.
#include <crash/record/recorder_test_support.hpp>

#include <fcntl.h>
#include <sys/socket.h>
#include <sys/uio.h>
#include <unistd.h>

#include <array>
#include <cerrno>
#include <string>

namespace holdfast::crash {
namespace {

class RecorderReads : public RecorderTest {
protected:
    RecorderReads() {
        file_ = ::memfd_create("recorded", 0);
        EXPECT_EQ(::write(file_, text_.data(), text_.size()), static_cast<ssize_t>(text_.size()));
        ::lseek(file_, 0, SEEK_SET);
        EXPECT_EQ(::socketpair(AF_UNIX, SOCK_DGRAM, 0, sockets_), 0);
    }
    ~RecorderReads() override {
        ::close(file_);
        for (const int each : sockets_) ::close(each);
    }
    /// Where the words cross into the second page.
    char* place() const { return reinterpret_cast<char*>(bytes_) + page - 5; }
    std::string found(std::size_t length) const { return {place(), length}; }

    const std::string text_ = "what the file holds";
    int file_;
    int sockets_[2];
};

TEST_F(RecorderReads, WhatTheyBringIsStoredAndRecorded) {
    recorder seen(pool());
    EXPECT_EQ(::read(file_, place(), 1000), 19);
    EXPECT_EQ(found(19), text_);
    EXPECT_EQ(::pread(file_, place(), 4, 9), 4);
    EXPECT_EQ(found(4), "file");
    EXPECT_EQ(::pread64(file_, place(), 4, 5), 4);
    EXPECT_EQ(found(4), "the ");
    ::send(sockets_[0], "datagram", 8, 0);
    EXPECT_EQ(::recv(sockets_[1], place(), 4, MSG_TRUNC), 8) << "longer than the place";
    EXPECT_EQ(found(6), "data t") << "what is behind the place is as it was";
    ::send(sockets_[0], "message", 7, 0);
    EXPECT_EQ(::recvfrom(sockets_[1], place(), 100, 0, nullptr, nullptr), 7);
    EXPECT_EQ(found(7), "message");
    const trace recorded = seen.take().value();
    EXPECT_GE(recorded.events.size(), 10u);
    expect_accounts_for_memory(recorded);
}

TEST_F(RecorderReads, SeveralPlacesGetWhatIsTheirs) {
    std::array<char, 6> outside{};
    const iovec places[] = {{place(), 3}, {outside.data(), 5}, {nullptr, 0}, {place() + 3, 100}};
    recorder seen(pool());
    EXPECT_EQ(::readv(file_, places, 4), 19);
    EXPECT_EQ(std::string(outside.data()), "t the");
    EXPECT_EQ(found(14), "wha file holds");
    EXPECT_EQ(::preadv(file_, places, 4, 9), 10);
    EXPECT_EQ(std::string(outside.data()), "e hol");
    EXPECT_EQ(found(5), "filds");
    EXPECT_EQ(::preadv64(file_, places, 2, 16), 3) << "not all places are reached";
    EXPECT_EQ(found(3), "lds");
    EXPECT_EQ(::preadv2(file_, places, 1, 0, 0), 3);
    EXPECT_EQ(found(3), "wha");
    expect_accounts_for_memory(seen.take().value());
}

TEST_F(RecorderReads, ErrorsAreThoseOfTheCall) {
    recorder seen(pool());
    errno = 0;
    EXPECT_EQ(::read(-1, place(), 10), -1);
    EXPECT_EQ(errno, EBADF);
    EXPECT_EQ(::recv(sockets_[1], place(), 10, MSG_DONTWAIT), -1);
    EXPECT_EQ(errno, EAGAIN);
    const iovec places[] = {{place(), 3}};
    const volatile int too_few = -1;
    EXPECT_EQ(::readv(file_, places, too_few), -1);
    EXPECT_EQ(errno, EINVAL);
    EXPECT_EQ(::pread(file_, place(), 10, 1000), 0) << "the file's end";
    EXPECT_EQ(errno, EINVAL) << "stores leave it alone";
    EXPECT_TRUE(seen.take().value().events.empty());
}

TEST_F(RecorderReads, WithoutARecordingTheyAreTheCallsThemselves) {
    EXPECT_EQ(::read(file_, place(), 1000), 19);
    EXPECT_EQ(found(19), text_);
    std::array<char, 8> outside{};
    recorder seen(pool());
    EXPECT_EQ(::pread(file_, outside.data(), 4, 0), 4);
    EXPECT_EQ(std::string(outside.data()), "what");
    EXPECT_TRUE(seen.take().value().events.empty());
}

TEST_F(RecorderReads, WhatIsNotKnownIsRefused) {
    recorder seen(pool());
    EXPECT_EQ(::getcwd(place(), 100), nullptr);
    EXPECT_EQ(errno, EFAULT);
    EXPECT_TRUE(seen.take().value().events.empty());
}

}  // namespace
}  // namespace holdfast::crash
