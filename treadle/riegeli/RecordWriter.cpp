#include "treadle/riegeli/RecordWriter.h"

#include "treadle/riegeli/Format.h"
#include "treadle/riegeli/HighwayHash.h"
#include "treadle/tensor/Wire.h"

#include <algorithm>

namespace treadle::riegeli {
namespace {

/// Returns the hash of some numbers, followed by the numbers.
std::string prependHash(std::initializer_list<uint64_t> values) {
  std::string numbers, result;
  for (uint64_t value : values)
    putFixed(numbers, value);
  putFixed(result, hashOf({numbers}));
  return result + numbers;
}

uint64_t totalSize(const std::vector<std::string_view> &parts) {
  uint64_t size = 0;
  for (std::string_view part : parts)
    size += part.size();
  return size;
}

} // namespace

RecordWriter::RecordWriter(Sink sink) : sink(std::move(sink)) {
  writeChunk(static_cast<char>(ChunkType::Signature), 0, 0, {});
}

uint64_t RecordWriter::write(const std::vector<std::string_view> &parts) {
  uint64_t begin = position, size = totalSize(parts);
  std::string sizes, front(1, static_cast<char>(Compression::None));
  putVarint(sizes, size);
  putVarint(front, sizes.size());
  front += sizes;
  std::vector<std::string_view> data = {front};
  data.insert(data.end(), parts.begin(), parts.end());
  writeChunk(static_cast<char>(ChunkType::Simple), 1, size, data);
  return begin;
}

void RecordWriter::writeChunk(char type, uint64_t numRecords, uint64_t decodedSize,
                              const std::vector<std::string_view> &data) {
  uint64_t dataSize = totalSize(data), begin = position;
  uint64_t typeAndNumber = numRecords << 8 | static_cast<unsigned char>(type);
  std::string header = prependHash({dataSize, hashOf(data), typeAndNumber, decodedSize});
  uint64_t end = advance(begin, chunkHeaderSize + dataSize);
  writeBytes(header, begin, end);
  for (std::string_view part : data)
    writeBytes(part, begin, end);
}

/// Writes bytes of a chunk, interrupted by block headers.
void RecordWriter::writeBytes(std::string_view bytes, uint64_t chunkBegin, uint64_t chunkEnd) {
  while (isOk && !bytes.empty()) {
    if (position % blockSize == 0) {
      isOk = sink(prependHash({position - chunkBegin, chunkEnd - position}));
      position += blockHeaderSize;
      continue;
    }
    uint64_t run = std::min<uint64_t>(bytes.size(), blockSize - position % blockSize);
    isOk = isOk && sink(bytes.substr(0, run));
    bytes.remove_prefix(run);
    position += run;
  }
}

} // namespace treadle::riegeli
