// Reading checkpoints in TensorFlow's format, the tensor bundle: PREFIX.index and its shards,
// PREFIX.data-00000-of-00001 and so on.
#pragma once

#include "treadle/checkpoint/Files.h"
#include "treadle/checkpoint/Index.h"

#include <memory>
#include <mutex>

namespace treadle {

/// A checkpoint that is open: its index is in memory, shards are opened when first needed. Tensors
/// are read straight into their own memory, or, if they are large and aligned, stay in the file
/// until they are used; their checksums are compared. Thread-safe.
class BundleReader {
public:
  /// As BundleIndex::read. `files` is asked for shards too, and outlives the reader.
  static Expected<BundleReader> open(std::string prefix, const FileAccess &files);

  const BundleIndex &index() const { return contents; }

  /// The whole tensor, put together where it was stored in parts. NotFound for a name that isn't
  /// there or a shard that is missing; DataLoss for a shard that is truncated, bytes that don't
  /// match their checksum, or parts that leave something out; Unimplemented for variants and
  /// resources.
  Expected<Tensor> read(std::string_view name) const;
  /// A part of it. InvalidArgument where the slice doesn't fit.
  Expected<Tensor> readSlice(std::string_view name, const TensorSlice &slice) const;

private:
  struct Shards;
  BundleReader(std::string prefix, BundleIndex index, const FileAccess &files);

  Expected<const BundleEntry *> find(std::string_view name) const;
  Expected<const InputFile *> shard(int32_t number) const;
  Expected<const InputFile *> fileOf(std::string_view name, const BundleEntry &entry) const;
  Expected<Tensor> readEntry(std::string_view name, const BundleEntry &entry) const;
  /// A part that is stored, and what of it is wanted.
  struct Part {
    TensorSlice slice, shared;
    const BundleEntry *stored;
  };
  Expected<std::vector<Part>> partsOf(std::string_view name, const BundleEntry &entry,
                                      const TensorSlice &wanted) const;
  Expected<Tensor> readParts(std::string_view name, const BundleEntry &entry,
                             const TensorSlice &wanted) const;

  std::string prefix;
  BundleIndex contents;
  const FileAccess *files;
  std::shared_ptr<Shards> shards;
};

} // namespace treadle
