// The dimensions of an Einsum: where each is in the operands and in the result.
#pragma once

#include "treadle/kernels/Element.h"
#include "treadle/kernels/ElementCopy.h"
#include "treadle/kernels/products/PackedProduct.h"

#include <algorithm>
#include <string>
#include <vector>

namespace treadle::einsum {

/// In an equation's labels, which are letters.
constexpr char ellipsis = '.';

/// A label, or one dimension of the ellipsis (counted from the right, as -1, -2, ...).
using Label = int;

/// A dimension of the whole: where it is in each operand and in the result. Stride 0: nowhere, or
/// repeated.
struct Axis {
  Label label;
  int64_t size = 1;
  int64_t stride[2] = {0, 0};
  int64_t outStride = 0;
  bool isIn[2] = {false, false}, isOut = false;
};

/// All dimensions of an equation for operands of given shapes.
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

/// Some of the axes, in one order.
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

/// The axes of a product of matrices, by what they are in it.
struct ProductAxes {
  AxisList batch, freeA, freeB, summed;
};

/// Multiplies floats where they lie, without bringing them into another order; false where that
/// doesn't pay or the result's order doesn't allow it.
bool multiplyInPlace(OpContext &ctx, const ProductAxes &axes, const Tensor &a, const Tensor &b,
                     Tensor &out, const PackedWeights &weights);

/// Multiplies floats where they lie, one operand being a vector; false if none is, or if the
/// matrix has neither its rows nor its columns in one piece.
bool multiplyVectors(OpContext &ctx, const ProductAxes &axes, const Tensor &a, const Tensor &b,
                     Tensor &out);

} // namespace treadle::einsum
