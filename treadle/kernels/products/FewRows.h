// Matrix products whose left operand has few rows: each element of the right operand is needed only
// a few times, so packing it, as products of large matrices do, costs more than it saves.
#pragma once

#include "treadle/kernels/products/MatMul.h"

namespace treadle {

/// Multiplies if the product has a shape that this is good at: few rows on the left, and both
/// operands row-major and straight. False, having done nothing, for all others.
bool multiplyFewRows(const Product &p, const float *a, const float *b, float *out);
bool multiplyFewRows(const Product &p, const double *a, const double *b, double *out);

} // namespace treadle
