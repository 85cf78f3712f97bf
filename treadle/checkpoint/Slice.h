// Slices of tensors: partitioned variables are saved and restored slice by slice.
#pragma once

#include "treadle/tensor/Tensor.h"

#include <optional>
#include <string>
#include <string_view>
#include <vector>

namespace treadle {

/// A box in a tensor: one extent for each dimension.
struct TensorSlice {
  struct Extent {
    int64_t start = 0;
    int64_t length = -1; // -1: the whole dimension
    bool isFull() const { return length < 0; }
    bool operator==(const Extent &) const = default;
  };
  std::vector<Extent> extents;
  bool operator==(const TensorSlice &) const = default;

  /// Parses `-:0,5`: one extent `begin,length` for each dimension, `-` for a whole one.
  static Expected<TensorSlice> parse(std::string_view text);
  std::string text() const;

  /// Returns the slice's dimensions in a tensor of dimensions `full`. InvalidArgument if the rank
  /// differs or the slice is out of range.
  Expected<std::vector<int64_t>> dimsIn(Dims full) const;
  /// Returns the slice with all lengths explicit.
  TensorSlice resolved(Dims full) const;

  /// Returns the intersection of two slices that are resolved for one tensor; nullopt if it is
  /// empty.
  std::optional<TensorSlice> intersection(const TensorSlice &other) const;
};

/// Whether no two slices overlap; all must be resolved for one tensor.
bool areDisjoint(std::vector<TensorSlice> slices);

/// A tensor and a slice of it in the notation of save and restore ops: `10 20 0,5:-` is the first
/// five rows of a tensor of 10 x 20.
struct ShapeAndSlice {
  std::vector<int64_t> dims; // of the whole tensor
  TensorSlice slice;
  std::vector<int64_t> sliceDims; // of the slice
  static Expected<ShapeAndSlice> parse(std::string_view text);
};

/// Returns the checkpoint key of a slice of the tensor `name`. Keys sort bytewise as name and slice
/// do.
std::string sliceKey(std::string_view name, const TensorSlice &slice);

/// Copies `region`, resolved, from a tensor that holds the slice `from` to one that holds `to`.
void copyRegion(const TensorSlice &region, const Tensor &source, const TensorSlice &from,
                Tensor &target, const TensorSlice &to);

} // namespace treadle
