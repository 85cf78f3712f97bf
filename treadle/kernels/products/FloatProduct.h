// Products of float matrices as they lie: the right operand is packed for one call.
#pragma once

#include "treadle/kernels/products/MatMul.h"
#include "treadle/kernels/products/PackedProduct.h"

namespace treadle {

/// Whether packing first is faster than what has less to prepare.
bool isWorthPacking(const Product &p);

/// The operands of a product as they lie.
inline FloatMatrix leftOf(const Product &p, const float *a) {
  return {a, p.aTransposed ? p.m : p.k, p.aTransposed};
}
inline FloatMatrix rightOf(const Product &p, const float *b) {
  return {b, p.bTransposed ? p.k : p.n, p.bTransposed};
}

/// out = a * b, on the run's threads.
void multiplyFloats(OpContext &ctx, const Product &p, const float *a, const float *b,
                    const PackedResult &out);
/// The same on this thread alone.
void multiplyFloats(int64_t rows, int64_t columns, int64_t depth, const FloatMatrix &a,
                    const FloatMatrix &b, const PackedResult &out);

} // namespace treadle
