#include "treadle/checkpoint/BundleWriter.h"

#include "treadle/checkpoint/Crc32c.h"
#include "treadle/tensor/Wire.h"

#include <algorithm>
#include <set>
#include <unistd.h>

namespace treadle {
namespace {

/// Returns the index at `prefix`, or an empty one if there is none that can be read.
BundleIndex previousIndex(const std::string &prefix, const FileAccess &files) {
  Expected<BundleIndex> index = BundleIndex::read(prefix, files);
  return index ? std::move(*index) : BundleIndex{.numShards = 0, .entries = {}};
}

std::set<std::string> shardsOf(const std::string &prefix, const BundleIndex &index) {
  std::set<std::string> paths;
  for (const auto &[name, entry] : index.entries)
    if (entry.slices.empty())
      paths.insert(BundleIndex::shardPath(prefix, entry.shard, index.numShards));
  return paths;
}

/// Replaces the index, then removes shards that only the old one refers to.
Expected<void> replaceIndex(const std::string &prefix, const BundleIndex &index,
                            const BundleIndex &previous, const FileAccess &files) {
  OutputFile file = TREADLE_TRY(OutputFile::create(BundleIndex::path(prefix), files));
  Expected<void> done = file.append(index.bytes()).and_then([&] { return file.commit(); });
  if (!done)
    return done;
  std::set<std::string> used = shardsOf(prefix, index);
  for (const std::string &path : shardsOf(prefix, previous))
    if (!used.contains(path))
      unlink(path.c_str());
  return {};
}

uint32_t extendByLength(uint32_t crc, uint64_t length) {
  bool isLong = length > UINT32_MAX;
  return extendCrc32c(crc, &length, isLong ? sizeof(uint64_t) : sizeof(uint32_t));
}

} // namespace

Expected<BundleWriter> BundleWriter::create(std::string prefix, const FileAccess &files) {
  return OutputFile::create(BundleIndex::shardPath(prefix, 0, 1), files).map([&](OutputFile data) {
    return BundleWriter(std::move(prefix), std::move(data), files);
  });
}

Expected<void> BundleWriter::writeStrings(const Tensor &value, uint32_t &crc) {
  std::string lengths;
  for (const std::string &s : value.values<std::string>()) {
    putVarint(lengths, s.size());
    crc = extendByLength(crc, s.size());
  }
  uint32_t masked = maskCrc(crc);
  putFixed(lengths, masked);
  crc = extendCrc32c(crc, &masked, sizeof masked);
  Expected<void> done = data.append(lengths);
  for (const std::string &s : value.values<std::string>()) {
    if (!done)
      return done;
    crc = extendCrc32c(crc, s.data(), s.size());
    done = data.append(s);
  }
  return done;
}

Expected<void> BundleWriter::add(std::string_view name, const Tensor &value) {
  if (name.empty())
    return Unexpected(invalidArgument("a tensor of the checkpoint has no name"));
  bool isString = value.dtype() == DType::String;
  if (!isString && !isPlain(value.dtype()))
    return Unexpected(unimplemented("tensor '", name, "' has dtype ", dtypeName(value.dtype()),
                                    ", which can't be saved"));
  auto [it, isNew] = index.entries.try_emplace(std::string(name));
  if (!isNew)
    return Unexpected(invalidArgument("tensor '", name, "' is saved twice"));
  BundleEntry &entry = it->second;
  entry.dtype = value.dtype();
  entry.dims.assign(value.dims().begin(), value.dims().end());
  entry.offset = data.size();
  uint32_t crc = 0;
  Expected<void> done;
  if (isString) {
    done = writeStrings(value, crc);
  } else {
    crc = extendCrc32c(0, value.raw(), value.bytes());
    done = data.append(value.raw(), value.bytes());
  }
  entry.size = data.size() - entry.offset;
  entry.crc = maskCrc(crc);
  return done;
}

Expected<void> BundleWriter::addSlice(std::string_view name, Dims full, const TensorSlice &slice,
                                      const Tensor &value) {
  std::vector<int64_t> dims = TREADLE_TRY(slice.dimsIn(full));
  if (!std::ranges::equal(dims, value.dims()))
    return Unexpected(invalidArgument("tensor '", name, "' is ", tensorTypeText(value),
                                      ", but its slice '", slice.text(), "' of ", dimsText(full),
                                      " has the shape ", dimsText(dims)));
  if (std::ranges::equal(dims, full))
    return add(name, value);
  auto [it, isNew] = index.entries.try_emplace(std::string(name));
  BundleEntry &whole = it->second;
  if (!isNew && (whole.slices.empty() || whole.dtype != value.dtype() ||
                 !std::ranges::equal(whole.dims, full)))
    return Unexpected(
        invalidArgument("slice '", slice.text(), "' of tensor '", name,
                        "' doesn't have the shape or dtype of the slices added before"));
  whole.dtype = value.dtype();
  whole.dims.assign(full.begin(), full.end());
  whole.slices.push_back(slice);
  return add(sliceKey(name, slice), value);
}

Expected<void> BundleWriter::finish() {
  BundleIndex previous = previousIndex(prefix, *files);
  std::set<std::string> taken = shardsOf(prefix, previous);
  while (taken.contains(BundleIndex::shardPath(prefix, 0, index.numShards)))
    ++index.numShards;
  std::string shard = BundleIndex::shardPath(prefix, 0, index.numShards);
  Expected<void> done = data.commit(shard);
  if (!done)
    return done;
  done = replaceIndex(prefix, index, previous, *files);
  if (!done)
    unlink(shard.c_str());
  return done;
}

// --- merging -------------------------------------------------------------------------------------

namespace {

/// The tensors of several checkpoints, and their shards.
struct MergeState {
  BundleIndex index{.numShards = 0, .entries = {}};
  std::map<std::string, int32_t> shards; // path to number, in order of first use
  std::vector<std::string> order;

