// Matrix products whose left operand has few rows: each element of the right operand is used only a
// few times, so that packing it would cost more than it saves.
#pragma once

#include "treadle/kernels/products/MatMul.h"

namespace treadle {

/// Multiplies if the left operand has few rows and both operands are row-major and untransposed.
/// Returns false without doing anything for other shapes.
bool multiplyFewRows(const Product &p, const float *a, const float *b, float *out);
bool multiplyFewRows(const Product &p, const double *a, const double *b, double *out);

} // namespace treadle
