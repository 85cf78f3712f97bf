// Writes checkpoints in TensorFlow's format, the tensor bundle.
#pragma once

#include "treadle/checkpoint/Files.h"
#include "treadle/checkpoint/Index.h"

#include <span>

namespace treadle {

/// Writes a checkpoint of one shard. It appears under its name in `finish`, atomically; an older
/// checkpoint of that name stays readable if the writer fails or crashes at any point. The bytes
/// equal those that TensorFlow writes for the same tensors in the same order.
///
/// The index makes the checkpoint visible, and is renamed last. If the old checkpoint's shard has
/// the same name, the new shard is numbered as one of more shards: readers follow the index.
class BundleWriter {
public:
  /// `files` must outlive the writer.
  static Expected<BundleWriter> create(std::string prefix, const FileAccess &files);

  /// Adds a tensor. InvalidArgument for a name that is empty or was added before; Unimplemented for
  /// variants and resources.
  Expected<void> add(std::string_view name, const Tensor &value);
  /// Adds a slice of a tensor with dimensions `full`.
  Expected<void> addSlice(std::string_view name, Dims full, const TensorSlice &slice,
                          const Tensor &value);
  Expected<void> finish();

private:
  BundleWriter(std::string prefix, OutputFile data, const FileAccess &files)
      : prefix(std::move(prefix)), files(&files), data(std::move(data)) {}
  Expected<void> writeStrings(const Tensor &value, uint32_t &crc);

  std::string prefix;
  const FileAccess *files;
  OutputFile data;
  BundleIndex index;
};

/// Merges several checkpoints into one, which takes over their shards: the checkpoints at
/// `prefixes` are removed. Combines slices of the same tensor. InvalidArgument if two contain a
/// tensor of the same name.
Expected<void> mergeBundles(std::span<const std::string> prefixes, const std::string &merged,
                            const FileAccess &files);

} // namespace treadle
