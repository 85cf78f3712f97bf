// The protocol between the plug-in in TensorFlow's process and the rewriter process: messages over
// a stream, each a list of byte strings. Both come from the same build and run on one machine.
#pragma once

#include <cstdint>
#include <optional>
#include <string>
#include <vector>

namespace treadle::tensorflow {

/// The plug-in sends the pipeline, the names of nodes to keep (one per line) and the GraphDef. The
/// reply is an error or "", the new GraphDef, and a summary for the log.
using Message = std::vector<std::string>;

/// One end of a stream. Each call blocks until the whole message is transferred.
class Channel {
public:
  /// `in` and `out` may be equal; the channel doesn't own them.
  Channel(int in, int out) : in(in), out(out) {}

  /// Returns false if the other end is closed.
  bool send(const Message &message);
  /// Returns nullopt if the other end is closed, or the message is malformed.
  std::optional<Message> receive();

private:
  bool write(const void *data, size_t size);
  bool read(void *data, size_t size);
  bool readPart(std::string &part, uint64_t size);

  int in, out;
};

} // namespace treadle::tensorflow
