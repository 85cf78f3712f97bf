// Products of float matrices that pack the right operand for one call.
#pragma once

#include "treadle/kernels/products/MatMul.h"
#include "treadle/kernels/products/PackedProduct.h"

namespace treadle {

/// Whether packing first is faster than the methods that prepare less.
bool shouldPack(const Product &p);

/// The operands of a product as matrices with strides.
inline FloatMatrix leftOf(const Product &p, const float *a) {
  return {a, p.aTransposed ? p.m : p.k, p.aTransposed};
}
inline FloatMatrix rightOf(const Product &p, const float *b) {
  return {b, p.bTransposed ? p.k : p.n, p.bTransposed};
}

/// Computes out = a * b on the run's threads.
void multiplyFloats(OpContext &ctx, const Product &p, const float *a, const float *b,
                    const PackedResult &out);
/// Like the overload above, but on this thread only.
void multiplyFloats(int64_t rows, int64_t columns, int64_t depth, const FloatMatrix &a,
                    const FloatMatrix &b, const PackedResult &out);

} // namespace treadle
