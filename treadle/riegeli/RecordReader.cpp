#include "treadle/riegeli/RecordReader.h"

#include "treadle/riegeli/Format.h"
#include "treadle/riegeli/HighwayHash.h"

#include <algorithm>
#include <brotli/decode.h>
#include <cstring>
#include <optional>
#include <zstd.h>

namespace treadle::riegeli {
namespace {

uint64_t load(const char *at) {
  uint64_t value;
  std::memcpy(&value, at, sizeof value);
  return value;
}

std::optional<uint64_t> readVarint(std::string_view &bytes) {
  uint64_t value = 0;
  for (unsigned shift = 0; shift < 64 && !bytes.empty(); shift += 7) {
    auto byte = static_cast<unsigned char>(bytes.front());
    bytes.remove_prefix(1);
    value |= static_cast<uint64_t>(byte & 0x7f) << shift;
    if (byte < 0x80)
      return value;
  }
  return std::nullopt;
}

bool decompress(Compression compression, std::string_view from, std::string &to) {
  if (compression == Compression::Zstd)
    return ZSTD_decompress(to.data(), to.size(), from.data(), from.size()) == to.size();
  size_t size = to.size();
  return BrotliDecoderDecompress(from.size(), reinterpret_cast<const uint8_t *>(from.data()), &size,
                                 reinterpret_cast<uint8_t *>(to.data())) ==
             BROTLI_DECODER_RESULT_SUCCESS &&
         size == to.size();
}

Unexpected damaged(uint64_t begin, std::string_view what) {
  return Unexpected(dataLoss("the chunk at byte ", begin, " is damaged: ", what));
}

/// A part of a chunk as it was before compression. A size beyond `limit` is a lie.
Expected<std::string> expand(Compression compression, std::string_view part, uint64_t limit,
                             uint64_t begin) {
  // No message is longer.
  constexpr uint64_t longest = INT32_MAX;
  std::optional<uint64_t> size = readVarint(part);
  if (!size || *size > std::min(limit, longest))
    return damaged(begin, "the size of its compressed data makes no sense");
  std::string result(*size, '\0');
  if (!decompress(compression, part, result))
    return damaged(begin, "its compressed data can't be decompressed");
  return result;
}

Expected<std::vector<uint64_t>> readEnds(std::string_view sizes, uint64_t numRecords,
                                         uint64_t valuesSize, uint64_t begin) {
  std::vector<uint64_t> ends;
  uint64_t end = 0;
  while (!sizes.empty()) {
    std::optional<uint64_t> size = readVarint(sizes);
    if (!size || *size > valuesSize - end)
      return damaged(begin, "its records are longer than it is");
    ends.push_back(end += *size);
  }
  if (ends.size() != numRecords || end != valuesSize)
    return damaged(begin, "its records aren't what its header says");
  return ends;
}

} // namespace

bool isRiegeli(std::string_view bytes) {
  return bytes.starts_with(std::string_view("\x83\xaf\x70\xd1\x0d\x88\x4a\x3f", 8));
}

Expected<RecordReader> RecordReader::open(std::string_view bytes) {
  if (!isRiegeli(bytes))
    return Unexpected(invalidArgument("the bytes are no Riegeli file, expected its signature"));
  RecordReader reader(bytes);
  TREADLE_TRY(reader.findChunks());
  return reader;
}

/// Copies bytes of a chunk, leaving out block headers; false if the file ends before.
bool RecordReader::copy(uint64_t position, uint64_t size, char *to) const {
  while (size != 0) {
    if (position % blockSize < blockHeaderSize)
      position += blockHeaderSize - position % blockSize;
    uint64_t run = std::min(size, blockSize - position % blockSize);
    if (position > bytes.size() || run > bytes.size() - position)
      return false;
    std::memcpy(to, bytes.data() + position, run);
    to += run, position += run, size -= run;
  }
  return true;
}

Expected<RecordReader::Chunk> RecordReader::readHeader(uint64_t begin) const {
  char header[chunkHeaderSize];
  if (!copy(begin, sizeof header, header))
    return damaged(begin, "the file ends in its header");
  if (load(header) != hashOf({std::string_view(header + 8, sizeof header - 8)}))
    return damaged(begin, "its header doesn't match the header's hash");
  uint64_t typeAndNumber = load(header + 24);
  return Chunk{begin,
               load(header + 8),
               load(header + 16),
               typeAndNumber >> 8,
               load(header + 32),
               static_cast<char>(typeAndNumber)};
}

Expected<void> RecordReader::findChunks() {
  for (uint64_t begin = 0; begin < bytes.size();) {
    Expected<Chunk> chunk = readHeader(begin);
    if (!chunk)
      return Unexpected(chunk.error());
    if (chunk->dataSize > bytes.size())
      return damaged(begin, "the file ends in its data");
    uint64_t end = advance(begin, chunkHeaderSize + chunk->dataSize);
    if (end > bytes.size())
      return damaged(begin, "the file ends in its data");
    auto type = static_cast<ChunkType>(chunk->type);
    if (type == ChunkType::Simple || type == ChunkType::Transposed)
      chunks.push_back(*chunk);
    // Every record has a position of its own, so a chunk is at least as long as it has records.
    if (chunk->numRecords > end - begin) {
      end = begin + chunk->numRecords;
      if (end % blockSize != 0 && end % blockSize < blockHeaderSize)
        end += blockHeaderSize - end % blockSize;
    }
    begin = end;
  }
  return {};
}

Expected<void> RecordReader::decode(const Chunk &chunk) {
  decodedChunk = nullptr;
  if (static_cast<ChunkType>(chunk.type) == ChunkType::Transposed)
    return Unexpected(unimplemented("the chunk at byte ", chunk.begin,
                                    " is transposed, which can't be read; write the file with "
                                    "transpose off"));
  std::string data(chunk.dataSize, '\0');
  if (!copy(advance(chunk.begin, chunkHeaderSize), chunk.dataSize, data.data()))
    return damaged(chunk.begin, "the file ends in its data");
  if (hashOf({data}) != chunk.dataHash)
    return damaged(chunk.begin, "its data doesn't match the data's hash");
  std::string_view rest = data;
  if (rest.empty())
    return damaged(chunk.begin, "it has no data");
  auto compression = static_cast<Compression>(rest.front());
  rest.remove_prefix(1);
  std::optional<uint64_t> sizesSize = readVarint(rest);
  if (!sizesSize || *sizesSize > rest.size())
    return damaged(chunk.begin, "its records' sizes are longer than it is");
  std::string sizes(rest.substr(0, *sizesSize));
  rest.remove_prefix(*sizesSize);

  if (compression == Compression::None) {
    decoded.valuesBegin = data.size() - rest.size();
    decoded.values = std::move(data);
  } else if (compression == Compression::Brotli || compression == Compression::Zstd) {
    constexpr uint64_t longestVarint = 10;
    std::string plainSizes =
        TREADLE_TRY(expand(compression, sizes, chunk.numRecords * longestVarint, chunk.begin));
    Expected<std::string> values = expand(compression, rest, chunk.decodedSize, chunk.begin);
    if (!values)
      return Unexpected(values.error());
    sizes = std::move(plainSizes);
    decoded.valuesBegin = 0;
    decoded.values = std::move(*values);
  } else {
    return Unexpected(unimplemented("the chunk at byte ", chunk.begin, " is compressed by ",
                                    compression == Compression::Snappy ? "Snappy" : "another way",
                                    ", which can't be read; write the file uncompressed"));
  }
  auto ends =
      readEnds(sizes, chunk.numRecords, decoded.values.size() - decoded.valuesBegin, chunk.begin);
  if (!ends)
    return Unexpected(ends.error());
  decoded.ends = std::move(*ends);
  decodedChunk = &chunk;
  return {};
}

Expected<std::string> RecordReader::take(const Chunk &chunk, uint64_t index) {
  if (decodedChunk != &chunk)
    TREADLE_TRY(decode(chunk));
  uint64_t begin = index == 0 ? 0 : decoded.ends[index - 1];
  uint64_t size = decoded.ends[index] - begin;
  if (chunk.numRecords == 1) {
    // Alone it is large: it is handed on, not copied.
    decodedChunk = nullptr;
    decoded.values.erase(0, decoded.valuesBegin);
    return std::move(decoded.values);
  }
  return decoded.values.substr(decoded.valuesBegin + begin, size);
}

Expected<std::string> RecordReader::read(uint64_t position) {
  auto after = std::upper_bound(chunks.begin(), chunks.end(), position,
                                [](uint64_t at, const Chunk &chunk) { return at < chunk.begin; });
  if (after == chunks.begin() || position - (after - 1)->begin >= (after - 1)->numRecords)
    return Unexpected(invalidArgument("there is no record at position ", position));
  return take(*(after - 1), position - (after - 1)->begin);
}

Expected<std::string> RecordReader::readLast() {
  for (auto chunk = chunks.rbegin(); chunk != chunks.rend(); ++chunk)
    if (chunk->numRecords != 0)
      return take(*chunk, chunk->numRecords - 1);
  return Unexpected(invalidArgument("the Riegeli file has no records"));
}

} // namespace treadle::riegeli
