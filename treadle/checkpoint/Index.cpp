#include "treadle/checkpoint/Index.h"

#include "treadle/checkpoint/Files.h"
#include "treadle/checkpoint/ShapeMessages.h"
#include "treadle/checkpoint/Table.h"
#include "treadle/tensor/Wire.h"

#include <algorithm>
#include <cstdio>

namespace treadle {
namespace {

// Field numbers of the messages.
namespace header {
enum Field : uint32_t { NumShards = 1, Endianness = 2, Version = 3 };
}
namespace version {
enum Field : uint32_t { Producer = 1, MinConsumer = 2, BadConsumers = 3 };
}
namespace entry {
enum Field : uint32_t {
  DataType = 1,
  Shape = 2,
  Shard = 3,
  Offset = 4,
  Size = 5,
  Crc = 6,
  Slices = 7
};
}

/// The version of the format for writing, and the oldest reader version that can read it.
constexpr uint64_t formatVersion = 1;

// --- reading -----------------------------------------------------------------------------------

bool isBase(uint64_t dtype) { return dtype && dtype < numDTypes; }

bool setField(BundleEntry &entry, const WireReader::Field &field) {
  switch (field.number) {
  case entry::DataType:
    entry.dtype = static_cast<DType>(isBase(field.value) ? field.value : 0);
    return isBase(field.value);
  case entry::Shape:
    return readShape(field.bytes, entry.dims);
  case entry::Shard:
    entry.shard = static_cast<int32_t>(field.value);
    return true;
  case entry::Offset:
    entry.offset = static_cast<int64_t>(field.value);
    return true;
  case entry::Size:
    entry.size = static_cast<int64_t>(field.value);
    return true;
  case entry::Crc:
    entry.crc = static_cast<uint32_t>(field.value);
    return true;
  case entry::Slices:
    return readSlice(field.bytes, entry.slices.emplace_back());
  default:
    return true;
  }
}

bool areSlicesValid(const BundleEntry &entry) {
  constexpr size_t maxSlices = 1 << 14; // slices are compared pairwise
  if (entry.slices.size() > maxSlices)
    return false;
  std::vector<TensorSlice> slices;
  for (const TensorSlice &slice : entry.slices) {
    if (!slice.dimsIn(entry.dims))
      return false;
    slices.push_back(slice.resolved(entry.dims));
  }
  return areDisjoint(std::move(slices));
}

/// Checks that tensors don't overlap in their shards, so that they take no more memory than these.
Expected<void> checkNoOverlap(const BundleIndex &index) {
  std::vector<std::pair<std::string_view, const BundleEntry *>> placed;
  for (const auto &[name, entry] : index.entries)
    if (entry.slices.empty() && entry.size > 0)
      placed.emplace_back(name, &entry);
  std::ranges::sort(placed, {}, [](const auto &named) {
    return std::pair(named.second->shard, named.second->offset);
  });
  for (size_t i = 1; i < placed.size(); ++i) {
    const auto &[name, before] = placed[i - 1];
    const auto &[nextName, entry] = placed[i];
    if (entry->shard == before->shard && entry->offset - before->offset < before->size)
      return Unexpected(dataLoss("tensors '", name, "' and '", nextName, "' overlap"));
  }
  return {};
}

Expected<BundleEntry> readEntry(std::string_view name, std::string_view message,
                                int32_t numShards) {
  BundleEntry entry;
  bool isGood =
      forEachField(message, [&](const WireReader::Field &field) { return setField(entry, field); });
  isGood = isGood && entry.dtype != DType::Invalid && entry.offset >= 0 && entry.size >= 0;
  if (!isGood || !areSlicesValid(entry))
    return Unexpected(dataLoss("the entry of tensor '", name, "' is malformed"));
  if (entry.slices.empty() && (entry.shard < 0 || entry.shard >= numShards))
    return Unexpected(dataLoss("tensor '", name, "' is in shard ", entry.shard,
                               ", but the number of shards is ", numShards));
  return entry;
}

Expected<int32_t> readHeader(std::string_view message) {
  uint64_t numShards = 0, isBigEndian = 0, minConsumer = 0;
  bool isGood = forEachField(message, [&](const WireReader::Field &field) {
    if (field.number == header::NumShards)
      numShards = field.value;
    if (field.number == header::Endianness)
      isBigEndian = field.value;
    return field.number != header::Version ||
           forEachField(field.bytes, [&](const WireReader::Field &inner) {
             if (inner.number == version::MinConsumer)
               minConsumer = inner.value;
             return true;
           });
  });
  if (!isGood || numShards > INT32_MAX)
    return Unexpected(dataLoss("the header is malformed"));
  if (isBigEndian)
    return Unexpected(
        unimplemented("the checkpoint was written on a big-endian machine, which isn't supported"));
  if (minConsumer > formatVersion)
    return Unexpected(unimplemented("the checkpoint requires a reader of version ", minConsumer,
                                    ", but this reader has version ", formatVersion));
  return static_cast<int32_t>(numShards);
}

// --- writing -----------------------------------------------------------------------------------

std::string headerBytes(int32_t numShards) {
  std::string version, out;
  putNumber(version, version::Producer, formatVersion);
  putNumber(out, header::NumShards, static_cast<uint64_t>(numShards));
  putBytes(out, header::Version, version);
  return out;
}

std::string entryBytes(const BundleEntry &entry) {
  std::string out;
  putNumber(out, entry::DataType, static_cast<uint64_t>(entry.dtype));
  putBytes(out, entry::Shape, shapeMessage(entry.dims));
  putNumber(out, entry::Shard, static_cast<uint64_t>(entry.shard));
  putNumber(out, entry::Offset, static_cast<uint64_t>(entry.offset));
  putNumber(out, entry::Size, static_cast<uint64_t>(entry.size));
  if (entry.crc) {
    putTag(out, entry::Crc, WireType::Fixed32);
    putFixed(out, entry.crc);
  }
  for (const TensorSlice &slice : entry.slices)
    putBytes(out, entry::Slices, sliceMessage(slice));
  return out;
}

Expected<BundleIndex> parse(std::string_view bytes) {
  TableRows rows = TREADLE_TRY(readTable(bytes));
  if (rows.empty() || !rows.front().first.empty())
    return Unexpected(dataLoss("there is no header"));
  BundleIndex index;
  int32_t numShards = TREADLE_TRY(readHeader(rows.front().second));
  index.numShards = numShards;
  for (size_t i = 1; i < rows.size(); ++i) {
    auto &[name, message] = rows[i];
    BundleEntry entry = TREADLE_TRY(readEntry(name, message, index.numShards));
    index.entries.emplace_hint(index.entries.end(), std::move(name), std::move(entry));
  }
  TREADLE_TRY(checkNoOverlap(index));
  return index;
}

} // namespace

std::string BundleIndex::path(std::string_view prefix) { return str(prefix, ".index"); }

std::string BundleIndex::shardPath(std::string_view prefix, int32_t shard, int32_t numShards) {
  char suffix[48];
  std::snprintf(suffix, sizeof suffix, ".data-%05d-of-%05d", shard, numShards);
  return str(prefix, suffix);
}

Expected<BundleIndex> BundleIndex::read(std::string_view prefix, const FileAccess &files) {
  std::string file = path(prefix);
  std::string bytes = TREADLE_TRY(readWholeFile(file, files));
  Expected<BundleIndex> index = parse(bytes);
  if (!index)
    index.error().message = str("checkpoint '", file, "': ", index.error().message);
  return index;
}

std::string BundleIndex::bytes() const {
  TableBuilder builder;
  builder.add("", headerBytes(numShards));
  for (const auto &[name, entry] : entries)
    builder.add(name, entryBytes(entry));
  return builder.finish();
}

} // namespace treadle
