// Files of events that TensorBoard reads: records, each with its checksums.
#pragma once

#include "treadle/checkpoint/FileAccess.h"
#include "treadle/tensor/Error.h"

#include <cstdint>
#include <fstream>
#include <string>
#include <string_view>

namespace treadle {

/// One file, which grows. Not thread-safe.
class EventsFile {
public:
  /// A new file `events.out.tfevents...` in that folder, which is made if it isn't there.
  static Expected<EventsFile> create(const std::string &folder, std::string_view suffix,
                                     const FileAccess &files);

  /// An event of now; `field` says what `bytes` are.
  enum Field : uint32_t { Version = 3, Graph = 4, Summary = 5 };
  void add(int64_t step, Field field, std::string_view bytes);
  /// The bytes of an event.
  void addEvent(std::string_view event);

  /// Unavailable if not all could be written.
  Expected<void> flush();

private:
  EventsFile(std::ofstream file, std::string path) : file(std::move(file)), path(std::move(path)) {}

  std::ofstream file;
  std::string path;
};

/// A record of TFRecord files: its size, a checksum of that, the bytes, and a checksum of them.
std::string tfRecord(std::string_view bytes);

} // namespace treadle
