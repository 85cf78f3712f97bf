// Reads checkpoints in TensorFlow's format, the tensor bundle: PREFIX.index and its shards,
// PREFIX.data-00000-of-00001 and so on.
#pragma once

#include "treadle/checkpoint/Files.h"
#include "treadle/checkpoint/Index.h"

#include <memory>
#include <mutex>

namespace treadle {

/// An open checkpoint. The index is in memory; shards are opened on first use. Tensors are read
/// directly into their own memory or, if they are large and aligned, mapped from the file.
/// Checksums are verified. Thread-safe.
class BundleReader {
public:
  /// Opens a checkpoint. Errors as for BundleIndex::read. `files` authorizes access to the shards
  /// too, and must outlive the reader.
  static Expected<BundleReader> open(std::string prefix, const FileAccess &files);

  const BundleIndex &index() const { return contents; }

  /// Reads a whole tensor, assembled from its slices if it was stored in slices. Errors: NotFound
  /// for an unknown name or a missing shard; DataLoss for a truncated shard, a wrong checksum, or
  /// slices that don't cover the tensor; Unimplemented for variants and resources.
  Expected<Tensor> read(std::string_view name) const;
  /// Reads a slice of a tensor. InvalidArgument if the slice is out of range.
  Expected<Tensor> readSlice(std::string_view name, const TensorSlice &slice) const;

private:
  struct Shards;
  BundleReader(std::string prefix, BundleIndex index, const FileAccess &files);

  Expected<const BundleEntry *> find(std::string_view name) const;
  Expected<const InputFile *> shard(int32_t number) const;
  Expected<const InputFile *> fileOf(std::string_view name, const BundleEntry &entry) const;
  Expected<Tensor> readEntry(std::string_view name, const BundleEntry &entry) const;
  /// A stored slice, and the part of it to read.
  struct SlicePart {
    TensorSlice slice, shared;
    const BundleEntry *stored;
  };
  Expected<std::vector<SlicePart>> partsOf(std::string_view name, const BundleEntry &entry,
                                           const TensorSlice &wanted) const;
  Expected<Tensor> readParts(std::string_view name, const BundleEntry &entry,
                             const TensorSlice &wanted) const;

  std::string prefix;
  BundleIndex contents;
  const FileAccess *files;
  std::shared_ptr<Shards> shards;
};

} // namespace treadle
