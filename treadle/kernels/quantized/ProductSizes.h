// Products of two matrices of bytes, each of which may be transposed.
#pragma once

#include "treadle/runtime/Kernel.h"

namespace treadle {

struct Transpositions {
  bool ofA, ofB;

  static Transpositions of(const AttrMap &attrs) {
    return {attrs.getOr("transpose_a", false), attrs.getOr("transpose_b", false)};
  }
};

/// The sizes of a product and the strides of its operands.
struct ProductSizes {
  Transpositions transposes;
  int64_t rows = 0, inner = 0, columns = 0;

  /// Returns false, with ctx failed, if the matrices can't be multiplied.
  bool read(OpContext &ctx, const Tensor &a, const Tensor &b) {
    auto [first, second] = transposes;
    if (a.rank() != 2 || b.rank() != 2 || a.dim(first ? 0 : 1) != b.dim(second ? 1 : 0)) {
      ctx.fail(invalidArgument("matrices of shapes ", dimsText(a.dims()), " and ",
                               dimsText(b.dims()), " can't be multiplied"));
      return false;
    }
    rows = a.dim(first ? 1 : 0);
    inner = a.dim(first ? 0 : 1);
    columns = b.dim(second ? 0 : 1);
    return true;
  }

  int64_t inA(int64_t row, int64_t k) const {
    return transposes.ofA ? k * rows + row : row * inner + k;
  }
  int64_t inB(int64_t k, int64_t column) const {
    return transposes.ofB ? column * inner + k : k * columns + column;
  }
};

} // namespace treadle
