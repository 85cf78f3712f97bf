// Parts of tensors: how variables that are split over several machines are saved and restored.
#pragma once

#include "treadle/tensor/Tensor.h"

#include <optional>
#include <string>
#include <string_view>
#include <vector>

namespace treadle {

/// A box in a tensor: one extent a dimension.
struct TensorSlice {
  struct Extent {
    int64_t start = 0;
    int64_t length = -1; // -1: the whole dimension
    bool isFull() const { return length < 0; }
    bool operator==(const Extent &) const = default;
  };
  std::vector<Extent> extents;
  bool operator==(const TensorSlice &) const = default;

  /// `-:0,5`: an extent a dimension, `-` for a whole one.
  static Expected<TensorSlice> parse(std::string_view text);
  std::string text() const;

  /// The slice's own dimensions in a tensor of dimensions `full`. InvalidArgument if the rank is
  /// another, or the slice reaches beyond.
  Expected<std::vector<int64_t>> dimsIn(Dims full) const;
  /// The same with every length stated.
  TensorSlice resolved(Dims full) const;

  /// What both slices, resolved for one tensor, share; nothing if that is empty.
  std::optional<TensorSlice> intersection(const TensorSlice &other) const;
};

/// Whether no two slices, all resolved for one tensor, share an element.
bool areDisjoint(std::vector<TensorSlice> slices);

/// A tensor and a part of it, as ops that save and restore describe it: `10 20 0,5:-` is the first
/// five rows of a tensor of 10 x 20.
struct ShapeAndSlice {
  std::vector<int64_t> dims; // of the whole tensor
  TensorSlice slice;
  std::vector<int64_t> sliceDims; // of the part
  static Expected<ShapeAndSlice> parse(std::string_view text);
};

/// The key that a checkpoint keeps a part of the tensor `name` by: its bytes sort as name and slice
/// do.
std::string sliceKey(std::string_view name, const TensorSlice &slice);

/// Copies `region`, resolved, from a tensor that holds the slice `from` to one that holds `to`.
void copyRegion(const TensorSlice &region, const Tensor &source, const TensorSlice &from,
                Tensor &target, const TensorSlice &to);

} // namespace treadle
