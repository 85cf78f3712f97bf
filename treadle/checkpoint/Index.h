// A checkpoint's index: which tensors it holds, and where in its shards each one lies.
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
  uint32_t crc = 0; // masked
  std::vector<TensorSlice>
      slices; // not empty: the parts are stored instead, under keys of their own
};

struct BundleIndex {
  int32_t numShards = 1;
  std::map<std::string, BundleEntry, std::less<>> entries;

  /// `PREFIX.index` and `PREFIX.data-00000-of-00001`.
  static std::string path(std::string_view prefix);
  static std::string shardPath(std::string_view prefix, int32_t shard, int32_t numShards);

  /// NotFound if there is no such file; DataLoss if it is damaged; Unimplemented for what a later
  /// version wrote, big-endian machines included.
  static Expected<BundleIndex> read(std::string_view prefix, const FileAccess &files);
  std::string bytes() const;
};

} // namespace treadle
