// Products of float matrices as they lie, by oneDNN.
#pragma once

#include "treadle/kernels/products/Epilogue.h"
#include "treadle/kernels/products/MatMul.h"

namespace treadle {

/// Whether oneDNN multiplies floats faster than what has less to prepare.
bool suitsLibrary(const Product &p);
/// Whether it does so as fast as with a packed form of the right operand: with many rows. What is
/// packed is read from memory whole, while here it is brought into the cache part by part.
bool isFastUnpacked(const Product &p);

/// out = a * b, on this thread alone.
void multiplyFloats(const Product &p, const float *a, const float *b, float *out);

/// out = a * b, and then the epilogue (null: none) but for its late steps. Each of the run's
/// threads has a part of the rows or of the columns, whichever are more.
void multiplyInParts(OpContext &ctx, const Product &p, const float *a, const float *b, float *out,
                     const Epilogue *epilogue);

} // namespace treadle
