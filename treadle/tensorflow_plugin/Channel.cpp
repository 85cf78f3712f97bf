// The wire format of messages: a magic number, the number of parts, and the length and bytes of
// each part.
#include "treadle/tensorflow_plugin/Channel.h"

#include <algorithm>
#include <cerrno>

#include <sys/socket.h>
#include <unistd.h>

namespace treadle::tensorflow {
namespace {

constexpr uint64_t magicNumber = 0x31656C6461657274; // treadle1
constexpr uint64_t maxParts = 16;
constexpr uint64_t maxBytes = uint64_t(1) << 34;

/// No SIGPIPE if the other end is a closed socket.
ssize_t writeSome(int file, const char *data, size_t size) {
  ssize_t done = ::send(file, data, size, MSG_NOSIGNAL);
  return done < 0 && errno == ENOTSOCK ? ::write(file, data, size) : done;
}

/// Repeats a partial transfer until it is complete; returns false on an error or the end of the
/// stream.
template <typename Byte, typename Some> bool transferAll(Byte *at, size_t size, Some some) {
  while (size > 0) {
    ssize_t done = some(at, size);
    if (done < 0 && errno == EINTR)
      continue;
    if (done <= 0)
      return false;
    at += done;
    size -= static_cast<size_t>(done);
  }
  return true;
}

} // namespace

bool Channel::write(const void *data, size_t size) {
  return transferAll(static_cast<const char *>(data), size,
                     [&](const char *at, size_t left) { return writeSome(out, at, left); });
}

bool Channel::read(void *data, size_t size) {
  return transferAll(static_cast<char *>(data), size,
                     [&](char *at, size_t left) { return ::read(in, at, left); });
}

/// Grows the buffer as bytes arrive, rather than trusting the declared size.
bool Channel::readPart(std::string &part, uint64_t size) {
  constexpr uint64_t piece = 1 << 24;
  for (uint64_t at = 0; at < size; at = part.size()) {
    part.resize(at + std::min(piece, size - at));
    if (!read(part.data() + at, part.size() - at))
      return false;
  }
  return true;
}

bool Channel::send(const Message &message) {
  std::vector<uint64_t> header = {magicNumber, message.size()};
  for (const std::string &part : message)
    header.push_back(part.size());
  if (!write(header.data(), header.size() * sizeof(uint64_t)))
    return false;
  for (const std::string &part : message)
    if (!write(part.data(), part.size()))
      return false;
  return true;
}

std::optional<Message> Channel::receive() {
  uint64_t header[2];
  if (!read(header, sizeof(header)) || header[0] != magicNumber || header[1] > maxParts)
    return std::nullopt;
  std::vector<uint64_t> sizes(header[1]);
  if (!read(sizes.data(), sizes.size() * sizeof(uint64_t)))
    return std::nullopt;
  for (uint64_t size : sizes)
    if (size > maxBytes)
      return std::nullopt;
  Message message;
  for (uint64_t size : sizes)
    if (!readPart(message.emplace_back(), size))
      return std::nullopt;
  return message;
}

} // namespace treadle::tensorflow
