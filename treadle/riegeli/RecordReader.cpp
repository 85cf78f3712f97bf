#include "treadle/riegeli/RecordReader.h"

#include "treadle/riegeli/Format.h"
#include "treadle/riegeli/HighwayHash.h"
#include "treadle/tensor/Wire.h"

#include <algorithm>
#include <brotli/decode.h>
#include <cstring>
#include <memory>
#include <optional>
#include <utility>
#include <zstd.h>

namespace treadle::riegeli {
namespace {

/// Removes a number from the front of some bytes.
std::optional<uint64_t> takeNumber(std::string_view &bytes) {
  WireReader reader(bytes);
  uint64_t number = reader.varint();
  bytes = reader.left();
  return reader.isGood() ? std::optional(number) : std::nullopt;
}

/// Streaming decompressors: `take` returns false if the stream is corrupted or ends.
class ZstdStream {
public:
  explicit ZstdStream(std::string_view from) : in{from.data(), from.size(), 0} {}

  bool take(char *to, size_t size, size_t &taken) {
    ZSTD_outBuffer out{to, size, 0};
    size_t before = in.pos;
    if (stream)
      left = ZSTD_decompressStream(stream.get(), &out, &in);
    taken = out.pos;
    return !ZSTD_isError(left) && (taken || in.pos != before);
  }
  bool isDone() const { return left == 0 && in.pos == in.size; }

private:
  ZSTD_inBuffer in;
  size_t left = 1; // 0 at the end of a frame
  std::unique_ptr<ZSTD_DStream, size_t (*)(ZSTD_DStream *)> stream{ZSTD_createDStream(),
                                                                   ZSTD_freeDStream};
};

class BrotliStream {
public:
  explicit BrotliStream(std::string_view from)
      : next(reinterpret_cast<const uint8_t *>(from.data())), left(from.size()) {}

  bool take(char *to, size_t size, size_t &taken) {
    auto *at = reinterpret_cast<uint8_t *>(to);
    size_t room = size, before = left;
    if (stream)
      result = BrotliDecoderDecompressStream(stream.get(), &left, &next, &room, &at, nullptr);
    taken = size - room;
    return result != BROTLI_DECODER_RESULT_ERROR && (taken || left != before || isDone());
  }
  bool isDone() const { return result == BROTLI_DECODER_RESULT_SUCCESS && left == 0; }

private:
  const uint8_t *next;
  size_t left;
  BrotliDecoderResult result = BROTLI_DECODER_RESULT_ERROR;
  std::unique_ptr<BrotliDecoderState, void (*)(BrotliDecoderState *)> stream{
      BrotliDecoderCreateInstance(nullptr, nullptr, nullptr), BrotliDecoderDestroyInstance};
};

/// Decompresses `size` bytes of a stream, or returns nullopt. Memory is allocated as data arrives,
/// since `size` isn't trustworthy.
template <typename Stream> std::optional<std::string> decompressAll(Stream stream, size_t size) {
  constexpr size_t firstRoom = 1 << 16;
  std::string out;
  while (!stream.isDone()) {
    size_t had = out.size(), taken = 0;
    out.resize(std::min(size, std::max(firstRoom, 2 * had)));
    bool isGood = stream.take(out.data() + had, out.size() - had, taken);
    out.resize(had + taken);
    if (!isGood)
      return std::nullopt;
  }
  return out.size() == size ? std::optional(std::move(out)) : std::nullopt;
}

Unexpected damaged(uint64_t begin, std::string_view what) {
  return Unexpected(dataLoss("the chunk at byte ", begin, " is corrupted: ", what));
}

/// Removes the decompressed size from the front of a compressed part. Sizes above `most` are
/// errors.
Expected<uint64_t> takeSize(std::string_view &part, uint64_t most, uint64_t begin) {
  // No protobuf message is longer.
  constexpr uint64_t longest = INT32_MAX;
  std::optional<uint64_t> size = takeNumber(part);
  if (!size || *size > std::min(most, longest))
    return damaged(begin, "the size of its compressed data is invalid");
  return *size;
}

/// Decompresses a part of a chunk.
Expected<std::string> expand(Compression compression, std::string_view part, uint64_t size,
                             uint64_t begin) {
  auto result = compression == Compression::Zstd ? decompressAll(ZstdStream(part), size)
                                                 : decompressAll(BrotliStream(part), size);
  if (!result)
    return damaged(begin, "its compressed data can't be decompressed");
  return std::move(*result);
}

Expected<std::vector<uint64_t>> readEnds(std::string_view sizes, uint64_t numRecords,
                                         uint64_t valuesSize, uint64_t begin) {
  std::vector<uint64_t> ends;
  uint64_t end = 0;
  while (!sizes.empty()) {
    std::optional<uint64_t> size = takeNumber(sizes);
    if (!size || *size > valuesSize - end)
      return damaged(begin, "its records are longer than the chunk");
    ends.push_back(end += *size);
  }
  if (ends.size() != numRecords || end != valuesSize)
    return damaged(begin, "its records don't match its header");
  return ends;
}

thread_local uint64_t limitOfThread = 0; // 0: no limit set

} // namespace

ExpansionLimit::ExpansionLimit(uint64_t most)
    : before(std::exchange(limitOfThread, most ? most : limitOfThread)) {}
ExpansionLimit::~ExpansionLimit() { limitOfThread = before; }

uint64_t ExpansionLimit::of(uint64_t fileSize) {
  constexpr uint64_t floor = uint64_t{1} << 30, factor = 4096;
  return limitOfThread ? limitOfThread : std::max(floor, factor * fileSize);
}

bool isRiegeli(std::string_view bytes) {
  return bytes.starts_with(std::string_view("\x83\xaf\x70\xd1\x0d\x88\x4a\x3f", 8));
}

Expected<RecordReader> RecordReader::open(std::string_view bytes) {
  if (!isRiegeli(bytes))
    return Unexpected(invalidArgument("the bytes are not a Riegeli file, expected its signature"));
  RecordReader reader(bytes);
  TREADLE_TRY(reader.findChunks());
  return reader;
}

/// Copies bytes of a chunk without block headers; returns false if the file ends before.
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
  std::string_view numbers(header, sizeof header);
  auto load = [&](size_t i) { return fixedAt<uint64_t>(numbers, 8 * i); };
  if (load(0) != hashOf({numbers.substr(8)}))
    return damaged(begin, "its header doesn't match the header's hash");
  uint64_t typeAndNumber = load(3);
  return Chunk{
      begin, load(1), load(2), typeAndNumber >> 8, load(4), static_cast<char>(typeAndNumber)};
}

