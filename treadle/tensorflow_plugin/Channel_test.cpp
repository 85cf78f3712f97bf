// Tests of complete and broken messages over a pipe.
#include "treadle/tensorflow_plugin/Channel.h"

#include <gtest/gtest.h>

#include <thread>

#include <unistd.h>

namespace treadle::tensorflow {
namespace {

struct Pipe {
  Pipe() { EXPECT_EQ(pipe(ends), 0); }
  ~Pipe() {
    close(ends[0]);
    if (ends[1] >= 0)
      close(ends[1]);
  }
  void closeInput() {
    close(ends[1]);
    ends[1] = -1;
  }
  int ends[2];
};

TEST(Channel, MessagesArriveAsTheyWereSent) {
  Pipe pipe;
  Message sent = {"", std::string("a\0b", 3), std::string(1 << 20, 'x')};
  std::thread sender([&] {
    EXPECT_TRUE(Channel(-1, pipe.ends[1]).send(sent));
    EXPECT_TRUE(Channel(-1, pipe.ends[1]).send({}));
    pipe.closeInput();
  });
  Channel channel(pipe.ends[0], -1);
  EXPECT_EQ(channel.receive(), sent);
  EXPECT_EQ(channel.receive(), Message());
  EXPECT_EQ(channel.receive(), std::nullopt);
  sender.join();
}

TEST(Channel, AMessageThatBreaksOffIsNone) {
  Pipe pipe;
  uint64_t header[] = {0x31656C6461657274, 1, 100};
  ASSERT_EQ(write(pipe.ends[1], header, sizeof(header)), ssize_t(sizeof(header)));
  ASSERT_EQ(write(pipe.ends[1], "short", 5), 5);
  pipe.closeInput();
  EXPECT_EQ(Channel(pipe.ends[0], -1).receive(), std::nullopt);
}

TEST(Channel, WhatIsNoMessageIsNone) {
  for (const std::vector<uint64_t> &words : {std::vector<uint64_t>{1, 1, 1},
                                             {0x31656C6461657274, 1 << 20, 1},
                                             {0x31656C6461657274, 1, uint64_t(1) << 60}}) {
    Pipe pipe;
    size_t size = words.size() * sizeof(uint64_t);
    ASSERT_EQ(write(pipe.ends[1], words.data(), size), ssize_t(size));
    pipe.closeInput();
    EXPECT_EQ(Channel(pipe.ends[0], -1).receive(), std::nullopt);
  }
}

} // namespace
} // namespace treadle::tensorflow
