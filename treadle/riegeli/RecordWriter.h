// Writes records to a Riegeli file.
#pragma once

#include <cstdint>
#include <functional>
#include <string>
#include <string_view>
#include <vector>

namespace treadle::riegeli {

/// Writes a file from its beginning, each record in an uncompressed chunk of its own, for maximum
/// compatibility. Not thread-safe.
class RecordWriter {
public:
  /// Receives the next bytes of the file; returns false if they can't be written.
  using Sink = std::function<bool(std::string_view)>;

  explicit RecordWriter(Sink sink);

  /// Writes the concatenation of the parts as one record and returns its position. After a failed
  /// write nothing more is written.
  uint64_t write(const std::vector<std::string_view> &parts);

  /// False if a write failed.
  bool ok() const { return isOk; }

private:
  void writeChunk(char type, uint64_t numRecords, uint64_t decodedSize,
                  const std::vector<std::string_view> &data);
  void writeBytes(std::string_view bytes, uint64_t chunkBegin, uint64_t chunkEnd);

  Sink sink;
  uint64_t position = 0;
  bool isOk = true;
};

} // namespace treadle::riegeli
