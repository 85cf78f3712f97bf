// TensorFlow's v1 checkpoint format: one table per file, with a message SavedTensorSlices that
// lists the tensors, and one for each slice of a tensor. (The v2 format is the tensor bundle.)
#pragma once

#include "treadle/checkpoint/FileAccess.h"
#include "treadle/checkpoint/Slice.h"

#include <map>
#include <string>
#include <vector>

namespace treadle {

/// The metadata of a tensor.
struct StoredTensor {
  std::string name;
  DType dtype = DType::Invalid;
  std::vector<int64_t> dims;
  std::vector<TensorSlice> slices;
};

/// The files of one checkpoint, in memory.
class SliceFileReader {
public:
  /// Opens the files that match a glob pattern. NotFound if there are none; DataLoss if one has
  /// another format.
  static Expected<SliceFileReader> open(const std::string &pattern, const FileAccess &files);

  /// Returns null if there is no such tensor.
  const StoredTensor *find(std::string_view name) const;
  /// Reads a slice, which must be resolved. InvalidArgument unless it is stored completely.
  Expected<Tensor> read(const StoredTensor &tensor, const TensorSlice &wanted) const;

private:
  Expected<void> addFile(const std::string &path, const FileAccess &files);

  std::map<std::string, StoredTensor, std::less<>> tensors;
  std::map<std::string, std::string, std::less<>> slices; // messages SavedSlice by key
};

/// Builds the bytes of a new file.
class SliceFileWriter {
public:
  /// Adds a slice. InvalidArgument if it was added before, or the tensor's other slices have
  /// another shape.
  Expected<void> add(const std::string &name, const std::vector<int64_t> &dims,
                     const TensorSlice &slice, const Tensor &value);
  std::string finish();

private:
  std::vector<StoredTensor> tensors;
  std::map<std::string, std::string> rows;
};

} // namespace treadle