  int32_t shardNumber(std::string path) {
    auto [it, isNew] = shards.try_emplace(std::move(path), static_cast<int32_t>(shards.size()));
    if (isNew)
      order.push_back(it->first);
    return it->second;
  }

  Expected<void> add(const std::string &prefix, const std::string &name, BundleEntry entry,
                     int32_t numShards) {
    auto [it, isNew] = index.entries.try_emplace(name, entry);
    BundleEntry &known = it->second;
    if (isNew) {
      known.shard = shardNumber(BundleIndex::shardPath(prefix, entry.shard, numShards));
      return {};
    }
    if (known.slices.empty() || entry.slices.empty())
      return Unexpected(invalidArgument("tensor '", name,
                                        "' is in more than one of the "
                                        "checkpoints to merge, '",
                                        prefix, "' among them"));
    if (known.dtype != entry.dtype || known.dims != entry.dims)
      return Unexpected(invalidArgument("slices of tensor '", name,
                                        "' are of different shape or "
                                        "dtype in the checkpoints to merge"));
    known.slices.insert(known.slices.end(), entry.slices.begin(), entry.slices.end());
    return {};
  }

  Expected<void> add(const std::string &prefix, const FileAccess &files) {
    TREADLE_TRY(files.mayWrite(BundleIndex::path(prefix)));
    BundleIndex part = TREADLE_TRY(BundleIndex::read(prefix, files));
    index.numShards += part.numShards;
    for (auto &[name, entry] : part.entries)
      TREADLE_TRY(add(prefix, name, std::move(entry), part.numShards));
    return {};
  }
};

} // namespace

Expected<void> mergeBundles(std::span<const std::string> prefixes, const std::string &merged,
                            const FileAccess &files) {
  TREADLE_TRY(files.mayWrite(BundleIndex::path(merged)));
  MergeState merge;
  for (const std::string &prefix : prefixes)
    TREADLE_TRY(merge.add(prefix, files));
  BundleIndex &index = merge.index;
  BundleIndex previous = previousIndex(merged, files);
  std::set<std::string> taken = shardsOf(merged, previous);
  auto target = [&](size_t shard) {
    return BundleIndex::shardPath(merged, static_cast<int32_t>(shard), index.numShards);
  };
  if (!merge.order.empty())
    index.numShards = static_cast<int32_t>(merge.order.size());
  auto isTaken = [&] {
    for (size_t i = 0; i < merge.order.size(); ++i)
      if (taken.contains(target(i)))
        return true;
    return false;
  };
  while (isTaken())
    ++index.numShards;
  for (size_t i = 0; i < merge.order.size(); ++i)
    TREADLE_TRY(renameFile(merge.order[i], target(i)));
  Expected<void> done = replaceIndex(merged, index, previous, files);
  if (done)
    for (const std::string &prefix : prefixes)
      if (prefix != merged)
        unlink(BundleIndex::path(prefix).c_str());
  return done;
}

} // namespace treadle
