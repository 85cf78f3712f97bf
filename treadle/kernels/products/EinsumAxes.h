// The axes of an Einsum: their strides in the operands and in the result.
#pragma once

#include "treadle/kernels/Element.h"
#include "treadle/kernels/ElementCopy.h"
#include "treadle/kernels/products/PackedProduct.h"

#include <algorithm>
#include <string>
#include <vector>

namespace treadle::einsum {

/// The ellipsis in the labels of an equation, all others of which are letters.
constexpr char ellipsis = '.';

/// A label, or one dimension of the ellipsis (counted from the right, as -1, -2, ...).
using Label = int;

/// An axis of the equation: its size, and its strides in each operand and in the result. Stride 0:
/// absent, or broadcast.
struct Axis {
  Label label;
  int64_t size = 1;
  int64_t stride[2] = {0, 0};
  int64_t outStride = 0;
  bool isIn[2] = {false, false}, isOut = false;
};

/// All axes of an equation for operands of given shapes.
class Axes {
public:
  std::vector<Axis> all;
  int ellipsisRank = 0;

  Axis &of(Label label) {
    for (Axis &axis : all)
      if (axis.label == label)
        return axis;
    return all.emplace_back(Axis{.label = label});
  }

  std::vector<Label> expand(const std::string &labels, int rank) const {
    std::vector<Label> out;
    for (char c : labels)
      if (c != ellipsis)
        out.push_back(c);
      else
        for (int d = rank; d > 0; --d)
          out.push_back(-d);
    return out;
  }

  bool add(OpContext &ctx, int operand, const Tensor &t, const std::string &labels) {
    bool hasEllipsis = labels.find(ellipsis) != std::string::npos;
    int named = static_cast<int>(labels.size()) - hasEllipsis;
    if (hasEllipsis ? t.rank() < named : t.rank() != named) {
      ctx.fail(invalidArgument("operand ", operand, " has shape ", dimsText(t.dims()), ", but ",
                               named, " labels"));
      return false;
    }
    ellipsisRank = std::max(ellipsisRank, t.rank() - named);
    std::vector<Label> list = expand(labels, t.rank() - named);
    DimVector strides = rowMajorStrides(t.dims());
    for (size_t d = 0; d < list.size(); ++d) {
      Axis &axis = of(list[d]);
      int64_t size = t.dims()[d];
      bool repeats = list[d] < 0 && size == 1; // only an ellipsis broadcasts
      bool isNew = !axis.isIn[0] && !axis.isIn[1];
      if (isNew || (axis.size == 1 && list[d] < 0))
        axis.size = size;
      else if (axis.size != size && !repeats) {
        ctx.fail(invalidArgument("operand ", operand, " has shape ", dimsText(t.dims()),
                                 ", but dimension ", d, " should be ", axis.size));
        return false;
      }
      axis.isIn[operand] = true;
      axis.stride[operand] += repeats ? 0 : strides[d];
    }
    return true;
  }
};

/// A list of axes in a given order.
struct AxisList {
  DimVector sizes;
  std::vector<const Axis *> axes;
  int64_t count = 1;

  void add(const Axis &axis) {
    sizes.push(axis.size);
    axes.push_back(&axis);
    count *= axis.size;
  }
};

/// The axes of a matrix product by their role.
struct ProductAxes {
  AxisList batch, freeA, freeB, summed;
};

/// Multiplies floats in place, without reordering operands. Returns false if that doesn't pay off
/// or the order of the result doesn't allow it.
bool multiplyInPlace(OpContext &ctx, const ProductAxes &axes, const Tensor &a, const Tensor &b,
                     Tensor &out, const PackedWeights &weights);

/// Multiplies a float matrix by a vector in place. Returns false if neither operand is a vector, or
/// if neither rows nor columns of the matrix are contiguous.
bool multiplyVectors(OpContext &ctx, const ProductAxes &axes, const Tensor &a, const Tensor &b,
                     Tensor &out);

} // namespace treadle::einsum
