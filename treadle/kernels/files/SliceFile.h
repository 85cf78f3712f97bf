// Checkpoints of TensorFlow's first format: one table in a file, of a message SavedTensorSlices
// that says what there is, and one for each slice of a tensor. (The second format is the tensor
// bundle.)
#pragma once

#include "treadle/checkpoint/FileAccess.h"
#include "treadle/checkpoint/Slice.h"

#include <map>
#include <string>
#include <vector>

namespace treadle {

/// What a file says of a tensor.
struct StoredTensor {
  std::string name;
  DType dtype = DType::Invalid;
  std::vector<int64_t> dims;
  std::vector<TensorSlice> slices;
};

/// One or several files that are one checkpoint, in memory.
class SliceFileReader {
public:
  /// Files that match a pattern of the shell. NotFound where there are none; DataLoss for others
  /// than of this format.
  static Expected<SliceFileReader> open(const std::string &pattern, const FileAccess &files);

  /// Null where there is no such tensor.
  const StoredTensor *find(std::string_view name) const;
  /// A part of a tensor, `wanted` being resolved; InvalidArgument where it isn't stored in full.
  Expected<Tensor> read(const StoredTensor &tensor, const TensorSlice &wanted) const;

private:
  Expected<void> addFile(const std::string &path, const FileAccess &files);

  std::map<std::string, StoredTensor, std::less<>> tensors;
  std::map<std::string, std::string, std::less<>> slices; // messages SavedSlice by their keys
};

/// The bytes of a new file.
class SliceFileWriter {
public:
  /// InvalidArgument for a slice that was added before, or that isn't of the shape that others of
  /// this tensor are of.
  Expected<void> add(const std::string &name, const std::vector<int64_t> &dims,
                     const TensorSlice &slice, const Tensor &value);
  std::string finish();

private:
  std::vector<StoredTensor> tensors;
  std::map<std::string, std::string> rows;
};

} // namespace treadle
