// How the plug-in in TensorFlow's process and the rewriter in its own talk: messages over a stream,
// each a list of byte strings. Both run on one machine, from one build.
#pragma once

#include <cstdint>
#include <optional>
#include <string>
#include <vector>

namespace treadle::tensorflow {

/// The plug-in sends pipeline, names of nodes to keep (a line each) and GraphDef; it gets
/// an error or "", the new GraphDef, and a line for people.
using Message = std::vector<std::string>;

/// One end of a stream. Each call blocks until the whole message went through.
class Channel {
public:
  /// `in` and `out` may be the same; the channel doesn't own them.
  Channel(int in, int out) : in(in), out(out) {}

  /// False if the other end is gone.
  bool send(const Message &message);
  /// Nothing if the other end is gone, or sends what is no message.
  std::optional<Message> receive();

private:
  bool write(const void *data, size_t size);
  bool read(void *data, size_t size);
  bool readPart(std::string &part, uint64_t size);

  int in, out;
};

} // namespace treadle::tensorflow
