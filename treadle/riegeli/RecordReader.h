// Reads records from a Riegeli file.
#pragma once

#include "treadle/tensor/Error.h"

#include <cstdint>
#include <string>
#include <string_view>
#include <vector>

namespace treadle::riegeli {

/// The most bytes that may come of the compressed chunks of one file, on this thread while it
/// lives: for callers who know how much memory they have. Without one it is a gigabyte, or 4,096
/// times what the file has, where that is more: zeros pack by a factor of a million, and honest
/// files have them.
class ExpansionLimit {
public:
  /// 0: nothing changes.
  explicit ExpansionLimit(uint64_t most);
  ~ExpansionLimit();
  ExpansionLimit(const ExpansionLimit &) = delete;
  ExpansionLimit &operator=(const ExpansionLimit &) = delete;

  /// For a file of so many bytes.
  static uint64_t of(uint64_t fileSize);

private:
  const uint64_t before;
};

/// Random access to the records of a file in memory, whose bytes must outlive the reader (map the
/// file: only what is asked for is touched). Records may be plain or compressed by Brotli or
/// Zstandard; Unimplemented for Snappy and for transposed chunks. Hashes are checked: DataLoss
/// where one doesn't match. ResourceExhausted beyond the limit of what compressed chunks may
/// become. Not thread-safe.
class RecordReader {
public:
  /// Finds the chunks. InvalidArgument if the bytes are no Riegeli file, DataLoss if they are
  /// damaged or not all there.
  static Expected<RecordReader> open(std::string_view bytes);

  Expected<std::string> read(uint64_t position);
  /// The last record of the file; InvalidArgument if there is none.
  Expected<std::string> readLast();

private:
  /// A chunk that holds records.
  struct Chunk {
    uint64_t begin, dataSize, dataHash, numRecords, decodedSize;
    char type;
  };
  /// The records of a chunk: where each ends, and all of them.
  struct Records {
    std::vector<uint64_t> ends;
    std::string values;
    size_t valuesBegin = 0;
  };

  explicit RecordReader(std::string_view bytes)
      : bytes(bytes), limit(ExpansionLimit::of(bytes.size())) {}

  Expected<void> findChunks();
  Expected<Chunk> readHeader(uint64_t begin) const;
  bool copy(uint64_t position, uint64_t size, char *to) const;
  Expected<void> decode(const Chunk &chunk);
  Expected<void> expandRecords(const Chunk &chunk, char compressedBy, std::string_view rest,
                               std::string &sizes);
  Expected<std::string> take(const Chunk &chunk, uint64_t index);

  std::string_view bytes;
  uint64_t limit;        // of `expanded`
  uint64_t expanded = 0; // what came of compressed data; what is read again counts again
  std::vector<Chunk> chunks;
  /// Neighbours are often read after each other.
  Records decoded;
  const Chunk *decodedChunk = nullptr;
};

/// Whether the bytes begin as every Riegeli file does.
bool isRiegeli(std::string_view bytes);

} // namespace treadle::riegeli