Expected<void> RecordReader::findChunks() {
  for (uint64_t begin = 0; begin < bytes.size();) {
    Chunk chunk = TREADLE_TRY(readHeader(begin));
    if (chunk.dataSize > bytes.size())
      return damaged(begin, "the file ends in its data");
    uint64_t end = advance(begin, chunkHeaderSize + chunk.dataSize);
    if (end > bytes.size())
      return damaged(begin, "the file ends in its data");
    auto type = static_cast<ChunkType>(chunk.type);
    if (type == ChunkType::Simple || type == ChunkType::Transposed)
      chunks.push_back(chunk);
    // Every record has a distinct position, so a chunk is at least as long as its number of
    // records.
    if (chunk.numRecords > end - begin) {
      end = begin + chunk.numRecords;
      if (end % blockSize != 0 && end % blockSize < blockHeaderSize)
        end += blockHeaderSize - end % blockSize;
    }
    begin = end;
  }
  return {};
}

/// Decompresses the sizes and the records of a chunk.
Expected<void> RecordReader::expandRecords(const Chunk &chunk, char compressedBy,
                                           std::string_view rest, std::string &sizes) {
  constexpr uint64_t longestVarint = 10, bytesOfEnd = sizeof(uint64_t);
  auto compression = static_cast<Compression>(compressedBy);
  std::string_view packed = sizes;
  uint64_t ofSizes = TREADLE_TRY(takeSize(packed, chunk.numRecords * longestVarint, chunk.begin));
  uint64_t ofRecords = TREADLE_TRY(takeSize(rest, chunk.decodedSize, chunk.begin));
  expanded += ofSizes * (1 + bytesOfEnd) + ofRecords;
  if (expanded > limit)
    return Unexpected(resourceExhausted(
        "with the chunk at byte ", chunk.begin, " the compressed chunks take ", expanded,
        " bytes when decompressed, more than the ", limit, " allowed for a file of ", bytes.size(),
        " bytes; set a memory limit, or write the file uncompressed"));
  std::string plain = TREADLE_TRY(expand(compression, packed, ofSizes, chunk.begin));
  decoded.values = TREADLE_TRY(expand(compression, rest, ofRecords, chunk.begin));
  decoded.valuesBegin = 0;
  sizes = std::move(plain);
  return {};
}

Expected<void> RecordReader::decode(const Chunk &chunk) {
  decodedChunk = nullptr;
  if (static_cast<ChunkType>(chunk.type) == ChunkType::Transposed)
    return Unexpected(
        unimplemented("the chunk at byte ", chunk.begin,
                      " is transposed, which is not supported; write the file with transpose off"));
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
  std::optional<uint64_t> sizesSize = takeNumber(rest);
  if (!sizesSize || *sizesSize > rest.size())
    return damaged(chunk.begin, "the sizes of its records are longer than the chunk");
  std::string sizes(rest.substr(0, *sizesSize));
  rest.remove_prefix(*sizesSize);

  if (compression == Compression::None) {
    decoded.valuesBegin = data.size() - rest.size();
    decoded.values = std::move(data);
  } else if (compression == Compression::Brotli || compression == Compression::Zstd) {
    TREADLE_TRY(expandRecords(chunk, data.front(), rest, sizes));
  } else {
    return Unexpected(unimplemented("the chunk at byte ", chunk.begin, " is compressed by ",
                                    compression == Compression::Snappy ? "Snappy" : "another way",
                                    ", which can't be read; write the file uncompressed"));
  }
  auto ends = TREADLE_TRY(
      readEnds(sizes, chunk.numRecords, decoded.values.size() - decoded.valuesBegin, chunk.begin));
  decoded.ends = std::move(ends);
  decodedChunk = &chunk;
  return {};
}

Expected<std::string> RecordReader::take(const Chunk &chunk, uint64_t index) {
  if (decodedChunk != &chunk)
    TREADLE_TRY(decode(chunk));
  uint64_t begin = index == 0 ? 0 : decoded.ends[index - 1];
  uint64_t size = decoded.ends[index] - begin;
  if (chunk.numRecords == 1) {
    // A large single record is moved out instead of copied.
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
