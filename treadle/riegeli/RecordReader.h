// Reads records from a Riegeli file.
#pragma once

#include "treadle/tensor/Error.h"

#include <cstdint>
#include <string>
#include <string_view>
#include <vector>

namespace treadle::riegeli {

/// Limits the total decompressed size of one file's chunks for readers on this thread, during its
/// lifetime: for callers who know how much memory they have. The default is a gigabyte, or 4,096
/// times the file's size if that is more: zeros compress by a factor of a million, and legitimate
/// files contain them.
class ExpansionLimit {
public:
  /// 0 leaves the limit unchanged.
  explicit ExpansionLimit(uint64_t most);
  ~ExpansionLimit();
  ExpansionLimit(const ExpansionLimit &) = delete;
  ExpansionLimit &operator=(const ExpansionLimit &) = delete;

  /// Returns the limit for a file of `fileSize` bytes.
  static uint64_t of(uint64_t fileSize);

private:
  const uint64_t before;
};

/// Random access to the records of a file in memory. The bytes must outlive the reader; they can be
/// a mapping of the file, since only requested chunks are read. Records may be uncompressed or
/// compressed by Brotli or Zstandard. Errors: Unimplemented for Snappy and for transposed chunks;
/// DataLoss if a hash doesn't match; ResourceExhausted if the decompressed size exceeds the limit.
/// Not thread-safe.
class RecordReader {
public:
  /// Locates the chunks. InvalidArgument if the bytes aren't a Riegeli file, DataLoss if they are
  /// corrupted or truncated.
  static Expected<RecordReader> open(std::string_view bytes);

  Expected<std::string> read(uint64_t position);
  /// Reads the last record of the file; InvalidArgument if there is none.
  Expected<std::string> readLast();

private:
  /// A chunk with records.
  struct Chunk {
    uint64_t begin, dataSize, dataHash, numRecords, decodedSize;
    char type;
  };
  /// The decoded records of a chunk: their concatenation, and where each ends.
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
  uint64_t limit;        // upper bound of `expanded`
  uint64_t expanded = 0; // decompressed bytes so far, with repeated reads
  std::vector<Chunk> chunks;
  /// The last decoded chunk, since neighboring records are often read in sequence.
  Records decoded;
  const Chunk *decodedChunk = nullptr;
};

/// Whether the bytes begin with the signature of Riegeli files.
bool isRiegeli(std::string_view bytes);

} // namespace treadle::riegeli
