// Event files for TensorBoard: records with checksums.
#pragma once

#include "treadle/checkpoint/FileAccess.h"
#include "treadle/tensor/Error.h"

#include <cstdint>
#include <fstream>
#include <string>
#include <string_view>

namespace treadle {

/// An event file, which grows. Not thread-safe.
class EventsFile {
public:
  /// Creates a new file `events.out.tfevents...` in a folder, which is created if needed.
  static Expected<EventsFile> create(const std::string &folder, std::string_view suffix,
                                     const FileAccess &files);

  /// Appends an event with the current time; `field` is the type of `bytes`.
  enum Field : uint32_t { Version = 3, Graph = 4, Summary = 5 };
  void add(int64_t step, Field field, std::string_view bytes);
  /// Appends a serialized event.
  void addEvent(std::string_view event);

  /// Returns Unavailable if not everything could be written.
  Expected<void> flush();

private:
  EventsFile(std::ofstream file, std::string path) : file(std::move(file)), path(std::move(path)) {}

  std::ofstream file;
  std::string path;
};

/// Returns a TFRecord: size, checksum of the size, bytes, checksum of the bytes.
std::string tfRecord(std::string_view bytes);

} // namespace treadle
