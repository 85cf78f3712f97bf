#include "treadle/checkpoint/BundleReader.h"

#include "treadle/checkpoint/Crc32c.h"
#include "treadle/tensor/MappedTensor.h"
#include "treadle/tensor/MemoryBudget.h"
#include "treadle/tensor/Wire.h"

#include <algorithm>

namespace treadle {

struct BundleReader::Shards {
  std::mutex mutex;
  std::map<int32_t, std::unique_ptr<InputFile>> open;
};

namespace {

Error mismatch(std::string_view name, const char *what) {
  return dataLoss("tensor '", name, "' of the checkpoint ", what, " its checksum");
}

Expected<void> checkSum(std::string_view name, uint32_t crc, const BundleEntry &entry) {
  if (maskCrc(crc) != entry.crc)
    return Unexpected(mismatch(name, "doesn't match"));
  return {};
}

Error wrongSize(std::string_view name, const BundleEntry &entry) {
  return dataLoss("tensor '", name, "' of the checkpoint has ", entry.size,
                  " bytes, which is not the size of ", dtypeName(entry.dtype),
                  dimsText(entry.dims));
}

constexpr int64_t pieceBytes = 256 << 10; // fits the cache until it is summed

/// Reads plain elements, which are stored as in memory.
Expected<void> readPlain(const InputFile &file, std::string_view name, const BundleEntry &entry,
                         Tensor &out) {
  auto size = static_cast<int64_t>(out.bytes());
  if (size != entry.size)
    return Unexpected(wrongSize(name, entry));
  uint32_t crc = 0;
  for (int64_t at = 0; at < size; at += pieceBytes) {
    int64_t now = std::min(pieceBytes, size - at);
    TREADLE_TRY(file.read(out.data<char>() + at, now, entry.offset + at));
    crc = extendCrc32c(crc, out.data<char>() + at, static_cast<size_t>(now));
  }
  return checkSum(name, crc, entry);
}

/// Whether elements can be mapped: they are large, and aligned for vector loads. With a memory
/// budget they are read instead, so that they are charged.
bool isMappable(const BundleEntry &entry) {
  constexpr int64_t large = 1 << 20, alignment = 16;
  return isPlain(entry.dtype) && entry.size >= large && entry.offset % alignment == 0 &&
         !MemoryBudget::opened();
}

/// Maps plain elements after checking their checksum. Returns an empty tensor if the file can't be
/// mapped.
Expected<Tensor> mapPlain(const InputFile &file, std::string_view name, const BundleEntry &entry) {
  if (*countElements(entry.dims) * static_cast<int64_t>(dtypeSize(entry.dtype)) != entry.size)
    return Unexpected(wrongSize(name, entry));
  std::shared_ptr<void> elements = file.map(entry.size, entry.offset);
  if (!elements)
    return Tensor();
  std::vector<char> piece(pieceBytes);
  uint32_t crc = 0;
  for (int64_t at = 0; at < entry.size; at += pieceBytes) {
    int64_t now = std::min(pieceBytes, entry.size - at);
    TREADLE_TRY(file.read(piece.data(), now, entry.offset + at));
    crc = extendCrc32c(crc, piece.data(), static_cast<size_t>(now));
  }
  TREADLE_TRY(checkSum(name, crc, entry));
  return mappedTensor(entry.dtype, entry.dims, std::move(elements));
}

/// Extends the checksum of string lengths by a length, as 32 bits if it fits, else as 64.
uint32_t extendByLength(uint32_t crc, uint64_t length) {
  bool isLong = length > UINT32_MAX;
  return extendCrc32c(crc, &length, isLong ? sizeof(uint64_t) : sizeof(uint32_t));
}

/// Reads strings: their lengths as varints, the masked checksum of the lengths, then their bytes.
Expected<void> readStrings(const InputFile &file, std::string_view name, const BundleEntry &entry,
                           Tensor &out) {
  auto *strings = out.data<std::string>();
  std::string bytes(static_cast<size_t>(entry.size), '\0');
  TREADLE_TRY(file.read(bytes.data(), entry.size, entry.offset));
  WireReader reader(bytes);
  std::vector<uint64_t> lengths(static_cast<size_t>(out.count()));
  uint32_t crc = 0;
  for (uint64_t &length : lengths)
    crc = extendByLength(crc, length = reader.varint());
  auto stored = reader.fixed<uint32_t>();
  if (!reader.isGood())
    return Unexpected(dataLoss("tensor '", name,
                               "' of the checkpoint: the lengths of its strings "
                               "can't be read"));
  if (maskCrc(crc) != stored)
    return Unexpected(mismatch(name, "has strings whose lengths don't match"));
  crc = extendCrc32c(crc, &stored, sizeof stored);
  for (size_t i = 0; i < lengths.size(); ++i) {
    strings[i] = reader.bytes(lengths[i]);
    crc = extendCrc32c(crc, strings[i].data(), strings[i].size());
  }
  if (!reader.isGood() || !reader.isAtEnd())
    return Unexpected(dataLoss("tensor '", name,
                               "' of the checkpoint: its strings don't add up to its ", entry.size,
                               " bytes"));
  return checkSum(name, crc, entry);
}

bool covers(const TensorSlice &slice, Dims dims) {
  for (size_t d = 0; d < dims.size(); ++d)
    if (slice.extents[d].start != 0 || slice.extents[d].length != dims[d])
      return false;
  return true;
}

int64_t volume(const TensorSlice &slice) {
  int64_t count = 1;
  for (const TensorSlice::Extent &extent : slice.extents)
    count *= extent.length;
  return count;
}

} // namespace

BundleReader::BundleReader(std::string prefix, BundleIndex index, const FileAccess &files)
    : prefix(std::move(prefix)), contents(std::move(index)), files(&files),
      shards(std::make_shared<Shards>()) {}

Expected<BundleReader> BundleReader::open(std::string prefix, const FileAccess &files) {
  return BundleIndex::read(prefix, files).map([&](BundleIndex index) {
    return BundleReader(std::move(prefix), std::move(index), files);
  });
}

Expected<const BundleEntry *> BundleReader::find(std::string_view name) const {
  auto it = contents.entries.find(name);
  if (it == contents.entries.end())
    return Unexpected(notFound("key ", name, " not found in checkpoint '", prefix, "'"));
  return &it->second;
}

Expected<const InputFile *> BundleReader::shard(int32_t number) const {
  std::lock_guard lock(shards->mutex);
  std::unique_ptr<InputFile> &file = shards->open[number];
  if (!file) {
    std::string path = BundleIndex::shardPath(prefix, number, contents.numShards);
    Expected<InputFile> opened = InputFile::open(path, *files);
    if (!opened && opened.error().code == Code::NotFound)
      return Unexpected(notFound("shard ", number, " of checkpoint '", prefix,
                                 "' is missing: there is no file '", path, "'"));
    if (!opened)
      return Unexpected(std::move(opened.error()));
    file = std::make_unique<InputFile>(std::move(*opened));
  }
  return file.get();
}

/// Returns the shard of an entry after checking that it holds all of its bytes, before memory is
/// allocated for sizes from a corrupted index.
Expected<const InputFile *> BundleReader::fileOf(std::string_view name,
                                                 const BundleEntry &entry) const {
  bool isString = entry.dtype == DType::String;
  if (!isString && !isPlain(entry.dtype))
    return Unexpected(unimplemented("tensor '", name, "' of the checkpoint has dtype ",
                                    dtypeName(entry.dtype), ", which can't be restored"));
  const InputFile *file = TREADLE_TRY(shard(entry.shard));
  if (entry.offset > file->size() || entry.size > file->size() - entry.offset)
    return Unexpected(
        dataLoss("shard ", entry.shard, " of checkpoint '", prefix, "' is truncated: it has ",
                 file->size(), " bytes, but tensor '", name, "' ends at ",
                 static_cast<uint64_t>(entry.offset) + static_cast<uint64_t>(entry.size)));
  int64_t count = *countElements(entry.dims);
  int64_t least = isString ? 1 : static_cast<int64_t>(dtypeSize(entry.dtype));
  if (count > entry.size / least)
    return Unexpected(wrongSize(name, entry));
  return file;
}

Expected<Tensor> BundleReader::readEntry(std::string_view name, const BundleEntry &entry) const {
  const InputFile *file = TREADLE_TRY(fileOf(name, entry));
  if (isMappable(entry)) {
    Tensor mapped = TREADLE_TRY(mapPlain(*file, name, entry));
    if (mapped)
      return mapped;
  }
  Tensor out = TREADLE_TRY(Tensor::make(entry.dtype, entry.dims));
  bool isString = entry.dtype == DType::String;
  Expected<void> done =
      isString ? readStrings(*file, name, entry, out) : readPlain(*file, name, entry, out);
  if (!done)
    return Unexpected(std::move(done.error()));
  return out;
}

Expected<Tensor> BundleReader::read(std::string_view name) const {
  return find(name).and_then([&](const BundleEntry *entry) -> Expected<Tensor> {
    if (entry->slices.empty())
      return readEntry(name, *entry);
    TensorSlice all{std::vector<TensorSlice::Extent>(entry->dims.size())};
    return readParts(name, *entry, all.resolved(entry->dims));
  });
}

Expected<Tensor> BundleReader::readSlice(std::string_view name, const TensorSlice &slice) const {
  const BundleEntry *entry = TREADLE_TRY(find(name));
  std::vector<int64_t> dims = TREADLE_TRY(slice.dimsIn(entry->dims));
  TensorSlice wanted = slice.resolved(entry->dims);
  if (!entry->slices.empty())
    return readParts(name, *entry, wanted);
  Expected<Tensor> whole = readEntry(name, *entry);
  if (!whole || covers(wanted, entry->dims))
    return whole;
  Expected<Tensor> out = Tensor::make(entry->dtype, dims);
  TensorSlice all{std::vector<TensorSlice::Extent>(entry->dims.size())};
  if (out && out->count())
    copyRegion(wanted, *whole, all.resolved(entry->dims), *out, wanted);
  return out;
}

Expected<Tensor> BundleReader::readParts(std::string_view name, const BundleEntry &entry,
                                         const TensorSlice &wanted) const {
  std::vector<int64_t> dims = TREADLE_TRY(wanted.dimsIn(entry.dims));
  std::vector<SlicePart> parts = TREADLE_TRY(partsOf(name, entry, wanted));
  int64_t covered = 0, count = countElements(dims).value_or(0);
  for (const SlicePart &part : parts)
    covered += volume(part.shared); // slices don't overlap
  if (covered != count)
    return Unexpected(dataLoss("the parts of tensor '", name, "' in checkpoint '", prefix,
                               "' hold ", covered, " of the ", count, " requested elements"));
  Expected<Tensor> out = Tensor::make(entry.dtype, dims);
  for (size_t i = 0; out && i < parts.size(); ++i) {
    Tensor value = TREADLE_TRY(readEntry(name, *parts[i].stored));
    copyRegion(parts[i].shared, value, parts[i].slice, *out, wanted);
  }
  return out;
}

Expected<std::vector<BundleReader::SlicePart>>
BundleReader::partsOf(std::string_view name, const BundleEntry &entry,
                      const TensorSlice &wanted) const {
  std::vector<SlicePart> parts;
  for (const TensorSlice &slice : entry.slices) {
    TensorSlice whole = slice.resolved(entry.dims);
    std::optional<TensorSlice> shared = whole.intersection(wanted);
    if (!shared)
      continue;
    Expected<const BundleEntry *> stored = find(sliceKey(name, slice));
    if (!stored)
      return Unexpected(dataLoss("slice '", slice.text(), "' of tensor '", name,
                                 "' is not in checkpoint '", prefix, "'"));
    if (!std::ranges::equal((*stored)->dims, *slice.dimsIn(entry.dims)) ||
        (*stored)->dtype != entry.dtype)
      return Unexpected(dataLoss("slice '", slice.text(), "' of tensor '", name,
                                 "' has another shape or dtype in checkpoint '", prefix, "'"));
    TREADLE_TRY(fileOf(name, **stored));
    parts.push_back({std::move(whole), std::move(*shared), *stored});
  }
  return parts;
}

} // namespace treadle
