// Writing checkpoints in TensorFlow's format, the tensor bundle.
#pragma once

#include "treadle/checkpoint/Files.h"
#include "treadle/checkpoint/Index.h"

#include <span>

namespace treadle {

/// Writes a checkpoint of one shard. Nothing is seen under its name before `finish`; a checkpoint
/// that was there before is replaced at once, and stays readable when the writer fails or dies at
/// any point. The bytes are those that TensorFlow writes for the same tensors in the same order.
///
/// The index is what makes a checkpoint, and takes its name last. Where the old checkpoint's shard
/// has the name of the new one, the new one is numbered among one more: readers go by the index.
class BundleWriter {
public:
  /// `files` outlives the writer.
  static Expected<BundleWriter> create(std::string prefix, const FileAccess &files);

  /// InvalidArgument for a name that is empty or was added before; Unimplemented for variants and
  /// resources.
  Expected<void> add(std::string_view name, const Tensor &value);
  /// A part of a tensor of dimensions `full`.
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

/// Makes one checkpoint of several, whose shards it takes over: those of `prefixes` are gone
/// afterwards. Parts of the same tensor are brought together. InvalidArgument where two hold a
/// tensor of the same name.
Expected<void> mergeBundles(std::span<const std::string> prefixes, const std::string &merged,
                            const FileAccess &files);

} // namespace treadle
