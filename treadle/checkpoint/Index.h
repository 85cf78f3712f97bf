// A checkpoint's index: its tensors and their positions in the shards.
//
// The index is a table from names to messages: BundleHeaderProto under the empty name, and
// BundleEntryProto under each tensor's.
#pragma once

#include "treadle/checkpoint/FileAccess.h"
#include "treadle/checkpoint/Slice.h"

#include <map>

namespace treadle {

struct BundleEntry {
  DType dtype = DType::Invalid;
  std::vector<int64_t> dims;
  int32_t shard = 0;
  int64_t offset = 0;
  int64_t size = 0;
  uint32_t crc = 0;                // masked
  std::vector<TensorSlice> slices; // if not empty, the slices are stored under their own keys
};

struct BundleIndex {
  int32_t numShards = 1;
  std::map<std::string, BundleEntry, std::less<>> entries;

  /// Return `PREFIX.index` and `PREFIX.data-00000-of-00001`.
  static std::string path(std::string_view prefix);
  static std::string shardPath(std::string_view prefix, int32_t shard, int32_t numShards);

  /// Reads an index. NotFound if the file doesn't exist; DataLoss if it is corrupted; Unimplemented
  /// for later versions and big-endian files.
  static Expected<BundleIndex> read(std::string_view prefix, const FileAccess &files);
  std::string bytes() const;
};

} // namespace treadle
